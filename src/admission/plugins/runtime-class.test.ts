import assert from 'node:assert/strict'
import { test } from 'node:test'
import { admitted, readerOf } from '../../../test/kits/admission.ts'
import { Pod } from '../../kinds/core/pod/pod.ts'
import { runtimeClass } from './runtime-class.ts'

const sandbox = (more: object) => ({
  kind: 'RuntimeClass',
  apiVersion: 'node.k8s.io/v1',
  metadata: { name: 'sandbox' },
  handler: 'runsc',
  ...more,
})
const plugin = (more: object = {}) => runtimeClass(readerOf({ runtimeclasses: [sandbox(more)] }), 'k8s.io')
const pod = (more: object = {}) => ({ spec: { runtimeClassName: 'sandbox', ...more } })
const overhead = { podFixed: { cpu: '50m', memory: '64Mi' } }

test('a pod costs what its runtime class says', () => {
  assert.deepEqual(admitted(plugin({ overhead }), Pod, pod()).spec.overhead, { cpu: '50m', memory: '64Mi' })
  assert.equal(admitted(plugin(), Pod, pod()).spec.overhead, undefined)
  assert.deepEqual(
    admitted(plugin({ overhead }), Pod, pod({ overhead: { cpu: '0.05', memory: '65536Ki' } })).spec.overhead,
    overhead.podFixed,
  )
})

test('what the pod says itself agrees, and its class exists', () => {
  const mismatch = `403 pods "x" is forbidden: pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead`
  assert.equal(admitted(plugin({ overhead }), Pod, pod({ overhead: { cpu: '1' } })), mismatch)
  assert.equal(admitted(plugin({ overhead }), Pod, pod(), { step: 'validate' }), mismatch)
  assert.equal(
    admitted(plugin(), Pod, pod({ overhead: { cpu: '1' } }), { step: 'validate' }),
    '403 pods "x" is forbidden: pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead',
  )
  assert.equal(
    admitted(plugin(), Pod, { spec: { runtimeClassName: 'other' } }),
    '403 pods "x" is forbidden: pod rejected: RuntimeClass "other" not found',
  )
})

test('a pod runs where its class runs', () => {
  const scheduling = { nodeSelector: { a: '1' }, tolerations: [{ key: 't', operator: 'Exists' }] }
  const { spec } = admitted(
    plugin({ scheduling }),
    Pod,
    pod({ nodeSelector: { b: '2' }, tolerations: [{ key: 't', operator: 'Equal', value: 'v' }] }),
  )
  assert.deepEqual(spec.nodeSelector, { b: '2', a: '1' })
  assert.deepEqual(spec.tolerations, [{ key: 't', operator: 'Exists' }])
  assert.equal(
    admitted(plugin({ scheduling }), Pod, pod({ nodeSelector: { a: '2' } })),
    '403 pods "x" is forbidden: conflict: runtimeClass.scheduling.nodeSelector[a] = 1; pod.spec.nodeSelector[a] = 2',
  )
})

test('tolerations that others do not cover all stay', () => {
  const given = [
    { key: 'a', operator: 'Equal', value: '1', effect: 'NoSchedule' },
    { key: 'a', operator: 'Equal', value: '2', effect: 'NoSchedule' },
    { key: 'b', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 5 },
  ]
  const own = { key: 'b', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 9 }
  const { spec } = admitted(plugin({ scheduling: { tolerations: [own] } }), Pod, pod({ tolerations: given }))
  assert.deepEqual(spec.tolerations, [given[0], given[1], own])
  const many = Array.from({ length: 20_000 }, (_, i) => ({ key: `k${i}`, operator: 'Exists' }))
  assert.equal(admitted(plugin({ scheduling: { tolerations: [own] } }), Pod, pod({ tolerations: many })).spec.tolerations.length, 20_001)
})

test('pods without a class, and pods that change, are left alone', () => {
  assert.equal(admitted(plugin({ overhead }), Pod, { spec: {} }).spec.overhead, undefined)
  assert.equal(admitted(plugin({ overhead }), Pod, pod(), { old: pod() }).spec.overhead, undefined)
})
