import assert from 'node:assert/strict'
import test from 'node:test'
import { openControllerBench } from '../../test/kits/controllers.ts'
import { Event as CoreEvent } from '../kinds/core/event.ts'
import { Event } from '../kinds/events/event.ts'
import { seriesRecorder } from './series-recorder.ts'

const about = (resourceVersion: string) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { namespace: 'default', name: 'web', uid: 'u', resourceVersion },
})
const FAILED = { type: 'Warning', reason: 'FailedScheduling', action: 'Scheduling', note: 'no room' } as const

test('a repeated event becomes a series: the second occurrence is written, later ones periodically', async t => {
  let now = Date.parse('2026-07-01T12:00:00.5Z')
  const { client } = await openControllerBench(t, [CoreEvent, Event], { now: () => new Date(now) })
  const recorder = seriesRecorder({ client, controller: 'default-scheduler', instance: 'default-scheduler-host', onError: assert.ifError })
  const again = async (ms: number, resourceVersion = '1') => {
    now += ms
    recorder.event(about(resourceVersion), FAILED)
    await recorder.flushed()
    return [...client.of(CoreEvent).list()].map(({ series }) => series?.count ?? 1).sort()
  }
  assert.deepEqual(await again(0), [1])
  const [first] = client.of(CoreEvent).list()
  assert.deepEqual(
    [first!.reportingComponent, first!.reportingInstance, first!.message, first!.eventTime, first!.firstTimestamp ?? null],
    ['default-scheduler', 'default-scheduler-host', 'no room', '2026-07-01T12:00:00.500000Z', null],
  )
  assert.deepEqual(await again(1000), [2])
  assert.deepEqual(await again(1000), [2])
  assert.deepEqual(await again(360_000), [4])
  // Another revision of the object is another matter.
  assert.deepEqual(await again(1000, '2'), [1, 4])
})

test('many events at once are all written, and a note is cut to what an event may hold', async t => {
  const { client } = await openControllerBench(t, [CoreEvent, Event])
  const recorder = seriesRecorder({ client, controller: 'c', instance: 'c-1', onError: assert.ifError })
  for (let i = 0; i < 100; i++) recorder.event(about(String(i)), { ...FAILED, note: 'ü'.repeat(1000) })
  await recorder.flushed()
  const notes = [...client.of(CoreEvent).list()].map(({ message = '' }) => message)
  assert.equal(notes.length, 100)
  assert.ok(notes.every(note => note === `${'ü'.repeat(510)} ...`))
})
