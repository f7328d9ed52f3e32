import assert from 'node:assert/strict'
import test from 'node:test'
import { nodeOf, type PodDraft, podOf } from '../../test/kits/scheduler.ts'
import { openSchedulerParts } from '../../test/kits/scheduler-parts.ts'
import type { Change, ChangeType } from '../client/change.ts'
import type { Pod } from '../kinds/core/pod/pod.ts'
import type { ObjectRevision } from '../schema/object-revision.ts'
import { PodChanges } from './pod-changes.ts'
import { isResizeDeferred, podInfoOf } from './pod-info.ts'

function open({ isResize = isResizeDeferred, withClaims = false } = {}) {
  const parts = openSchedulerParts([nodeOf('a')])
  const woken: string[] = []
  const binder = { wake: (uid: string) => void woken.push(uid) }
  const schedulerNames = new Set(['default-scheduler'])
  const changes = new PodChanges({ ...parts, binder, schedulerNames, isResize, withClaims, wake: () => void parts.wakes.push(0) })
  const apply = (type: ChangeType, after: Pod, before?: Pod) =>
    changes.apply({ type, current: revisionOf(after), previous: before && revisionOf(before) } as Change<Pod>)
  return { ...parts, woken, apply }
}

/** A pod that is stored, with the fields that watches can select by. */
function revisionOf(object: Pod): ObjectRevision<Pod> {
  const { metadata, spec, status } = object
  const fields = {
    'spec.nodeName': spec.nodeName ?? '',
    'spec.schedulerName': spec.schedulerName ?? 'default-scheduler',
    'status.phase': status.phase ?? '',
    'status.nominatedNodeName': status.nominatedNodeName ?? '',
  }
  const terminating = metadata.deletionTimestamp !== undefined
  return { uid: metadata.uid!, name: metadata.name!, fields, object, terminating } as unknown as ObjectRevision<Pod>
}
const stored = (draft: PodDraft = {}) => podOf({ name: 'p', ...draft })

test('a pod without a node enters the queue once, unless another scheduler is responsible', () => {
  const { apply, queue, wakes } = open()
  apply('added', stored())
  apply('updated', stored({ labels: { x: 'y' } }), stored())
  apply('added', stored({ name: 'other', spec: { schedulerName: 'mine' } }))
  assert.deepEqual([queue.pending.active, wakes.length > 0], [1, true])
})

test('a bound pod takes room on its node, and leaves it when it has ended', () => {
  const { apply, queue, cluster } = open()
  apply('added', stored())
  apply('updated', stored({ node: 'a' }), stored())
  const { uid } = stored().metadata
  assert.deepEqual([queue.has(uid!), cluster.pod(uid!)?.nodeName], [false, 'a'])
  apply('updated', stored({ node: 'a', status: { phase: 'Succeeded' } }), stored({ node: 'a' }))
  assert.equal(cluster.pod(uid!), undefined)
})

test('a pod that was created again under the same name replaces the first', () => {
  const { apply, queue } = open()
  apply('added', stored())
  apply('updated', stored({ metadata: { uid: 'second' } }), stored())
  assert.deepEqual([queue.has(stored().metadata.uid!), queue.has('second')], [false, true])
})

test('an assumed pod that is terminating gives its room back, and its binding is looked at again', () => {
  const { apply, occupancy, cluster, woken } = open()
  const info = { ...podInfoOf(stored()), nodeName: 'a' }
  occupancy.assume(info)
  apply('updated', stored({ labels: { x: 'y' } }), stored())
  assert.equal(cluster.pod(info.uid), info)
  apply('updated', stored({ metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } }), stored())
  assert.deepEqual([cluster.pod(info.uid), woken], [undefined, [info.uid]])
})

test('a nomination follows the status; one that is not written yet stays', () => {
  const { apply, nominations } = open()
  const { uid = '' } = stored().metadata
  const on = (nominatedNodeName: string) => stored({ status: { nominatedNodeName } })
  apply('added', on('a'))
  assert.equal(nominations.nodeOf(uid), 'a')
  apply('updated', stored(), on('a'))
  assert.equal(nominations.nodeOf(uid), undefined)
  nominations.set(podInfoOf(stored()), 'b')
  apply('updated', stored({ labels: { x: 'y' } }), stored())
  assert.equal(nominations.nodeOf(uid), 'b')
})

const deferred = { conditions: [{ type: 'PodResizePending', status: 'True', reason: 'Deferred' }] }
const onNode = (status: object, cpu = '1') => stored({ node: 'a', cpu, spec: { schedulerName: 'default-scheduler' }, status })

test('a pod whose resize is deferred waits in the queue and keeps its room, until it is no longer', () => {
  const { apply, queue, cluster, wakes } = open()
  const { uid = '' } = stored().metadata
  apply('added', onNode({}))
  assert.equal(queue.has(uid), false)
  apply('updated', onNode(deferred, '2'), onNode({}))
  assert.deepEqual([queue.has(uid), cluster.pod(uid)?.requests.cpu, wakes.length > 0], [true, 2000, true])
  apply('updated', onNode({ conditions: [{ type: 'PodResizePending', status: 'True', reason: 'Infeasible' }] }, '2'), onNode(deferred, '2'))
  assert.equal(queue.has(uid), false)
  apply('updated', onNode(deferred, '2'), onNode({}))
  apply('deleted', onNode(deferred, '2'))
  assert.equal(queue.has(uid), false)
})

test('a deferred resize is left alone where the feature is off, and where another scheduler is responsible', () => {
  const off = open({ isResize: () => false })
  off.apply('added', onNode(deferred))
  const on = open()
  on.apply('added', stored({ node: 'a', spec: { schedulerName: 'mine' }, status: deferred }))
  assert.deepEqual([off.queue.pending.active, on.queue.pending.active], [0, 0])
})

test('the resources that the devices of a bound pod take count on its node, where the feature is on', () => {
  const claimed = { resourceClaimName: 'c', mapping: [{ name: 'cpu', quantity: '2' }] }
  const pod = stored({ node: 'a', cpu: '1', status: { nodeAllocatableResourceClaimStatuses: [claimed] } })
  const countedOf = (withClaims: boolean) => {
    const { apply, cluster } = open({ withClaims })
    apply('added', pod)
    return cluster.node('a')?.requested.cpu
  }
  assert.deepEqual([countedOf(false), countedOf(true)], [1000, 3000])
})
