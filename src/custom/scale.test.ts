import assert from 'node:assert/strict'
import test from 'node:test'
import type { AnyObject } from '../schema/object-meta.ts'
import { checkObserved, checkWanted, scaleSubresource } from './scale.ts'

const SCALE = { specReplicasPath: '.spec.size.wanted', statusReplicasPath: '.status.replicas', labelSelectorPath: '.status.selector' }
const object = (content: object) => ({ kind: 'Widget', apiVersion: 'stable.example.com/v1', metadata: {}, ...content }) as AnyObject
const told = (errors: Iterable<{ field: string; message: string }>) => [...errors].map(({ field, message }) => `${field}: ${message}`)

test('sizes are read and set at the paths of the definition', () => {
  const scale = scaleSubresource(SCALE)
  const sized = object({ spec: { size: { wanted: 3 } }, status: { replicas: 2, selector: 'a=b' } })
  assert.deepEqual([scale.path, scale.replicas(sized), scale.observed(sized), scale.selector(sized)], ['spec.size.wanted', 3, 2, 'a=b'])
  const bare = object({})
  assert.deepEqual([scale.replicas(bare), scale.observed(bare), scale.selector(bare)], [undefined, 0, ''])
  scale.setReplicas(bare, 5)
  assert.deepEqual(bare['spec'], { size: { wanted: 5 } })
})

test('what is no size is refused in the words of kube-apiserver', () => {
  assert.deepEqual(told(checkWanted(SCALE, object({ spec: { size: { wanted: -1 } } }))), [
    '.spec.size.wanted: Invalid value: -1: should be a non-negative integer',
  ])
  assert.deepEqual(told(checkWanted(SCALE, object({ spec: { size: { wanted: 2 ** 31 } } }))), [
    '.spec.size.wanted: Invalid value: 2147483648: should be less than or equal to 2147483647',
  ])
  assert.deepEqual(told(checkWanted(SCALE, object({ spec: { size: 'big' } }))), [
    '.spec.size.wanted: Invalid value: 0: .spec.size.wanted accessor error: big is of the type string, expected map[string]interface{}',
  ])
  assert.deepEqual(told(checkWanted(SCALE, object({ spec: { size: { wanted: 1.5 } } }))), [
    '.spec.size.wanted: Invalid value: 0: .spec.size.wanted accessor error: 1.5 is of the type float64, expected int64',
  ])
  assert.deepEqual(told(checkObserved(SCALE, object({ status: { selector: 7 } }))), [
    '.status.selector: Invalid value: "": .status.selector accessor error: 7 is of the type int64, expected string',
  ])
  assert.deepEqual(told(checkObserved(SCALE, object({}))), [])
})

test('a path through names of prototypes changes nothing but the object', () => {
  const bare = object({})
  scaleSubresource({ ...SCALE, specReplicasPath: '.spec.__proto__.replicas' }).setReplicas(bare, 5)
  assert.equal(({} as Record<string, unknown>)['replicas'], undefined)
  assert.deepEqual(JSON.stringify(bare['spec']), '{"__proto__":{"replicas":5}}')
})
