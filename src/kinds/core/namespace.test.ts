import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cells, check, checkSubresource, contextWith, created, updated, withDefaults } from '../../../test/kits/kinds/kinds.ts'
import { Namespace } from './namespace.ts'

test('a new namespace is active, labelled with its name and held by its content', () => {
  const o = created(Namespace, { metadata: { name: 'dev', labels: { a: 'b' } }, status: { phase: 'Terminating' } })
  assert.deepEqual(o.metadata.labels, { a: 'b', 'kubernetes.io/metadata.name': 'dev' })
  assert.deepEqual(o.spec, { finalizers: ['kubernetes'] })
  assert.deepEqual(o.status, { phase: 'Active' })
  assert.deepEqual(created(Namespace, { spec: { finalizers: ['example.com/x'] } }).spec.finalizers, ['example.com/x', 'kubernetes'])
})

test('the label cannot be taken away, nor finalizers changed, by a plain update', () => {
  const old = created(Namespace, { metadata: { name: 'dev' } })
  const o = updated(
    Namespace,
    { metadata: { name: 'dev', labels: { 'kubernetes.io/metadata.name': 'other' } }, spec: { finalizers: [] } },
    old,
  )
  assert.equal(o.metadata.labels['kubernetes.io/metadata.name'], 'dev')
  assert.deepEqual(o.spec.finalizers, ['kubernetes'])
})

test('its name is a DNS label', () => {
  assert.match(check(Namespace, { metadata: { name: 'a.b' } })[0]!, /^metadata\.name: Invalid value: "a\.b": must not contain dots/)
})

test('finalizers are standard or fully qualified', () => {
  assert.deepEqual(check(Namespace, { spec: { finalizers: ['mine', 'example.com/x'] } }), [
    'spec.finalizers: Invalid value: "mine": name is neither a standard finalizer name nor is it fully qualified',
  ])
  assert.deepEqual(checkSubresource(Namespace, 'finalize', { spec: { finalizers: ['mine'] } }, {}), [
    'spec.finalizers[0]: Invalid value: "mine": name is neither a standard finalizer name nor is it fully qualified',
  ])
})

test('finalize takes the finalizers and leaves the status', () => {
  const { merge } = Namespace.def.subresources!.updates!['finalize']!
  const stored = withDefaults(Namespace, { spec: { finalizers: ['kubernetes'] }, status: { phase: 'Terminating' } })
  const o = merge!(withDefaults(Namespace, { spec: {}, status: { phase: 'Active' } }), stored)
  assert.deepEqual([o.spec, o.status.phase], [{}, 'Terminating'])
})

test('the phase follows the deletion', () => {
  const dying = { metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' }, status: { phase: 'Terminating' } }
  assert.deepEqual(checkSubresource(Namespace, 'status', { status: { phase: 'Terminating' } }, {}), [
    'status.Phase: Invalid value: "Terminating": may only be \'Active\' if `deletionTimestamp` is empty',
  ])
  assert.deepEqual(checkSubresource(Namespace, 'status', { ...dying, status: { phase: 'Active' } }, dying), [
    'status.Phase: Invalid value: "Active": may only be \'Terminating\' if `deletionTimestamp` is not empty',
  ])
  const o = created(Namespace, {})
  Namespace.def.deletion!.onMark!(o, contextWith())
  assert.equal(o.status.phase, 'Terminating')
})

test('its table shows the phase', () => {
  assert.deepEqual(cells(Namespace, { metadata: { creationTimestamp: '2026-07-01T11:59:00Z' } }), { Status: 'Active', Age: '60s' })
})
