import assert from 'node:assert/strict'
import test from 'node:test'
import { type PodDraft, podOf } from '../../test/kits/scheduler.ts'
import { openSchedulerParts } from '../../test/kits/scheduler-parts.ts'
import { podInfoOf } from './pod-info.ts'

const infoOf = (draft: PodDraft) => podInfoOf(podOf(draft))
const PREEMPTING = infoOf({ name: 'p', priority: 5 })

test('victims are deleted, the last one last, and less important nominations are cleared first', async () => {
  const { preemptor, nominations, log, write } = openSchedulerParts()
  for (const [name, priority] of Object.entries({ lower: 1, higher: 9 })) nominations.set(infoOf({ name, priority }), 'n')
  const ending = infoOf({ name: 'ending', metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } })
  preemptor.evict(PREEMPTING, 'n', [infoOf({ name: 'a' }), ending, infoOf({ name: 'b' }), infoOf({ name: 'c' })])
  await write()
  assert.deepEqual(log, ['clear lower', 'evict a: for p on n', 'evict b: for p on n', 'evict c: for p on n'])
})

test('the pod is held back until its last victim is terminating', async () => {
  const { preemptor, writer, store, pods, write } = openSchedulerParts()
  const victim = store({ name: 'victim', node: 'n' })
  const seen: boolean[] = []
  writer.evict = async () => {
    seen.push(preemptor.isEvicting(PREEMPTING.uid))
    pods.set(victim.metadata.uid!, podOf({ name: 'victim', metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } }))
    seen.push(preemptor.isEvicting(PREEMPTING.uid))
  }
  preemptor.evict(PREEMPTING, 'n', [podInfoOf(victim)])
  assert.equal(preemptor.isEvicting(PREEMPTING.uid), true)
  await write()
  assert.deepEqual(seen, [true, false])
  assert.equal(preemptor.isEvicting(PREEMPTING.uid), false)
})

test('a pod whose victims are all terminating waits for nothing', () => {
  const { preemptor, due } = openSchedulerParts()
  preemptor.evict(PREEMPTING, 'n', [infoOf({ name: 'ending', metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } })])
  assert.deepEqual([preemptor.isEvicting(PREEMPTING.uid), due], [false, []])
})

test('a victim that cannot be deleted releases the pod for another attempt', async () => {
  const { preemptor, writer, reject, queue, wakes, write } = openSchedulerParts()
  writer.evict = () => Promise.reject(new Error('forbidden'))
  const queued = reject({ name: 'p', priority: 5 }, 'NodeResourcesFit')
  preemptor.evict(PREEMPTING, 'n', [infoOf({ name: 'a' })])
  assert.equal(queue.retry(queued.uid), false)
  await assert.rejects(write(), { message: 'forbidden' })
  assert.deepEqual([preemptor.isEvicting(PREEMPTING.uid), queue.unschedulable(queued.uid), wakes.length], [false, undefined, 1])
})
