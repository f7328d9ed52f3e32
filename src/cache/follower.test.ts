import assert from 'node:assert/strict'
import test from 'node:test'
import { entryOf, Recorder, widgets } from '../../test/kits/cache/widgets.ts'
import type { Observer } from '../schema/object-revision.ts'
import { MemoryStore } from '../storage/memory.ts'
import { type Batch, Compacted, type Event } from '../storage/store.ts'
import { Caches } from './caches.ts'

const watching = { selection: { namespace: '', name: '' }, initial: false, bookmarks: false, timeoutMs: 60_000 }

/** A store of several processes whose watch can be cut, and which can go back to an earlier state. */
class CutStore extends MemoryStore {
  readonly isShared = true
  generation = 0
  isCompacted = false
  /** Thrown by the next watch that has to send something. */
  failure: Error | undefined
  /** Changes the events before they are sent. */
  change: (event: Event) => Event = event => event

  override async extent() {
    const extent = await super.extent()
    return this.isCompacted ? { ...extent, oldest: extent.newest } : extent
  }

  override async *watch(...request: Parameters<MemoryStore['watch']>): AsyncGenerator<Batch> {
    for await (const { revision, events } of super.watch(...request)) {
      const { failure } = this
      this.failure = undefined
      if (failure) throw failure
      yield { revision, events: events.map(this.change) }
    }
  }
}

async function open() {
  const store = new CutStore()
  const caches = await Caches.open({ store, resources: [widgets], onFailure: assert.ifError })
  const seen: string[] = []
  caches.observe(
    {
      changed: (_, { name, revision, deleted }) => void seen.push(`${deleted ? 'deleted ' : ''}${name}@${revision}`),
      joined() {},
    },
    new AbortController().signal,
  )
  const sink = new Recorder()
  const write = async (name: string, uid = '') => {
    const { key, value } = entryOf(`default/${name}`, { uid }, 0)
    const { entry } = await store.get(key)
    const swapped = await store.swap(key, { expect: entry?.modified ?? 0, value })
    assert(swapped.ok)
    return swapped.revision
  }
  const close = async () => {
    await caches[Symbol.asyncDispose]()
    await store.close()
  }
  return { store, caches, seen, sink, write, close, watch: () => caches.watch(widgets, { ...watching, from: caches.revision }).open(sink) }
}

test('a cut watch of a shared store goes on where it was, and clients notice nothing', async () => {
  const { store, caches, seen, sink, write, watch, close } = await open()
  watch()
  await caches.reached(await write('a'))
  store.failure = new Error('the connection was lost')
  await caches.reached(await write('b'))
  assert.deepEqual([seen, sink.events.map(({ revision }) => revision), sink.ended], [['a@2', 'b@3'], [2, 3], undefined])
  await close()
})

test('after missed history everything is read again: watches end cleanly, observers get the difference', async () => {
  const { store, caches, seen, sink, write, watch, close } = await open()
  watch()
  await caches.reached(await write('a'))
  await caches.reached(await write('b'))
  store.failure = new Compacted(3, 4)
  store.isCompacted = true
  const revision = await write('b')
  await caches.reached(revision)
  assert.deepEqual(seen, ['a@2', 'b@3', 'b@4'])
  assert.deepEqual(sink.ended, { error: undefined })
  assert.equal(caches.of(widgets).oldest, revision)
  await close()
})

test('an object that was replaced by another of its name while history was missed is reported as deleted, then the other as new', async () => {
  const { store, caches, write, close } = await open()
  const changes: (readonly [uid: string, revision: number, deleted: boolean, replaced: string | undefined])[] = []
  const changed: Observer['changed'] = (_, { uid, revision, deleted }, previous) =>
    void changes.push([uid, revision, deleted, previous?.uid])
  caches.observe({ changed, joined() {} }, new AbortController().signal)
  await caches.reached(await write('a', 'one'))
  store.failure = new Compacted(3, 4)
  store.isCompacted = true
  await caches.reached(await write('a', 'two'))
  assert.deepEqual(changes, [
    ['one', 2, false, undefined],
    ['one', 2, true, 'one'],
    ['two', 3, false, undefined],
  ])
  assert.deepEqual([caches.of(widgets).count, caches.of(widgets).get(`${widgets.prefix}default/a`)?.uid], [1, 'two'])
  await close()
})

test('events that contradict each other end the watches with the failure, and everything is read again', async () => {
  const { store, caches, sink, write, watch, close } = await open()
  watch()
  await caches.reached(await write('a'))
  store.change = event => {
    store.change = each => each
    return { ...event, revision: 1 }
  }
  const revision = await write('b')
  await caches.reached(revision)
  assert.match(sink.ended?.error?.message ?? '', /assertion revision_order failed/)
  assert.deepEqual([caches.of(widgets).count, caches.revision], [2, revision])
  await close()
})

test('a store that went back is read again as it is; until then nothing is answered, and later revisions are lost', async () => {
  const { store, caches, sink, write, watch, close } = await open()
  watch()
  await caches.reached(await write('a'))
  const waiting = caches.reached(1_000)
  store.generation = 1
  store.failure = new Error('the store was restored')
  assert.throws(() => caches.of(widgets), { code: 503 })
  await write('b')
  await waiting
  assert.deepEqual([caches.isReloading, caches.of(widgets).count, sink.ended?.error?.code], [false, 2, 410])
  await close()
})
