import assert from 'node:assert/strict'
import test from 'node:test'
import { LIMITS } from '../lib/limits.ts'
import { EventBacklog } from './event-backlog.ts'

test('events are written in turn, so many at a time; a failure stops nothing', async () => {
  const errors: unknown[] = []
  const backlog = new EventBacklog({ concurrency: 2, onError: error => errors.push(error) })
  const written: number[] = []
  let atOnce = 0
  let most = 0
  for (let i = 0; i < 10; i++)
    void backlog.add(async () => {
      most = Math.max(most, ++atOnce)
      await new Promise(setImmediate)
      atOnce--
      if (i === 3) throw new Error('no room')
      written.push(i)
    })
  await backlog.flushed()
  assert.deepEqual(written, [0, 1, 2, 4, 5, 6, 7, 8, 9])
  assert.deepEqual([most, errors.length], [2, 1])
  await backlog.flushed()
})

test('when too many wait, further ones are lost, which is told once for each time', async () => {
  const errors: unknown[] = []
  const backlog = new EventBacklog({ concurrency: 1, onError: error => errors.push(error) })
  const overflow = async (): Promise<number> => {
    let written = 0
    for (let i = 0; i < LIMITS.waitingEvents + 100; i++) void backlog.add(async () => void written++)
    assert.equal(
      backlog.add(async () => void written++),
      undefined,
    )
    await backlog.flushed()
    return written
  }
  // One more than may wait: the first is being written.
  assert.equal(await overflow(), LIMITS.waitingEvents + 1)
  assert.equal(errors.length, 1)
  assert.match(String(errors[0]), /events are lost: 10000 wait to be written/)
  assert.equal(await overflow(), LIMITS.waitingEvents + 1)
  assert.equal(errors.length, 2)
})
