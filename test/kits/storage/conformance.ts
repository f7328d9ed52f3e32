/** The conformance suite of stores, run over each of them. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Fence } from '../../../src/lib/fence.ts'
import { FencedOff, FutureRevision, LateBytes, type PageRequest, type Store, type Swap } from '../../../src/storage/store.ts'
import { bytes, type Opener, type Part, put, read, revisionOf, type Subject, text } from './conformance-kit.ts'
import { describeClosing, describeCompaction, describeExpiry } from './conformance-lifetime.ts'
import { describeModel } from './conformance-model.ts'
import { describeQuota } from './conformance-quota.ts'
import { describeWatch } from './conformance-watch.ts'
import { ManualClock } from './manual-clock.ts'

/** Runs the suite over one kind of store. */
export function describeStore(name: string, subject: Subject): void {
  const open: Opener = async (t, clock = new ManualClock()) => {
    const store = await subject.open(clock)
    t.after(() => store.close())
    return store
  }
  const parts: Readonly<Record<Part, () => void>> = {
    swaps: () => describeSwaps(open),
    reads: () => describeReads(open),
    lists: () => describeLists(open),
    watches: () => describeWatch(open, subject),
    compaction: () => describeCompaction(open),
    quota: () => describeQuota(subject),
    'time to live': () => describeExpiry(open, subject),
    closing: () => describeClosing(open, subject),
    'against a model': () => describeModel(subject),
  }
  describe(`${name} store`, () => {
    for (const part of subject.parts ?? (Object.keys(parts) as Part[])) describe(part, parts[part])
  })
}

