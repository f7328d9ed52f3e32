import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openControllerBench } from '../../../test/kits/controllers.ts'
import { ReplicaSet } from '../../kinds/apps/replicaset.ts'
import { Event } from '../../kinds/core/event.ts'
import { Pod } from '../../kinds/core/pod/pod.ts'
import { labelTermsOf } from '../../kinds/rules/meta.ts'
import { podsToDelete } from './deletion-order.ts'
import { candidatesFor, claimObjects, claimOn } from './ownership.ts'
import { isActive, isAvailable, isTerminating, nextAvailable } from './pod-state.ts'
import { podFromTemplate, podNamePrefix } from './pod-template.ts'
import { slowStart } from './slow-start.ts'

const NOW = new Date('2026-07-01T12:00:00Z')
const ago = (seconds: number) => new Date(NOW.getTime() - seconds * 1000).toISOString().replace('.000', '')

type Shape = {
  name?: string
  node?: string
  phase?: string
  ready?: number
  created?: number
  cost?: string
  restarts?: number
  uid?: string
}
const pod = ({ name = 'p', node = 'n', phase = 'Running', ready, created = 100, cost, restarts = 0, uid = name }: Shape = {}) =>
  ({
    metadata: {
      name,
      uid,
      creationTimestamp: ago(created),
      ...(cost !== undefined && { annotations: { 'controller.kubernetes.io/pod-deletion-cost': cost } }),
    },
    spec: { nodeName: node },
    status: {
      phase,
      conditions: ready === undefined ? [] : [{ type: 'Ready', status: 'True', lastTransitionTime: ago(ready) }],
      containerStatuses: [{ restartCount: restarts }],
    },
  }) as never
const order = (...shapes: Shape[]) => {
  const pods = shapes.map((shape, i) => pod({ name: String(i), ...shape }))
  return podsToDelete(pods, pods, { count: pods.length - 1, now: NOW, countsCost: true }).map(({ metadata }) => metadata.name)
}

test('pods that count less are deleted first, rule by rule', () => {
  const ready = { ready: 50 }
  assert.deepEqual(order({}, { node: '' }), ['1'])
  assert.deepEqual(order({}, { phase: 'Pending' }), ['1'])
  assert.deepEqual(order(ready, {}), ['1'])
  assert.deepEqual(order({ ...ready, cost: '10' }, { ...ready, cost: '-5' }, { ...ready, cost: '+99' }), ['1', '2'])
  assert.deepEqual(order({ ...ready, node: 'a' }, { ...ready, node: 'b' }, { ...ready, node: 'b' }), ['1', '2'])
  assert.deepEqual(order({ ready: 1000 }, { ready: 1 }), ['1'])
  assert.deepEqual(order({}, { restarts: 3 }), ['1'])
  assert.deepEqual(order({ created: 1000 }, { created: 1 }), ['1'])
})

test('without PodDeletionCost the annotation does not count', () => {
  const pods = [pod({ name: 'a', ready: 50, restarts: 1, cost: '10' }), pod({ name: 'b', ready: 50, cost: '-5' })]
  const firstToGo = (countsCost: boolean) => podsToDelete(pods, pods, { count: 1, now: NOW, countsCost })[0]!.metadata.name
  assert.deepEqual([firstToGo(true), firstToGo(false)], ['b', 'a'])
})

test('ages of the same magnitude are equal, and uids decide', () => {
  assert.deepEqual(order({ ready: 100, uid: 'b' }, { ready: 90, uid: 'c' }, { ready: 99, uid: 'a' }), ['2', '0'])
  assert.deepEqual(order({ created: 100, uid: 'b' }, { created: 90, uid: 'a' }), ['1'])
})

test('a pod is available when it has been ready for long enough', () => {
  const shape = pod({ ready: 10 })
  assert.deepEqual([isAvailable(shape, 0, NOW), isAvailable(shape, 10, NOW), isAvailable(shape, 11, NOW)], [true, true, false])
  assert.equal(isAvailable(pod(), 0, NOW), false)
  assert.equal(nextAvailable([pod({ ready: 10 }), pod({ ready: 14 }), pod()], 15, NOW), 1000)
  assert.equal(nextAvailable([pod({ ready: 10 })], 10, NOW), undefined)
})

