import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Pod } from '../../kinds/core/pod/pod.ts'
import type { Budget } from '../../kinds/policy/disruption.ts'
import { expectedPods, failedStatus, reconcileBudget, staleTargetMs, withoutTarget } from './reconcile.ts'

const now = new Date('2026-07-01T12:00:00Z')
const budgetOf = (spec: object, status: object = {}) =>
  ({
    metadata: { name: 'b', namespace: 'n', generation: 1 },
    spec,
    status: { disruptionsAllowed: 0, currentHealthy: 0, desiredHealthy: 0, expectedPods: 0, ...status },
  }) as unknown as Budget
const podOf = (
  name: string,
  { ready = true, owner = 'set', ...metadata }: { ready?: boolean; owner?: string; deletionTimestamp?: string } = {},
  conditions: object[] = [],
) =>
  ({
    metadata: {
      name,
      namespace: 'n',
      ...metadata,
      ...(owner && { ownerReferences: [{ kind: 'ReplicaSet', apiVersion: 'apps/v1', name: owner, uid: owner, controller: true }] }),
    },
    spec: {},
    status: { phase: 'Running', conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }, ...conditions] },
  }) as unknown as Pod
const ten = () => ({ uid: 'set', replicas: 10 })

test('how many must stay healthy follows from the size of the workloads, or from a number', () => {
  const pods = [podOf('a'), podOf('b')]
  assert.deepEqual(expectedPods(budgetOf({ minAvailable: 1 }), pods, ten), { expectedPods: 2, desiredHealthy: 1, unmanaged: [] })
  assert.deepEqual(expectedPods(budgetOf({ minAvailable: '25%' }), pods, ten), { expectedPods: 10, desiredHealthy: 3, unmanaged: [] })
  assert.deepEqual(expectedPods(budgetOf({ maxUnavailable: '25%' }), pods, ten), { expectedPods: 10, desiredHealthy: 7, unmanaged: [] })
  assert.deepEqual(expectedPods(budgetOf({ maxUnavailable: 20 }), [...pods, podOf('c', { owner: '' })], ten), {
    expectedPods: 10,
    desiredHealthy: 0,
    unmanaged: ['c'],
  })
  assert.throws(() => expectedPods(budgetOf({ maxUnavailable: 1 }), pods, () => undefined), /^Error: found no controllers for pod "a"$/)
})

test('disruptions are allowed as far as healthy pods can be spared', () => {
  const pods = [podOf('a'), podOf('b'), podOf('c', { ready: false }), podOf('d', { deletionTimestamp: '2026-07-01T11:59:00Z' })]
  const { status } = reconcileBudget(budgetOf({}), pods, { expectedPods: 4, desiredHealthy: 1, unmanaged: [] }, now)
  assert.deepEqual(status, {
    observedGeneration: 1,
    disruptionsAllowed: 1,
    currentHealthy: 2,
    desiredHealthy: 1,
    expectedPods: 4,
    conditions: [
      {
        type: 'DisruptionAllowed',
        status: 'True',
        observedGeneration: 1,
        lastTransitionTime: '2026-07-01T12:00:00Z',
        reason: 'SufficientPods',
        message: '',
      },
    ],
  })
  const again = reconcileBudget(
    budgetOf({}, status),
    pods,
    { expectedPods: 4, desiredHealthy: 1, unmanaged: [] },
    new Date('2026-07-01T13:00:00Z'),
  )
  assert.equal(again.status, undefined)
})

test('a pod whose eviction was granted does not count until it is overdue', () => {
  const granted = budgetOf({}, { disruptedPods: { a: '2026-07-01T11:59:00Z', b: '2026-07-01T11:50:00Z', gone: '2026-07-01T11:59:00Z' } })
  const { status, notDeleted, againMs } = reconcileBudget(
    granted,
    [podOf('a'), podOf('b')],
    { expectedPods: 2, desiredHealthy: 0, unmanaged: [] },
    now,
  )
  assert.deepEqual([status!.disruptedPods, status!.currentHealthy, againMs], [{ a: '2026-07-01T11:59:00Z' }, 1, 60_000])
  assert.deepEqual(
    notDeleted.map(({ metadata }) => metadata.name),
    ['b'],
  )
})

test('a budget that cannot be reckoned lets nothing go and says why, once', () => {
  const failed = failedStatus(budgetOf({}, { disruptionsAllowed: 2 }), 'why', now)!
  assert.equal(failed.disruptionsAllowed, 0)
  assert.deepEqual(
    failed.conditions!.map(({ status, reason, message }) => [status, reason, message]),
    [['False', 'SyncFailed', 'why']],
  )
  assert.equal(failedStatus(budgetOf({}, failed), 'why', now), undefined)
})

test('a disruption that was not carried out within two minutes is marked as not happening', () => {
  const target = (time: string, reason = 'EvictionByEvictionAPI') =>
    podOf('a', {}, [{ type: 'DisruptionTarget', status: 'True', reason, lastTransitionTime: time }])
  assert.equal(staleTargetMs(target('2026-07-01T11:59:00Z'), now), 60_000)
  assert.equal(staleTargetMs(target('2026-07-01T11:00:00Z'), now), 0)
  assert.equal(staleTargetMs(target('2026-07-01T11:00:00Z', 'TerminationByKubelet'), now), undefined)
  const [, condition] = withoutTarget(target('2026-07-01T11:00:00Z'), now).conditions!
  assert.deepEqual([condition!.status, condition!.reason, condition!.lastTransitionTime], ['False', undefined, '2026-07-01T12:00:00Z'])
})
