import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import fc from 'fast-check'
import { entryOf, Recorder, widgets } from '../../test/kits/cache/widgets.ts'
import { itemBytes } from '../codec/list-item.ts'
import { MemoryStore } from '../storage/memory.ts'
import type { Store } from '../storage/store.ts'
import { ByteBudget } from './byte-budget.ts'
import { Caches } from './caches.ts'

const ALL = { namespace: '', name: '' }
const KIB = 1 << 10
const patient = { timeout: 60_000 }
const keyOf = (name: string) => `${widgets.prefix}default/${name}`
const fail = (error: unknown) => {
  throw error
}

/** Caches with a budget, and others without one, over the same store. */
async function both(t: TestContext, store: Store, objectBytes: number) {
  const history = { bytes: 16 * KIB, entries: 1000, ageMs: 600_000, totalBytes: 16 * KIB }
  const caches = await Caches.open({ store, resources: [widgets], onFailure: fail, history, objectBytes })
  const reference = await Caches.open({ store, resources: [widgets], onFailure: fail })
  t.after(() => Promise.all([caches, reference].map(each => each[Symbol.asyncDispose]())))
  return { caches, reference }
}

async function write(store: Store, name: string, size: number | null): Promise<void> {
  const { entry } = await store.get(keyOf(name))
  if (!entry && size === null) return
  const value = size === null ? null : entryOf(`default/${name}`, { color: 'x'.repeat(size) }, 0).value
  await store.swap(keyOf(name), { expect: entry?.modified ?? 0, value })
}

async function swept(caches: Caches, limit: number): Promise<void> {
  while (caches.objectBytes! > limit) await new Promise(setImmediate)
}

const bytesIn = (caches: Caches) =>
  caches
    .of(widgets)
    .list({ selection: ALL })
    .objects.map(({ item }) => Buffer.from(itemBytes(item)).toString())

test('objects beyond the budget leave memory, and are read again as they were', patient, async t => {
  await using store = new MemoryStore()
  const { caches, reference } = await both(t, store, 256 * KIB)
  for (let i = 0; i < 100; i++) await write(store, `large-${i}`, 100 * KIB)
  for (let i = 0; i < 100; i++) await write(store, `small-${i}`, 100)
  await swept(caches, 256 * KIB)
  const cache = caches.of(widgets)
  assert.ok(cache.get(keyOf('small-0'))!.bytesInMemory > 0, 'large ones go first')
  assert.deepEqual(bytesIn(caches), bytesIn(reference))
  // A list does not bring back what it reads, as nobody may ask for it again.
  assert.ok(caches.objectBytes! <= 256 * KIB)
  for (const { key } of reference.of(widgets).current())
    assert.ok(cache.get(key)!.json.equals(reference.of(widgets).get(key)!.json) && cache.get(key)!.object)
  await swept(caches, 256 * KIB)
})

test('what is read again and again stays in memory', patient, async t => {
  await using store = new MemoryStore()
  const { caches } = await both(t, store, 4096 * KIB)
  const cache = caches.of(widgets)
  await write(store, 'hot', 100 * KIB)
  for (let i = 0; i < 100; i++) {
    void cache.get(keyOf('hot'))!.json
    await write(store, `cold-${i}`, 100 * KIB)
    await swept(caches, 4096 * KIB)
  }
  assert.ok(cache.get(keyOf('hot'))!.bytesInMemory > 0)
})

test('what a cache that leaves held no longer counts', async t => {
  await using store = new MemoryStore()
  const { caches } = await both(t, store, 4096 * KIB)
  for (let i = 0; i < 10; i++) await write(store, `a-${i}`, 1000)
  await caches.reached((await store.extent()).newest)
  assert.ok(caches.objectBytes! > 10_000)
  await caches.join(widgets)
  assert.ok(caches.objectBytes! > 10_000 && caches.objectBytes! < 20_000)
  caches.leave(widgets)
  assert.equal(caches.objectBytes, 0)
})

test('an object whose record is lost is a fault, and ends the watch that needs it', patient, async t => {
  await using inner = new MemoryStore()
  let isLost = false
  const store: Store = Object.assign(Object.create(inner), {
    readBack: (key: string, modified: number) => (isLost ? undefined : inner.readBack(key, modified)),
  })
  for (const name of ['get', 'list', 'swap', 'watch', 'fresh', 'extent', 'compact', 'probe', 'close'] as const)
    (store as any)[name] = (inner[name] as any).bind(inner)
  const { caches } = await both(t, store, 64 * KIB)
  for (let i = 0; i < 10; i++) await write(store, `a-${i}`, 100 * KIB)
  await swept(caches, 64 * KIB)
  isLost = true
  const object = caches.of(widgets).get(keyOf('a-1'))!
  const { item } = object
  assert.throws(() => itemBytes(item), /"a-1" cannot be read from storage/)
  assert.deepEqual([object.json.length, object.object, typeof object.fault], [0, undefined, 'string'])
  const sink = new Recorder()
  caches.watch(widgets, { selection: ALL, from: caches.revision, initial: true, bookmarks: false, timeoutMs: 60_000 }).open(sink)
  while (!sink.ended) await new Promise(setImmediate)
  assert.match(sink.ended.error!.message, /StorageError: corrupt object.*the stored record cannot be read any more/)
})

test('reads, lists of the past and watches are the same with and without a budget', patient, async t => {
  const step = fc.tuple(fc.constantFrom('a', 'b', 'c', 'd'), fc.option(fc.constantFrom(10, 2_000, 20_000)))
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 30 }), async steps => {
      await using store = new MemoryStore()
      const { caches, reference } = await both(t, store, 8 * KIB)
      const start = caches.revision
      for (const [name, size] of steps) {
        await write(store, name, size)
        if (size === 10) await new Promise(setImmediate)
      }
      const { newest } = await store.extent()
      await Promise.all([caches.reached(newest), reference.reached(newest)])
      const [some, all] = [caches, reference].map(each => each.of(widgets))
      assert.ok(caches.historyBytes <= 16 * KIB)
      assert.deepEqual([some!.oldest, all!.oldest], [start, start])
      for (let at = start; at <= newest; at++)
        assert.deepEqual(
          some!.list({ selection: ALL, at }).objects.map(v => v.peek().toString()),
          all!.list({ selection: ALL, at }).objects.map(v => v.json.toString()),
        )
      const [events, wanted] = [caches, reference].map(each => {
        const recorder = new Recorder()
        each.watch(widgets, { selection: ALL, from: start, initial: false, bookmarks: false, timeoutMs: 60_000 }).open(recorder)
        return recorder.events
      })
      for (let i = 0; i < 50 && events!.length < wanted!.length; i++) await new Promise(setImmediate)
      assert.deepEqual(events, wanted)
    }),
    { numRuns: 40 },
  )
})

test('a budget that cannot be kept is not tried to be kept all the time', async () => {
  let looked = 0
  const all = [{ evictAfter: () => void looked++ }]
  const budget = new ByteBudget(1600, () => all)
  const settle = async () => {
    for (let i = 0; i < 50; i++) await new Promise(setImmediate)
  }
  budget.add(1700)
  await settle()
  const first = looked
  assert.ok(first > 0)
  budget.add(50)
  await settle()
  assert.equal(looked, first)
  budget.add(100)
  await settle()
  assert.ok(looked > first)
})
