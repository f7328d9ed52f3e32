import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { entryOf, Recorder, widgets } from '../../test/kits/cache/widgets.ts'
import { defineKind } from '../schema/kind.ts'
import { resourceOf } from '../schema/resource.ts'
import { message } from '../schema/types.ts'
import { MemoryStore } from '../storage/memory.ts'
import type { Batch } from '../storage/store.ts'
import { Caches } from './caches.ts'

const ALL = { namespace: '', name: '' }
const watching = { selection: ALL, initial: false, bookmarks: false, timeoutMs: 60_000 }

const bytesOf = (path: string, color: string) => entryOf(path, { color }, 0).value

async function write(store: MemoryStore, name: string, color: string | null): Promise<void> {
  const key = `${widgets.prefix}default/${name}`
  const { entry } = await store.get(key)
  if (!entry && color === null) return
  await store.swap(key, { expect: entry?.modified ?? 0, value: color === null ? null : bytesOf(`default/${name}`, color) })
}

const fail = (error: unknown) => {
  throw error
}

test('a resource that joins late misses no event and repeats none, whatever is written meanwhile', async () => {
  const writes = fc.array(fc.tuple(fc.constantFrom('a', 'b', 'c'), fc.option(fc.constantFrom('red', 'blue'))), { maxLength: 20 })
  await fc.assert(
    fc.asyncProperty(writes, writes, writes, async (before, during, after) => {
      const store = new MemoryStore()
      const reference = await Caches.open({ store, resources: [widgets], onFailure: fail })
      const caches = await Caches.open({ store, resources: [], onFailure: fail })
      const start = caches.revision
      for (const [name, color] of before) await write(store, name, color)
      const joined = caches.join(widgets)
      for (const [name, color] of during) await write(store, name, color)
      await joined
      for (const [name, color] of after) await write(store, name, color)
      const { newest } = await store.extent()
      await Promise.all([caches.reached(newest), reference.reached(newest)])
      const events = [caches, reference].map(each => {
        const recorder = new Recorder()
        each.watch(widgets, { ...watching, from: start }).open(recorder)
        const listed = each
          .of(widgets)
          .list({ selection: ALL })
          .objects.map(v => [v.key, v.revision])
        return { events: recorder.events, listed, count: each.of(widgets).count }
      })
      assert.deepEqual(events[0], events[1])
      for (const each of [caches, reference]) await each[Symbol.asyncDispose]()
      await store.close()
    }),
    { numRuns: 60 },
  )
})

test('loading starts again when history is compacted meanwhile', async () => {
  const store = new MemoryStore()
  const caches = await Caches.open({ store, resources: [], onFailure: fail })
  for (let i = 0; i < 50; i++) await write(store, `a${i}`, 'red')
  const list = store.list.bind(store)
  let forgotten = false
  store.list = async (prefix, page) => {
    if (!forgotten) {
      forgotten = true
      await write(store, 'last', 'blue')
      await store.compact((await store.extent()).newest)
    }
    return list(prefix, page)
  }
  await caches.join(widgets)
  assert.deepEqual([forgotten, caches.of(widgets).count], [true, 51])
  const recorder = new Recorder()
  caches.watch(widgets, { ...watching, from: 2 }).open(recorder)
  assert.equal(recorder.ended?.error?.code, 410)
  await caches[Symbol.asyncDispose]()
  await store.close()
})

test('the first load starts again, with every resource, when history is compacted meanwhile', async () => {
  const store = new MemoryStore()
  const other = { ...widgets, plural: 'gadgets', prefix: '/test.example/gadgets/' }
  for (let i = 0; i < 5; i++) await write(store, `a${i}`, 'red')
  const list = store.list.bind(store)
  let lists = 0
  store.list = async (prefix, page) => {
    if (++lists === 2) {
      await write(store, 'last', 'blue')
      await store.compact((await store.extent()).newest)
    }
    return list(prefix, page)
  }
  const caches = await Caches.open({ store, resources: [widgets, other], onFailure: fail })
  assert.deepEqual([caches.of(widgets).count, caches.of(other).count], [6, 0])
  assert.ok(lists > 2)
  await caches[Symbol.asyncDispose]()
  await store.close()
})

test('watches of a resource end when it joins again or leaves, those of others go on', async () => {
  const store = new MemoryStore()
  const other = { ...widgets, plural: 'gadgets', prefix: '/test.example/gadgets/' }
  const caches = await Caches.open({ store, resources: [widgets, other], onFailure: fail })
  const [first, second, apart] = [new Recorder(), new Recorder(), new Recorder()]
  caches.watch(widgets, { ...watching, from: caches.revision }).open(first)
  caches.watch(other, { ...watching, from: caches.revision }).open(apart)
  let readyBefore = false
  await caches.join(widgets, () => (readyBefore = first.ended === undefined))
  assert.deepEqual([readyBefore, first.ended], [true, { error: undefined }])
  caches.watch(widgets, { ...watching, from: caches.revision }).open(second)
  await write(store, 'a', 'red')
  caches.leave(widgets)
  assert.deepEqual([second.ended, second.events.length, caches.has(widgets), apart.ended], [{ error: undefined }, 1, false, undefined])
  assert.throws(() => caches.of(widgets), { code: 503 })
  await caches[Symbol.asyncDispose]()
  await store.close()
})

const definitions = resourceOf(
  defineKind({
    group: 'test.example',
    version: 'v1',
    kind: 'Definition',
    scope: 'Namespaced',
    names: { plural: 'definitions' },
    spec: message('DefinitionSpec', {}),
  }),
  'k8s.io',
)

/** Batches in one, up to the first write of a definition and one more. */
async function* together(batches: AsyncIterable<Batch>): AsyncGenerator<Batch> {
  let held: Batch = { revision: 0, events: [] }
  for await (const { revision, events } of batches) {
    held = { revision, events: [...held.events, ...events] }
    const at = held.events.findIndex(event => event.key.startsWith(definitions.prefix))
    if (at < 0 || at === held.events.length - 1) continue
    yield held
    held = { revision, events: [] }
  }
}

test('a resource that joins in the middle of a batch has all of it', async t => {
  const store = new MemoryStore()
  const watch = store.watch.bind(store)
  store.watch = (prefix, after, signal) => (prefix === '/' ? together(watch(prefix, after, signal)) : watch(prefix, after, signal))
  const caches = await Caches.open({ store, resources: [definitions, widgets], onFailure: fail })
  t.after(async () => {
    await store.close()
    await caches[Symbol.asyncDispose]()
  })
  let joined: Promise<void> | undefined
  const sink = new Recorder()
  sink.event = () => {
    joined ??= caches.join(widgets)
  }
  caches.watch(definitions, { ...watching, from: caches.revision }).open(sink)
  await write(store, 'before', 'red')
  await store.swap(`${definitions.prefix}default/d`, { expect: 0, value: entryOf('default/d', {}, 0).value })
  await write(store, 'after', 'red')
  await caches.reached((await store.extent()).newest)
  await joined
  const names = caches
    .of(widgets)
    .list({ selection: ALL })
    .objects.map(v => v.name)
  assert.deepEqual(names, ['after', 'before'])
})
