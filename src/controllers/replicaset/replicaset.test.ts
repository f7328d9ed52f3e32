import assert from 'node:assert/strict'
import { test } from 'node:test'
import { becomes, openControllerBench } from '../../../test/kits/controllers.ts'
import { ReplicaSet } from '../../kinds/apps/replicaset.ts'
import { Event } from '../../kinds/core/event.ts'
import { Pod } from '../../kinds/core/pod/pod.ts'
import { ReplicationController } from '../../kinds/core/replicationcontroller.ts'
import { replicaSetController, replicationController } from './controller.ts'
import { nextStatus, nextStep, type Replicas } from './reconcile.ts'

const NOW = new Date('2026-07-01T12:00:00Z')
const LABELS = { app: 'web' }
const TEMPLATE = { metadata: { labels: LABELS }, spec: { containers: [{ name: 'c', image: 'i' }] } }
const owner = (replicas: number, more: object = {}, status: object = { replicas: 0 }) =>
  ({ metadata: { generation: 2, ...more }, spec: { replicas, minReadySeconds: 10, template: TEMPLATE }, status }) as unknown as Replicas
const pod = (name: string, ready?: string, labels: object = LABELS) =>
  ({
    metadata: { name, labels },
    spec: {},
    status: { phase: 'Running', conditions: ready ? [{ type: 'Ready', status: 'True', lastTransitionTime: ready }] : [] },
  }) as unknown as Pod

test('missing pods are created and surplus ones deleted, in limited bursts, and none for a terminating owner', () => {
  const [a, b] = [pod('a', '2026-07-01T11:00:00Z'), pod('b')]
  const OPTIONS = { related: () => [], now: NOW, countsCost: true }
  assert.deepEqual(nextStep(owner(3), [a], OPTIONS), { step: 'create', count: 2 })
  assert.deepEqual(nextStep(owner(9000), [a], OPTIONS), { step: 'create', count: 500 })
  assert.deepEqual(nextStep(owner(1), [a, b], OPTIONS), { step: 'delete', pods: [b] })
  assert.equal(nextStep(owner(2), [a, b], OPTIONS), undefined)
  assert.equal(nextStep(owner(0, { deletionTimestamp: 'x' }), [a, b], OPTIONS), undefined)
})

test('the status counts pods, and keeps the first failure until there is none', () => {
  const active = [pod('a', '2026-07-01T11:59:50Z'), pod('b', '2026-07-01T11:59:51Z'), pod('c', undefined, {})]
  const status = nextStatus(owner(3), { active, terminating: 1 }, NOW)!
  const counts = {
    replicas: 3,
    fullyLabeledReplicas: 2,
    readyReplicas: 2,
    availableReplicas: 1,
    terminatingReplicas: 1,
    observedGeneration: 2,
  }
  assert.deepEqual(status, counts)
  assert.equal(nextStatus(owner(3, {}, status), { active, terminating: 1 }, NOW), undefined)
  const failure = { reason: 'FailedCreate', message: 'no' }
  const failed = nextStatus(owner(3, {}, status), { active, terminating: 1, failure }, NOW)!
  const condition = { type: 'ReplicaFailure', status: 'True', lastTransitionTime: '2026-07-01T12:00:00Z', ...failure }
  assert.deepEqual(failed.conditions, [condition])
  assert.equal(nextStatus(owner(3, {}, failed), { active, terminating: 1, failure: { reason: 'x', message: 'y' } }, NOW), undefined)
  assert.deepEqual(nextStatus(owner(3, {}, failed), { active, terminating: 1 }, NOW), counts)
})

for (const [kind, controller, selector] of [
  [ReplicaSet, replicaSetController, { matchLabels: LABELS }],
  [ReplicationController, replicationController, LABELS],
] as const)
  test(`${kind.def.kind}: pods are created, replaced and deleted, with events`, async t => {
    const { client, run } = await openControllerBench(t, [ReplicaSet, ReplicationController, Pod, Event])
    const [owners, pods] = [client.of(kind as typeof ReplicaSet), client.of(Pod)]
    const named = { namespace: 'default', name: 'web' }
    await owners.create({ metadata: named, spec: { replicas: 3, selector, template: TEMPLATE } } as never)
    const running = run(controller)
    await running.idle()
    assert.equal(pods.count(), 3)
    assert.equal(owners.get(named)!.status.replicas, 3)

    // One pod no longer matches: it is released, and replaced.
    const [first, second] = [...pods.list()].map(({ metadata }) => metadata)
    await pods.patch(first!, { metadata: { labels: { app: 'other' } } })
    await running.idle()
    assert.equal(pods.get(first!)!.metadata.ownerReferences, undefined)
    assert.equal(pods.count(), 4)

    await pods.delete({ metadata: second! }, { gracePeriodSeconds: 0 })
    await running.idle()
    assert.equal([...pods.list()].filter(({ metadata }) => metadata.labels!['app'] === 'web').length, 3)

    await owners.patch(named, { spec: { replicas: 1 } })
    await becomes(
      () => owners.get(named)!.status.replicas,
      replicas => replicas === 1,
    )
    await running.idle()
    assert.equal(pods.count(), 2)
    const reasons = new Set([...client.of(Event).list()].map(({ reason, source, type }) => `${type} ${reason} ${source.component}`))
    const component = controller.component ?? controller.name
    assert.deepEqual(reasons, new Set([`Normal SuccessfulCreate ${component}`, `Normal SuccessfulDelete ${component}`]))
  })
