import assert from 'node:assert/strict'
import { test } from 'node:test'
import { put } from '../../test/kits/storage/conformance-kit.ts'
import { ManualClock } from '../../test/kits/storage/manual-clock.ts'
import type { Clock } from '../lib/clock.ts'
import { startCompaction } from './compaction.ts'
import { Holds } from './holds.ts'
import { MemoryStore } from './memory.ts'
import { StoreUnavailable } from './store.ts'

/** Lets a check, and the compaction it starts, run to the end. */
async function settle(): Promise<void> {
  for (let i = 0; i < 10; i++) await new Promise(setImmediate)
}

/** Moves the clock in small steps and lets what it set off finish after each. */
async function pass(clock: ManualClock, ms: number): Promise<void> {
  await settle()
  for (let gone = 0; gone < ms; gone += 1_000) {
    clock.advance(1_000)
    await settle()
  }
}

test('a clock that is set ahead does not make history old', async () => {
  const manual = new ManualClock()
  let aheadMs = 0
  const clock: Clock = { now: () => manual.now() + aheadMs, elapsed: () => manual.now(), after: (ms, run) => manual.after(ms, run) }
  await using store = new MemoryStore({ clock })
  for (let i = 0; i < 5; i++) await put(store, '/a', `${i}`)
  await using _compaction = startCompaction(store, { clock, maxAgeMs: 60_000, everyMs: 1_000 })
  await pass(manual, 2_000)
  aheadMs = 3_600_000
  await pass(manual, 2_000)
  assert.deepEqual(await store.extent(), { oldest: 1, newest: 6 })
  await pass(manual, 60_000)
  assert.deepEqual(await store.extent(), { oldest: 6, newest: 6 })
})

test('revisions are forgotten once they are old enough, and not before', async () => {
  const clock = new ManualClock()
  await using store = new MemoryStore({ clock })
  for (let i = 0; i < 5; i++) await put(store, '/a', `${i}`)
  await using _compaction = startCompaction(store, { clock, maxAgeMs: 60_000, everyMs: 1_000 })
  await pass(clock, 30_000)
  for (let i = 0; i < 5; i++) await put(store, '/a', `${i}`)
  await pass(clock, 29_000)
  assert.deepEqual(await store.extent(), { oldest: 1, newest: 11 })
  await pass(clock, 1_000)
  assert.deepEqual(await store.extent(), { oldest: 6, newest: 11 })
  await pass(clock, 32_000)
  assert.deepEqual(await store.extent(), { oldest: 11, newest: 11 })
})

test('no more than the given number of revisions is kept', async () => {
  const clock = new ManualClock()
  await using store = new MemoryStore({ clock })
  await using _compaction = startCompaction(store, { clock, maxRevisions: 10, everyMs: 1_000 })
  for (let i = 0; i < 40; i++) await put(store, `/k/${i % 3}`, `${i}`)
  await pass(clock, 1_000)
  assert.deepEqual(await store.extent(), { oldest: 31, newest: 41 })
})

test('a failed compaction is reported and tried again', async () => {
  const clock = new ManualClock()
  await using store = new MemoryStore({ clock })
  for (let i = 0; i < 20; i++) await put(store, '/a', `${i}`)
  const compact = store.compact.bind(store)
  let failures = 2
  store.compact = async before => (failures-- > 0 ? Promise.reject(new StoreUnavailable('full')) : compact(before))
  const errors: unknown[] = []
  await using _compaction = startCompaction(store, { clock, maxRevisions: 5, everyMs: 1_000, onError: error => errors.push(error) })
  await pass(clock, 3_000)
  assert.equal(errors.length, 2)
  assert.deepEqual(await store.extent(), { oldest: 16, newest: 21 })
})

test('after being disposed of it leaves the store alone', async () => {
  const clock = new ManualClock()
  await using store = new MemoryStore({ clock })
  const compaction = startCompaction(store, { clock, maxRevisions: 1, everyMs: 1_000 })
  await compaction[Symbol.asyncDispose]()
  for (let i = 0; i < 5; i++) await put(store, '/a', `${i}`)
  await pass(clock, 5_000)
  assert.deepEqual(await store.extent(), { oldest: 1, newest: 6 })
})

test('a revision that is being read is kept until it is released, unless the store is pressed for space', async () => {
  const clock = new ManualClock()
  await using store = new MemoryStore({ clock })
  const holds = new Holds()
  let isPressed = false
  for (let i = 0; i < 20; i++) await put(store, '/a', `${i}`)
  const held = await holds.hold(5)
  using _other = await holds.hold(9)
  const policy = { clock, maxRevisions: 5, everyMs: 1_000, held: () => holds.oldest, isPressed: () => isPressed }
  await using _compaction = startCompaction(store, policy)
  await pass(clock, 2_000)
  assert.equal((await store.extent()).oldest, 5)
  held[Symbol.dispose]()
  await pass(clock, 2_000)
  assert.equal((await store.extent()).oldest, 9)
  isPressed = true
  await pass(clock, 2_000)
  assert.ok((await store.extent()).oldest > 15)
})
