import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ManualClock } from '../../test/kits/storage/manual-clock.ts'
import { Holds } from './holds.ts'

test('the oldest revision that is held counts until it is let go', async () => {
  const holds = new Holds()
  const [a, b] = [await holds.hold(7), await holds.hold(5)]
  assert.deepEqual([holds.oldest, holds.count], [5, 2])
  b[Symbol.dispose]()
  assert.equal(holds.oldest, 7)
  a[Symbol.dispose]()
  assert.deepEqual([holds.oldest, holds.count], [undefined, 0])
})

test('processes know what the others hold before it is read, and forget what one held that is gone', async () => {
  const clock = new ManualClock()
  let isGone = false
  const primary = new Holds({ clock, tell: async () => {} })
  const follower = new Holds({
    clock,
    async tell(oldest) {
      if (!isGone) primary.heldBy(2, oldest)
    },
  })
  const held = await follower.hold(5)
  assert.deepEqual([primary.oldest, primary.count], [5, 0])
  for (let i = 0; i < 20; i++) clock.advance(10_000)
  assert.equal(primary.oldest, 5)
  held[Symbol.dispose]()
  assert.equal(primary.oldest, undefined)
  await follower.hold(6)
  isGone = true
  for (let i = 0; i < 10; i++) clock.advance(10_000)
  assert.equal(primary.oldest, undefined)
})
