import assert from 'node:assert/strict'
import { test } from 'node:test'
import { failedStatus, QUARANTINE_MS, verdictOn } from './reconcile.ts'

const going = { deletionTimestamp: '2026-07-01T00:00:00Z', deletionGracePeriodSeconds: 30 }
const pod = (nodeName: string, metadata: object = {}, phase = 'Running') =>
  ({ metadata: { uid: 'u', generation: 2, ...metadata }, spec: { nodeName }, status: { phase } }) as never
const node = (ready: string, ...taints: string[]) =>
  ({ metadata: {}, spec: { taints: taints.map(key => ({ key })) }, status: { conditions: [{ type: 'Ready', status: ready }] } }) as never
const TAINT = 'node.kubernetes.io/out-of-service'

test('terminating pods without a node, or whose node is gone, are deleted at once', () => {
  assert.deepEqual(verdictOn(pod('', going), undefined, 0), { step: 'delete', isLost: false })
  assert.deepEqual(verdictOn(pod('n', going), undefined, 0), { step: 'delete', isLost: true })
  assert.equal(verdictOn(pod('n', going), node('True'), 0), undefined)
  assert.equal(verdictOn(pod('n', going), node('False'), 0), undefined)
  assert.equal(verdictOn(pod('n', going), node('True', TAINT), 0), undefined)
  assert.deepEqual(verdictOn(pod('n', going), node('False', TAINT), 0), { step: 'delete', isLost: false })
})

test('pods that are not being deleted wait for their node for a while, and for ever to be scheduled', () => {
  assert.equal(verdictOn(pod(''), undefined, 0), undefined)
  assert.equal(verdictOn(pod('n'), node('False', TAINT), 0), undefined)
  assert.deepEqual(verdictOn(pod('n'), undefined, 10_000), { step: 'wait', ms: QUARANTINE_MS - 10_000 })
  assert.deepEqual(verdictOn(pod('n'), undefined, QUARANTINE_MS), { step: 'delete', isLost: true })
})

test('a pod that is kept only by finalizers is ignored', () => {
  const held = { ...going, deletionGracePeriodSeconds: 0, finalizers: ['a.b/c'] }
  assert.deepEqual(verdictOn(pod('', held), undefined, 0), { step: 'delete', isLost: false })
  assert.equal(verdictOn(pod('', held, 'Failed'), undefined, 0), undefined)
})

test('what is deleted has failed, unless it has ended before, and says so when its node is lost', () => {
  const now = '2026-07-01T12:00:00Z'
  assert.equal(failedStatus(pod('n', {}, 'Succeeded'), true, now), undefined)
  assert.deepEqual(failedStatus(pod(''), false, now), { metadata: { uid: 'u' }, status: { phase: 'Failed', observedGeneration: 2 } })
  const { status } = failedStatus(pod('n'), true, now) as any
  assert.deepEqual([status.conditions[0].type, status.conditions[0].message], ['DisruptionTarget', 'PodGC: node no longer exists'])
})
