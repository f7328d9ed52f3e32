import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cells, check, warnings } from '../../../test/kits/kinds/kinds.ts'
import { RuntimeClass } from './runtimeclass.ts'

test('the handler is required and cannot change', () => {
  assert.deepEqual(check(RuntimeClass, { handler: 'runsc' }), [])
  assert.deepEqual(check(RuntimeClass, {}), ['handler: Required value'])
  assert.equal(check(RuntimeClass, { handler: 'Run_SC' }).length, 1)
  assert.deepEqual(check(RuntimeClass, { handler: 'kata' }, { old: { handler: 'runsc' } }), [
    'handler: Invalid value: "kata": field is immutable',
  ])
})

test('what pods cost is measured like the limits of containers', () => {
  const overhead = (podFixed: object) => ({ handler: 'x', overhead: { podFixed } })
  assert.deepEqual(check(RuntimeClass, overhead({ cpu: '250m', memory: '120Mi' })), [])
  assert.deepEqual(check(RuntimeClass, overhead({ cpu: '-1' })), [
    'overhead.limits[cpu]: Invalid value: "-1": must be greater than or equal to 0',
  ])
})

test('nodes are chosen by labels and tolerations, each once', () => {
  const toleration = { key: 'a', operator: 'Exists' }
  const scheduling = { nodeSelector: { disk: 'ssd' }, tolerations: [toleration] }
  assert.deepEqual(check(RuntimeClass, { handler: 'x', scheduling }), [])
  assert.deepEqual(check(RuntimeClass, { handler: 'x', scheduling: { tolerations: [toleration, toleration] } }), [
    'scheduling.tolerations[1]: Duplicate value: {"Key":"a","Operator":"Exists","Value":"","Effect":"","TolerationSeconds":null}',
  ])
  assert.deepEqual(warnings(RuntimeClass, { handler: 'x', scheduling: { nodeSelector: { 'beta.kubernetes.io/os': 'linux' } } }), [
    'scheduling.nodeSelector: deprecated since v1.14; use "kubernetes.io/os" instead',
  ])
})

test('its table shows the handler', () => {
  assert.equal(cells(RuntimeClass, { handler: 'runsc' })['Handler'], 'runsc')
})
