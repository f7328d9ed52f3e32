/** Conformance of every store's watches. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Compacted, type Event, FutureRevision, type Revision } from '../../../src/storage/store.ts'
import { bytes, collect, type Opener, put, type Subject, text } from './conformance-kit.ts'

/** Adds these tests to the suite of one store. */
export function describeWatch(open: Opener, { remote = false }: Subject): void {
  test('a watch replays what it missed, then follows', async t => {
    const store = await open(t)
    await put(store, '/a', 'first')
    const watching = collect(store, { after: 1, count: 3 })
    await put(store, '/a', 'second')
    await put(store, '/a', null)
    assert.deepEqual((await watching).map(inWords), ['2 /a first', '3 /a second', '4 /a undefined'])
  })

  test('a watch can resume at any revision and misses nothing', async t => {
    const store = await open(t)
    for (let i = 0; i < 30; i++) await put(store, `/k/${i % 4}`, i % 7 === 6 ? null : `${i}`).catch(() => {})
    const { newest } = await store.extent()
    const all = (await collect(store, { after: 1, count: newest - 1 })).map(inWords)
    for (let after = 2; after < newest; after++) {
      const some = await collect(store, { after, count: newest - after })
      assert.deepEqual(some.map(inWords), all.slice(after - 1))
    }
  })

  test('a watch of a prefix gets only events there', async t => {
    const store = await open(t)
    await put(store, '/a/1', 'x')
    const watching = collect(store, { prefix: '/a/', after: 1, count: 3 })
    await put(store, '/ab', 'x')
    await put(store, '/a/2', 'x')
    await put(store, '/b', 'x')
    await put(store, '/a/1', null)
    assert.deepEqual(
      (await watching).map(event => event.key),
      ['/a/1', '/a/2', '/a/1'],
    )
  })

  test('watches opened all along see every write of many writers once and in order', async t => {
    const store = await open(t)
    const writers = 8
    const rounds = 25
    const total = writers * rounds
    const watching: Promise<Event[]>[] = [collect(store, { after: 1, count: total })]
    const write = async (writer: number) => {
      for (let i = 0; i < rounds; i++) {
        const revision = await put(store, `/w/${writer}/${i % 5}`, `${i}`)
        // Nothing follows the last write, so a watch from there has no events.
        if (i % 8 === writer % 8 && revision <= total) watching.push(collect(store, { after: revision, count: total + 1 - revision }))
      }
    }
    await Promise.all(Array.from({ length: writers }, (_, i) => write(i)))
    const [all, ...later] = (await Promise.all(watching)).map(events => events.map(inWords))
    assert.equal(all!.length, total)
    for (const seen of later) assert.deepEqual(seen, all!.slice(total - seen.length))
  })

  test('the events of a key link up: each begins where the last one ended', async t => {
    const store = await open(t)
    const flip = async () => {
      for (let i = 0; i < 30; i++) {
        const { entry } = await store.get('/flip')
        await store.swap('/flip', { expect: entry?.modified ?? 0, value: entry && i % 3 === 0 ? null : bytes(`${i}`) })
      }
    }
    await Promise.all([flip(), flip(), flip()])
    const { newest } = await store.extent()
    let last: Event | undefined
    for (const event of await collect(store, { after: 1, count: newest - 1 })) {
      assert.ok(event.after !== undefined || last?.after !== undefined, 'what is deleted was there')
      assert.equal(event.after?.modified ?? event.revision, event.revision)
      if (event.after) assert.equal(event.after.created, last?.after?.created ?? event.revision)
      last = event
    }
  })

  const synchronous = 'a watcher that is waiting has seen a write before its writer gets the result'
  if (!remote)
    test(synchronous, async t => {
      const store = await open(t)
      const stop = new AbortController()
      let seen: Revision = 1
      const watching = (async () => {
        for await (const batch of store.watch('/', 1, stop.signal)) seen = batch.revision
      })()
      for (let i = 0; i < 20; i++) {
        const swap = await store.swap(`/k/${i}`, { expect: 0, value: bytes('x') })
        assert.ok(swap.ok && seen >= swap.revision)
      }
      stop.abort()
      await watching
    })

  test('a watcher that reads slowly still gets everything', async t => {
    const store = await open(t)
    const stop = new AbortController()
    const seen: number[] = []
    const watch = store.watch('/', 1, stop.signal)[Symbol.asyncIterator]()
    const first = watch.next()
    const value = new Uint8Array(4_096)
    const count = 3_000
    for (let i = 0; i < count; i += 500) {
      await Promise.all(Array.from({ length: 500 }, (_, j) => store.swap(`/k/${i + j}`, { expect: 0, value })))
    }
    for (let result = await first; !result.done; result = await watch.next()) {
      seen.push(...result.value.events.map(event => event.revision))
      if (seen.length >= count) stop.abort()
    }
    assert.deepEqual(
      seen,
      Array.from({ length: count }, (_, i) => i + 2),
    )
  })

  test('a watch from before the oldest revision or after the newest fails', async t => {
    const store = await open(t)
    for (let i = 0; i < 9; i++) await put(store, '/a', `${i}`)
    await store.compact(5)
    await assert.rejects(collect(store, { after: 4, count: 1 }), (error: Compacted) => error instanceof Compacted && error.oldest === 5)
    await assert.rejects(collect(store, { after: 11, count: 1 }), FutureRevision)
    assert.deepEqual(
      (await collect(store, { after: 5, count: 5 })).map(event => event.revision),
      [6, 7, 8, 9, 10],
    )
  })

  test('a watch that compaction has overtaken fails instead of skipping events', async t => {
    const store = await open(t)
    const stop = new AbortController()
    const watch = store.watch('/', 1, stop.signal)[Symbol.asyncIterator]()
    for (let i = 0; i < 9; i++) await put(store, '/a', `${i}`)
    await store.compact(8)
    await assert.rejects(watch.next(), Compacted)
    assert.deepEqual(await watch.next(), { done: true, value: undefined })
  })

  test('an aborted watch ends, whether waiting, behind or not begun', async t => {
    const store = await open(t)
    const stop = new AbortController()
    const waiting = store.watch('/', 1, stop.signal)[Symbol.asyncIterator]()
    const pending = waiting.next()
    await put(store, '/a', 'x')
    assert.equal((await pending).done, false)
    const next = waiting.next()
    stop.abort()
    assert.equal((await next).done, true)
    assert.equal((await waiting.next()).done, true)
    const never: Event[] = []
    for await (const batch of store.watch('/', 1, AbortSignal.abort())) never.push(...batch.events)
    assert.deepEqual(never, [])
  })

  test('leaving a watch early frees it, and others go on', async t => {
    const store = await open(t)
    const other = collect(store, { after: 1, count: 3 })
    await put(store, '/a', '1')
    for await (const batch of store.watch('/', 1, new AbortController().signal)) {
      assert.equal(batch.events.length, 1)
      break
    }
    await put(store, '/a', '2')
    await put(store, '/a', '3')
    assert.equal((await other).length, 3)
  })
}

function inWords({ revision, key, after }: Event): string {
  return `${revision} ${key} ${after && text(after.value)}`
}
