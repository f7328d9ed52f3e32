import assert from 'node:assert/strict'
import test from 'node:test'
import { nodeOf, type PodDraft, podOf } from '../../test/kits/scheduler.ts'
import { openSchedulerParts } from '../../test/kits/scheduler-parts.ts'
import type { Change, ChangeType } from '../client/change.ts'
import type { Pod } from '../kinds/core/pod/pod.ts'
import type { ObjectRevision } from '../schema/object-revision.ts'
import { PodChanges } from './pod-changes.ts'
import { podInfoOf } from './pod-info.ts'

function open() {
  const parts = openSchedulerParts([nodeOf('a')])
  const woken: string[] = []
  const binder = { wake: (uid: string) => void woken.push(uid) }
  const changes = new PodChanges({ ...parts, binder, schedulerNames: new Set(['default-scheduler']), wake: () => void parts.wakes.push(0) })
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
