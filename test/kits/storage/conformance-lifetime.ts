/** Conformance of every store over time: compaction, expiry, closing and reopening. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '../../../src/lib/clock.ts'
import { Compacted, FutureRevision, type Revision, StoreUnavailable } from '../../../src/storage/store.ts'
import { bytes, collect, type Opener, put, read, type Subject, text } from './conformance-kit.ts'
import { ManualClock } from './manual-clock.ts'

/** Tests of compaction. */
export function describeCompaction(open: Opener): void {
  test('compaction refuses earlier revisions and keeps everything from there on', async t => {
    const store = await open(t)
    const first = await put(store, '/a', 'first')
    const kept = await put(store, '/b', 'kept')
    const second = await put(store, '/a', 'second')
    const gone = await put(store, '/b', null)
    await store.compact(second)
    assert.deepEqual(await store.extent(), { oldest: second, newest: gone })
    for (const at of [1, first, kept]) {
      await assert.rejects(store.get('/a', at), (error: Compacted) => error instanceof Compacted && error.oldest === second)
      await assert.rejects(store.list('/', { at }), Compacted)
    }
    assert.deepEqual([await read(store, '/a', second), await read(store, '/b', second)], ['second', 'kept'])
    assert.deepEqual([await read(store, '/a'), await read(store, '/b')], ['second', undefined])
    assert.equal((await store.list('/', { at: second, limit: 1 })).remaining, 1)
  })

  test('compacting again, or less, changes nothing; compacting the future is refused', async t => {
    const store = await open(t)
    for (let i = 0; i < 10; i++) await put(store, '/a', `${i}`)
    await store.compact(6)
    await store.compact(6)
    await store.compact(3)
    assert.deepEqual(await store.extent(), { oldest: 6, newest: 11 })
    await assert.rejects(store.compact(12), FutureRevision)
    assert.deepEqual(await store.extent(), { oldest: 6, newest: 11 })
  })

  test('compacting everything keeps current values and revisions continue', async t => {
    const store = await open(t)
    await put(store, '/a', 'first')
    await put(store, '/b', 'kept')
    const newest = await put(store, '/a', null)
    await store.compact(newest)
    assert.deepEqual(await store.extent(), { oldest: newest, newest })
    assert.deepEqual(
      (await store.list('/')).entries.map(entry => entry.key),
      ['/b'],
    )
    assert.equal(await put(store, '/a', 'again'), newest + 1)
  })

  test('writes go on during a compaction', async t => {
    const store = await open(t)
    for (let round = 0; round < 5; round++) await Promise.all(Array.from({ length: 200 }, (_, i) => put(store, `/k/${i}`, `${round}`)))
    const { newest } = await store.extent()
    const compacting = store.compact(newest)
    await Promise.all(Array.from({ length: 200 }, (_, i) => put(store, `/k/${i}`, 'after')))
    await compacting
    const page = await store.list('/k/')
    assert.ok(page.entries.every(entry => text(entry.value) === 'after' && entry.fault === undefined))
    assert.equal((await store.list('/k/', { at: newest })).entries.filter(entry => text(entry.value) === '4').length, 200)
  })
}