function describeSwaps(open: Opener): void {
  test('a new store is at revision 1 and every write adds one', async t => {
    const store = await open(t)
    assert.deepEqual(await store.extent(), { oldest: 1, newest: 1 })
    assert.equal(await put(store, '/a', '1'), 2)
    assert.equal(await put(store, '/b', '1'), 3)
    assert.equal(await put(store, '/a', null), 4)
    assert.deepEqual(await store.extent(), { oldest: 1, newest: 4 })
  })

  test('a create of a key that exists fails and returns the current value', async t => {
    const store = await open(t)
    const revision = await put(store, '/a', 'first')
    const again = await store.swap('/a', { expect: 0, value: bytes('second') })
    assert.ok(!again.ok)
    assert.equal(text(again.current!.value), 'first')
    assert.equal(again.current!.modified, revision)
    assert.equal((await store.extent()).newest, revision)
  })

  test('a replace keeps the creation revision', async t => {
    const store = await open(t)
    const created = await put(store, '/a', 'first')
    const swap = await store.swap('/a', { expect: created, value: bytes('second') })
    assert.ok(swap.ok)
    const { entry } = await store.get('/a')
    assert.deepEqual({ created: entry!.created, modified: entry!.modified }, { created, modified: swap.revision })
    assert.equal(text(entry!.value), 'second')
  })

  test('a value that is made when it is needed is stored, and nothing where its maker refuses it', async t => {
    const store = await open(t)
    let made = 0
    const value = new LateBytes(() => bytes(`made ${++made} times`))
    assert.ok((await store.swap('/a', { expect: 0, value })).ok)
    assert.equal(text(value.bytes), 'made 1 times')
    assert.equal(text((await store.get('/a')).entry!.value), 'made 1 times')
    const refused = new LateBytes(() => {
      throw new RangeError('too large')
    })
    await assert.rejects(store.swap('/b', { expect: 0, value: refused }), /too large/)
    assert.equal((await store.get('/b')).entry, undefined)
    assert.equal(await put(store, '/b', 'later'), 3)
  })

  test('a swap that expects an old revision, or any of a missing key, loses', async t => {
    const store = await open(t)
    const old = await put(store, '/a', 'first')
    await put(store, '/a', 'second')
    const stale = await store.swap('/a', { expect: old, value: bytes('third') })
    assert.ok(!stale.ok && text(stale.current!.value) === 'second')
    assert.deepEqual(await store.swap('/none', { expect: old, value: bytes('x') }), { ok: false, current: undefined })
    assert.deepEqual(await store.swap('/none', { expect: old, value: null }), { ok: false, current: undefined })
    assert.deepEqual(await store.swap('/none', { expect: 0, value: null }), { ok: false, current: undefined })
  })

  test('a deleted key can be created again, as a new key', async t => {
    const store = await open(t)
    const first = await put(store, '/a', 'first')
    const gone = await store.swap('/a', { expect: first, value: null })
    assert.ok(gone.ok)
    assert.equal((await store.get('/a')).entry, undefined)
    const second = await store.swap('/a', { expect: 0, value: bytes('second') })
    assert.ok(second.ok)
    assert.equal((await store.get('/a')).entry!.created, second.revision)
  })

  test('of many swaps at once from one revision exactly one wins, and the losers see the winner', async t => {
    const store = await open(t)
    const swaps = await Promise.all(Array.from({ length: 50 }, (_, i) => store.swap('/a', { expect: 0, value: bytes(`${i}`) })))
    const winners = swaps.filter(swap => swap.ok)
    assert.equal(winners.length, 1)
    const { entry } = await store.get('/a')
    for (const swap of swaps) if (!swap.ok) assert.deepEqual(text(swap.current!.value), text(entry!.value))
  })

  test('a swap behind a fence is made while the fence has its revision, and only then', async t => {
    const store = await open(t)
    const behind = (fence: Fence, expect = 0) => store.swap('/a', { expect, value: bytes('x'), fences: [fence] })
    const none = await behind({ key: '/fence', modified: 0 })
    assert.ok(none.ok)
    const first = await put(store, '/fence', '1')
    await assert.rejects(behind({ key: '/fence', modified: 0 }, none.revision), FencedOff)
    const again = await behind({ key: '/fence', modified: first }, none.revision)
    assert.ok(again.ok)
    // A write that loses against another one, behind a valid fence, gets the current value.
    assert.deepEqual(await behind({ key: '/fence', modified: first }), { ok: false, current: (await store.get('/a')).entry })
    await put(store, '/fence', '2')
    await assert.rejects(behind({ key: '/fence', modified: first }, again.revision), FencedOff)
    await assert.rejects(store.swap('/a', { expect: again.revision, value: null, fences: [{ key: '/fence', modified: first }] }), FencedOff)
    const gone = await put(store, '/fence', null)
    await assert.rejects(behind({ key: '/fence', modified: gone }, again.revision), FencedOff)
    assert.equal((await store.extent()).newest, gone)
  })

  test('a writer that a fence refuses can read the write that broke it', async t => {
    const store = await open(t)
    const fence = { key: '/fence', modified: await put(store, '/fence', '1') }
    const writing = store.swap('/fence', { expect: fence.modified, value: bytes('2') })
    const seen = await store.swap('/a', { expect: 0, value: bytes('x'), fences: [fence] }).then(
      () => '2',
      () => read(store, '/fence'),
    )
    assert.equal(seen, '2')
    assert.ok((await writing).ok)
  })

  test('of several fences the first that does not hold is told', async t => {
    const store = await open(t)
    const [one, two] = await Promise.all(['/one', '/two'].map(async key => ({ key, modified: await put(store, key, '1') })))
    const swap = (key: string) => store.swap(key, { expect: 0, value: bytes('x'), fences: [one!, two!] })
    assert.ok((await swap('/a')).ok)
    await put(store, '/two', '2')
    await assert.rejects(swap('/b'), error => error instanceof FencedOff && error.fence === two)
    await put(store, '/one', '2')
    await assert.rejects(swap('/b'), error => error instanceof FencedOff && error.fence === one)
    assert.equal((await store.get('/b')).entry, undefined)
  })

  test('of swaps behind a fence that is written meanwhile only those are made that come before it', async t => {
    const store = await open(t)
    const fence = { key: '/fence', modified: await put(store, '/fence', '1') }
    const swaps: Promise<Swap | undefined>[] = []
    const attempt = (i: number) => {
      const swap = store.swap(`/k/${i}`, { expect: 0, value: bytes('x'), fences: [fence] })
      swaps.push(
        swap.catch(error => {
          assert.ok(error instanceof FencedOff, String(error))
          return undefined
        }),
      )
    }
    for (let i = 0; i < 100; i++) attempt(i)
    const writing = store.swap('/fence', { expect: fence.modified, value: bytes('2') })
    for (let i = 100; i < 200; i++) attempt(i)
    const written = revisionOf(await writing)
    const made = (await Promise.all(swaps)).flatMap(swap => (swap ? [revisionOf(swap)] : []))
    assert.ok(made.every(revision => revision < written))
    assert.equal((await store.list('/k/')).entries.length, made.length)
  })

  test('counters raised by many writers at once lose no step', async t => {
    const store = await open(t)
    const raise = async () => {
      for (let done = 0; done < 10; ) {
        const { entry } = await store.get('/counter')
        const next = bytes(`${entry ? Number(text(entry.value)) + 1 : 1}`)
        if ((await store.swap('/counter', { expect: entry?.modified ?? 0, value: next })).ok) done++
      }
    }
    await Promise.all(Array.from({ length: 8 }, raise))
    assert.equal(await read(store, '/counter'), '80')
  })

  test('concurrent creates get revisions without gaps or repeats', async t => {
    const store = await open(t)
    const swaps = await Promise.all(Array.from({ length: 300 }, (_, i) => store.swap(`/k/${i}`, { expect: 0, value: bytes('x') })))
    const revisions = swaps.map(revisionOf).sort((a, b) => a - b)
    assert.deepEqual(
      revisions,
      Array.from({ length: 300 }, (_, i) => i + 2),
    )
  })

  test('keys and values of any content are read back unchanged', async t => {
    const store = await open(t)
    const keys = [
      '/plain',
      '/ünïcödé/名前/🚢',
      '/__proto__',
      '/constructor',
      '/with space/and\ttab',
      '/zero\u0000byte',
      `/${'x'.repeat(800)}`,
    ]
    const values = [new Uint8Array(), Uint8Array.of(0), Uint8Array.from({ length: 256 }, (_, i) => i), new Uint8Array(3 << 20).fill(7)]
    for (const key of keys) assert.ok((await store.swap(key, { expect: 0, value: bytes(key) })).ok)
    for (const [i, value] of values.entries()) assert.ok((await store.swap(`/value/${i}`, { expect: 0, value })).ok)
    for (const key of keys) assert.equal(await read(store, key), key)
    for (const [i, value] of values.entries()) {
      const { entry } = await store.get(`/value/${i}`)
      assert.equal(Buffer.compare(entry!.value, value), 0)
      assert.equal(entry!.fault, undefined)
    }
  })

  test('a key that could not be read back is refused and changes nothing', async t => {
    const store = await open(t)
    for (const key of ['', `/${'x'.repeat(5_000)}`, '/lone\ud800surrogate']) {
      await assert.rejects(store.swap(key, { expect: 0, value: bytes('x') }), RangeError)
      assert.equal((await store.get(key)).entry, undefined)
    }
    await assert.rejects(store.swap('/a', { expect: 0, value: bytes('x'), ttlSeconds: Number.NaN }), RangeError)
    assert.deepEqual(await store.extent(), { oldest: 1, newest: 1 })
  })
}

