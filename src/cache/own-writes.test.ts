import assert from 'node:assert/strict'
import test from 'node:test'
import { entryOf, put, widgets } from '../../test/kits/cache/widgets.ts'
import { Assertions } from '../schema/assertions.ts'
import type { AnyObject } from '../schema/object-meta.ts'
import { MemoryStore } from '../storage/memory.ts'
import type { Swap } from '../storage/store.ts'
import { CacheTable } from './cache-table.ts'
import { OwnWrites } from './own-writes.ts'
import { Position } from './position.ts'
import { DEFAULT_HISTORY } from './resource-cache.ts'

/** Writes to a store that answers as it is told to, and a cache that gets the events that it is given. */
function writable() {
  const swaps: { resolve: (swap: Swap) => void; reject: (error: Error) => void }[] = []
  const store = {
    swap: () => new Promise<Swap>((resolve, reject) => swaps.push({ resolve, reject })),
  }
  const position = new Position({}, { revision: 1, signal: new AbortController().signal })
  const table = new CacheTable(new MemoryStore(), { history: DEFAULT_HISTORY, objectBytes: Number.POSITIVE_INFINITY })
  const cache = table.create(widgets, 1)
  table.use(cache)
  const ownWrites = new OwnWrites({ store, position, table, freshness: undefined, assertions: new Assertions() })
  const reach = (revision: number) => {
    position.advance(revision)
    position.wake()
  }
  return { swaps, cache, ownWrites, reach }
}
const { key, value } = entryOf('default/a', {}, 0)
const object = { metadata: { name: 'a' } } as unknown as AnyObject

test('a write is answered once its event was applied, and is found by its event until then', async () => {
  const { swaps, cache, ownWrites, reach } = writable()
  let isAnswered = false
  const writing = ownWrites.write(key, { expect: 0, value, object }, true).finally(() => (isAnswered = true))
  const event = { key, after: { key, value, created: 2, modified: 2 }, revision: 2 }
  const found = ownWrites.find(event)
  assert.deepEqual([ownWrites.count, found?.object, found?.isKept], [1, object, true])
  assert.equal(ownWrites.find(put('default/a', {}, 2)), undefined)
  swaps[0]!.resolve({ ok: true, revision: 2 })
  await new Promise(setImmediate)
  assert.deepEqual([isAnswered, ownWrites.count], [false, 1])
  cache.apply(event)
  reach(2)
  assert.deepEqual(await writing, { ok: true, revision: 2 })
  assert.deepEqual([ownWrites.count, ownWrites.find(event)], [0, undefined])
})

test('a write that is refused or fails is no longer under way', async () => {
  const { swaps, ownWrites } = writable()
  const refused = ownWrites.write(key, { expect: 0, value, object }, false)
  const failed = ownWrites.write(key, { expect: 0, value, object }, false)
  assert.equal(ownWrites.count, 2)
  swaps[0]!.resolve({ ok: false, current: undefined })
  swaps[1]!.reject(new Error('the disk is full'))
  assert.deepEqual(await refused, { ok: false, current: undefined })
  await assert.rejects(failed, /the disk is full/)
  assert.equal(ownWrites.count, 0)
})

test('a write without its event, or at a revision that is too old, fails an assertion', async () => {
  const { swaps, ownWrites, reach } = writable()
  const lost = ownWrites.write(key, { expect: 0, value }, false)
  swaps[0]!.resolve({ ok: true, revision: 3 })
  await new Promise(setImmediate)
  reach(3)
  await assert.rejects(lost, { message: /history_complete failed: the write of .*default\/a at 3 is not among the events/ })
  const old = ownWrites.write(key, { expect: 9, value }, false)
  swaps[1]!.resolve({ ok: true, revision: 9 })
  await assert.rejects(old, { message: /revision_order failed: .* was at 9 and is written at 9/ })
})