test('pods that have ended or are being deleted are not active', () => {
  const going = { metadata: { deletionTimestamp: ago(1) }, spec: {}, status: { phase: 'Running' } } as never
  assert.deepEqual([isActive(pod()), isActive(pod({ phase: 'Failed' })), isActive(going)], [true, false, false])
  assert.deepEqual([isTerminating(pod()), isTerminating(going)], [false, true])
})

test('names of pods begin with that of their workload', () => {
  assert.equal(podNamePrefix('web'), 'web-')
  assert.equal(podNamePrefix('w'.repeat(253)), `${'w'.repeat(253)}-`)
  assert.equal(podNamePrefix('w'.repeat(254)), 'w'.repeat(254))
})

test('batches grow until one of them fails', async () => {
  const begun: number[] = []
  assert.deepEqual(await slowStart(6, async i => begun.push(i)), { done: 6 })
  const some = await slowStart(20, async i => {
    begun.push(i)
    if (i === 5) throw new Error('no')
  })
  assert.deepEqual([some.done, String(some.error), begun.length], [6, 'Error: no', 6 + 7])
  assert.deepEqual(await slowStart(0, async () => assert.fail()), { done: 0 })
})

test('an object is adopted, kept, released or ignored', () => {
  const owner = (metadata: object = {}) => ({ kind: 'R', metadata: { uid: 'o', namespace: 'a', ...metadata } }) as never
  const object = (uid?: string, metadata: object = {}) =>
    ({ metadata: { namespace: 'a', ...metadata, ...(uid && { ownerReferences: [{ uid, controller: true }] }) } }) as never
  const deletionTimestamp = ago(1)
  assert.equal(claimOn(owner(), object('o'), true), 'keep')
  assert.equal(claimOn(owner({ deletionTimestamp }), object('o'), true), 'keep')
  assert.equal(claimOn(owner(), object('o'), false), 'release')
  assert.equal(claimOn(owner({ deletionTimestamp }), object('o'), false), 'ignore')
  assert.equal(claimOn(owner(), object('x'), true), 'ignore')
  assert.equal(claimOn(owner(), object(), true), 'adopt')
  assert.equal(claimOn(owner(), object(undefined, { deletionTimestamp }), true), 'ignore')
  assert.equal(claimOn(owner(), object(undefined, { namespace: 'b' }), true), 'ignore')
  assert.equal(claimOn(owner({ deletionTimestamp }), object(), true), 'ignore')
})

test('claims are written to the objects', async t => {
  const { client } = await openControllerBench(t, [ReplicaSet, Pod, Event])
  const [sets, pods] = [client.of(ReplicaSet), client.of(Pod)]
  const labels = { app: 'web' }
  const template = { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'i' }] } }
  await sets.create({ metadata: { namespace: 'default', name: 'web' }, spec: { selector: { matchLabels: labels }, template } })
  const owner = sets.get({ namespace: 'default', name: 'web' })!
  await pods.create({ ...template, metadata: { namespace: 'default', name: 'orphan', labels } })
  await pods.create(podFromTemplate(owner.spec.template, owner))
  await pods.create(podFromTemplate(owner.spec.template, owner, { name: 'left', labels: { app: 'other' } }))
  const terms = labelTermsOf(owner.spec.selector)!
  const claim = () => {
    const candidates = candidatesFor(pods, owner, terms)
    return claimObjects({ owner, owners: sets, objects: pods, candidates, matches: ({ metadata }) => metadata.labels?.['app'] === 'web' })
  }
  const claimed = await claim()
  assert.equal(claimed.length, 2)
  assert.ok(claimed.every(({ metadata }) => metadata.ownerReferences?.[0]?.blockOwnerDeletion))
  assert.equal(pods.get({ namespace: 'default', name: 'left' })!.metadata.ownerReferences, undefined)
  assert.equal((await claim()).length, 2)
})