function describeReads(open: Opener): void {
  test('any past revision can be read', async t => {
    const store = await open(t)
    const first = await put(store, '/a', 'first')
    const second = await put(store, '/a', 'second')
    const gone = await put(store, '/a', null)
    const third = await put(store, '/a', 'third')
    assert.deepEqual(await Promise.all([1, first, second, gone, third].map(at => read(store, '/a', at))), [
      undefined,
      'first',
      'second',
      undefined,
      'third',
    ])
  })

  test('a read answers with the revision it was made at', async t => {
    const store = await open(t)
    const first = await put(store, '/a', 'first')
    const second = await put(store, '/b', 'second')
    assert.equal((await store.get('/a')).revision, second)
    assert.equal((await store.get('/a', first)).revision, first)
    assert.equal((await store.get('/none')).revision, second)
  })

  test('a fresh revision is not older than a write that was acknowledged, and watches reach it', async t => {
    const store = await open(t)
    assert.equal(await store.fresh(), 1)
    const written = await put(store, '/a', 'x')
    assert.equal(await store.fresh(), written)
    await put(store, '/b', 'x')
    const fresh = await store.fresh()
    for await (const { revision } of store.watch('/a', 1, new AbortController().signal)) if (revision >= fresh) break
  })

  test('a revision that has not been written yet is refused', async t => {
    const store = await open(t)
    await assert.rejects(store.get('/a', 2), FutureRevision)
    await assert.rejects(store.list('/', { at: 2 }), (error: FutureRevision) => error instanceof FutureRevision && error.newest === 1)
  })
}

