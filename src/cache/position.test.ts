import assert from 'node:assert/strict'
import test from 'node:test'
import { Position } from './position.ts'

function positionAt(revision: number) {
  const store = { generation: 0 }
  const stop = new AbortController()
  return { store, stop, position: new Position(store, { revision, signal: stop.signal }) }
}

test('readers go on when they are woken at their revision, not when it is merely reached', async () => {
  const { position } = positionAt(3)
  await position.reached(3)
  let isReached = false
  const reading = position.reached(5).then(() => (isReached = true))
  position.advance(4)
  position.wake()
  position.advance(5)
  await Promise.resolve()
  assert.equal(isReached, false)
  position.wake()
  await reading
  assert.equal(position.revision, 5)
})

test('after the end nobody waits', async () => {
  const { stop, position } = positionAt(3)
  const reading = position.reached(9)
  stop.abort()
  position.wakeAll()
  await Promise.all([reading, position.reached(10)])
})

test('a reader that waits for too long learns how far the cache is', async t => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { position } = positionAt(3)
  assert.equal(position.reachSoon(3), undefined)
  const reading = position.reachSoon(9)
  t.mock.timers.tick(3_000)
  await assert.rejects(reading!, { code: 504, message: /Too large resource version: 9, current: 3/ })
  const other = position.reachSoon(4)
  position.advance(4)
  position.wake()
  await other
})

test('when the store has gone back, everything counts as unread until it was read again', () => {
  const { store, position } = positionAt(30)
  assert.deepEqual([position.isReloading, position.isLost(31)], [false, false])
  store.generation = 1
  assert.equal(position.isReloading, true)
  position.restart(20, 1)
  assert.deepEqual([position.isReloading, position.revision, position.restarts], [false, 20, 1])
  assert.deepEqual(
    [20, 21, 30, 31].map(revision => position.isLost(revision)),
    [false, true, true, false],
  )
})

test('a restart after missed history loses no revision', () => {
  const { position } = positionAt(30)
  position.restart(40, 0)
  assert.deepEqual([position.revision, position.isLost(41)], [40, false])
})