/** Tests of keys with a time to live. */
export function describeExpiry(open: Opener, { reopen, remote = false }: Subject): void {
  test('a key with a time to live is deleted after real time, too', async t => {
    const store = await open(t, systemClock)
    // The timers of a store do not keep a process alive.
    const alive = setInterval(() => {}, 1_000)
    t.after(() => clearInterval(alive))
    await put(store, '/stays', 'x')
    const written = await put(store, '/a', 'short-lived', 1)
    const [event] = await collect(store, { after: written, count: 1 })
    assert.deepEqual({ key: event!.key, after: event!.after }, { key: '/a', after: undefined })
    assert.deepEqual([await read(store, '/a'), await read(store, '/stays')], [undefined, 'x'])
  })

  if (remote) return
  test('a key with a time to live is deleted, with an event, when it has passed', async t => {
    const clock = new ManualClock()
    const store = await open(t, clock)
    const written = await put(store, '/a', 'short-lived', 60)
    clock.advance(59_000)
    assert.equal(await read(store, '/a'), 'short-lived')
    clock.advance(1_000)
    const [event] = await collect(store, { after: written, count: 1 })
    assert.deepEqual(
      { key: event!.key, after: event!.after, revision: event!.revision },
      { key: '/a', after: undefined, revision: written + 1 },
    )
    assert.equal(await read(store, '/a'), undefined)
  })

  test('a later write replaces the time to live: without one the key is kept', async t => {
    const clock = new ManualClock()
    const store = await open(t, clock)
    await put(store, '/cleared', 'x', 10)
    await put(store, '/cleared', 'y')
    await put(store, '/longer', 'x', 10)
    const last = await put(store, '/longer', 'y', 1_000)
    await put(store, '/witness', 'x', 20)
    clock.advance(20_000)
    const events = await collect(store, { after: last + 1, count: 1 })
    assert.deepEqual(
      events.map(event => event.key),
      ['/witness'],
    )
    assert.deepEqual([await read(store, '/cleared'), await read(store, '/longer')], ['y', 'y'])
  })

  test('many keys expire in the order of their deadlines', async t => {
    const clock = new ManualClock()
    const store = await open(t, clock)
    const seconds = Array.from({ length: 40 }, (_, i) => ((i * 17) % 40) + 1)
    for (const s of seconds) await put(store, `/k/${s}`, 'x', s)
    const { newest } = await store.extent()
    clock.advance(40_000)
    const deleted = (await collect(store, { after: newest, count: 40 })).map(event => event.key)
    assert.deepEqual(
      deleted,
      Array.from({ length: 40 }, (_, i) => `/k/${i + 1}`),
    )
  })

  if (!reopen) return
  test('deadlines outlive a restart', async t => {
    const clock = new ManualClock()
    const before = await open(t, clock)
    await put(before, '/soon', 'x', 10)
    const last = await put(before, '/later', 'x', 100)
    clock.advance(5_000)
    const store = await reopen(before, clock)
    t.after(() => store.close())
    assert.equal(await read(store, '/soon'), 'x')
    clock.advance(5_000)
    assert.deepEqual(
      (await collect(store, { after: last, count: 1 })).map(event => event.key),
      ['/soon'],
    )
    assert.equal(await read(store, '/later'), 'x')
  })
}

/** Tests of closing, and of opening a kept store again. */
export function describeClosing(open: Opener, { reopen }: Subject): void {
  test('a close waits for writes in flight, ends watches and can be repeated', async t => {
    const store = await open(t)
    const watching = (async () => {
      const seen: Revision[] = []
      for await (const batch of store.watch('/', 1, new AbortController().signal))
        for (const event of batch.events) seen.push(event.revision)
      return seen
    })()
    const writing = Promise.all(Array.from({ length: 20 }, (_, i) => store.swap(`/k/${i}`, { expect: 0, value: bytes('x') })))
    await Promise.all([store.close(), store.close()])
    assert.ok((await writing).every(swap => swap.ok))
    await watching
    await store.close()
  })

  test('a closed store refuses everything as unavailable', async t => {
    const store = await open(t)
    await store.close()
    await assert.rejects(store.get('/a'), StoreUnavailable)
    await assert.rejects(store.list('/'), StoreUnavailable)
    await assert.rejects(store.swap('/a', { expect: 0, value: bytes('x') }), StoreUnavailable)
    await assert.rejects(store.compact(1), StoreUnavailable)
    await assert.rejects(store.extent(), StoreUnavailable)
    await assert.rejects(async () => {
      for await (const _ of store.watch('/', 1, new AbortController().signal));
    }, StoreUnavailable)
  })

  if (!reopen) return
  test('written, forgotten and deleted keys are the same after a restart', async t => {
    const first = await open(t)
    await put(first, '/a', 'old')
    const a = await put(first, '/a', 'new')
    const b = await put(first, '/b', 'kept')
    await first.compact(a)
    const newest = await put(first, '/c', 'x').then(() => put(first, '/c', null))
    const store = await reopen(first, new ManualClock())
    t.after(() => store.close())
    assert.deepEqual(await store.extent(), { oldest: a, newest })
    assert.deepEqual([await read(store, '/a'), await read(store, '/b'), await read(store, '/c')], ['new', 'kept', undefined])
    assert.equal(await read(store, '/c', newest - 1), 'x')
    assert.equal((await store.get('/a')).entry!.created, 2)
    await assert.rejects(store.get('/a', a - 1), Compacted)
    assert.deepEqual(
      (await collect(store, { after: a, count: 3 })).map(event => event.revision),
      [b, newest - 1, newest],
    )
    assert.equal(await put(store, '/d', 'x'), newest + 1)
  })

  test('revisions continue after a restart even when every record is deleted', async t => {
    const first = await open(t)
    await put(first, '/a', 'x')
    const newest = await put(first, '/a', null)
    await first.compact(newest)
    const store = await reopen(first, new ManualClock())
    t.after(() => store.close())
    assert.deepEqual(await store.extent(), { oldest: newest, newest })
    assert.equal(await put(store, '/a', 'y'), newest + 1)
  })
}