function describeLists(open: Opener): void {
  const keysOf = async (store: Store, prefix: string) => (await store.list(prefix)).entries.map(entry => entry.key)

  test('a list of records as they are stored has the same keys, revisions and pages, also of the past', async t => {
    const store = await open(t)
    for (const key of ['/s/a', '/s/b', '/s/c']) await put(store, key, `value of ${key}`)
    const at = await put(store, '/s/b', 'another value')
    await put(store, '/s/c', 'the last value')
    const placed = async (page: PageRequest) => {
      const { revision, remaining, entries } = await store.list('/s/', page)
      return { revision, remaining, entries: entries.map(({ key, created, modified, fault }) => ({ key, created, modified, fault })) }
    }
    for (const page of [{}, { limit: 2 }, { limit: 2, after: '/s/a' }, { at }, { at, limit: 1, after: '/s/a' }])
      assert.deepEqual(await placed({ ...page, asStored: true }), await placed(page))
    const { entries } = await store.list('/s/', { asStored: true })
    for (const { value } of entries) assert.ok(value.byteLength > 0)
  })

  test('a list holds the keys with the prefix, in the order of their bytes', async t => {
    const store = await open(t)
    // U+FF5E sorts before U+1F6A2 by bytes, but after it by UTF-16 units.
    const keys = ['/a', '/a/', '/a/b', '/a/b/c', '/a-b', '/aa', '/a/\u{1f6a2}', '/a/\uff5e', '/a/ü', '/b']
    for (const key of [...keys].reverse()) await put(store, key, key)
    const byBytes = (x: string, y: string) => Buffer.compare(Buffer.from(x), Buffer.from(y))
    assert.deepEqual(await keysOf(store, '/'), [...keys].sort(byBytes))
    assert.deepEqual(await keysOf(store, '/a/'), keys.filter(key => key.startsWith('/a/')).sort(byBytes))
    assert.deepEqual(await keysOf(store, ''), [...keys].sort(byBytes))
    assert.deepEqual(await keysOf(store, '/c'), [])
  })

  test('pages follow one another without gap or overlap and count what remains', async t => {
    const store = await open(t)
    const keys = Array.from({ length: 25 }, (_, i) => `/list/${String(i).padStart(2, '0')}`)
    await Promise.all([...keys, '/other/x'].map(key => put(store, key, key)))
    const seen: string[] = []
    for (let after: string | undefined; ; ) {
      const page = await store.list('/list/', { limit: 10, ...(after && { after }) })
      seen.push(...page.entries.map(entry => entry.key))
      assert.equal(page.remaining, keys.length - seen.length)
      if (page.remaining === 0) break
      after = seen.at(-1)!
    }
    assert.deepEqual(seen, keys)
    assert.deepEqual(await store.list('/list/', { limit: 0 }), { revision: 27, entries: [], remaining: 25 })
  })

  test('every page of one revision is the same snapshot while others write', async t => {
    const store = await open(t)
    const keys = Array.from({ length: 120 }, (_, i) => `/s/${String(i).padStart(3, '0')}`)
    await Promise.all(keys.map(key => put(store, key, 'old')))
    const { revision: at } = await store.list('/s/', { limit: 1 })
    const seen: string[] = []
    for (let after = '', n = 0; ; n++) {
      const page = await store.list('/s/', { limit: 7, at, after })
      assert.equal(page.revision, at)
      for (const entry of page.entries) assert.equal(text(entry.value), 'old')
      seen.push(...page.entries.map(entry => entry.key))
      assert.equal(page.remaining, keys.length - seen.length)
      if (page.remaining === 0) break
      after = seen.at(-1)!
      const change = (i: number, value: string | null) => put(store, keys[(n * 31 + i) % keys.length]!, value).catch(() => {})
      await Promise.all([change(1, 'new'), change(40, null), put(store, `/s/${n}-new`, 'new')])
    }
    assert.deepEqual(seen, keys)
  })
}
