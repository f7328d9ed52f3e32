/** Conformance of every store with a quota when its space is used up. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { systemClock } from '../../../src/lib/clock.ts'
import { SpaceExceeded, type Store } from '../../../src/storage/store.ts'
import type { Subject } from './conformance-kit.ts'

const MIB = 1 << 20
const VALUE = 64 << 10

/** Adds these tests to the suite of a store whose subject can open one with a quota. */
export function describeQuota({ open, reopen, remote, hasQuota = !remote }: Subject): void {
  if (!hasQuota) return

  test('a full store refuses to grow, and says what to do; reads and deletions go on', async t => {
    const store = await full(t)
    await assert.rejects(create(store, '/new'), (error: SpaceExceeded) => {
      assert.ok(error instanceof SpaceExceeded)
      assert.match(
        error.problem,
        /^etcdserver: mvcc: database space exceeded: \d+ MiB are in use, --quota-backend-bytes is 4 MiB; .*delete/,
      )
      return true
    })
    assert.equal(store.size!().isFull, true)
    assert.equal((await store.get('/k/0')).entry!.value.length, VALUE)
    assert.ok((await store.list('/k/', { limit: 1 })).remaining > 10)
    const { entry } = await store.get('/k/0')
    assert.ok((await store.swap('/k/0', { expect: entry!.modified, value: null })).ok)
  })

  test('a full store takes updates that do not grow, and small ones of objects that are being deleted', async t => {
    const store = await full(t)
    await update(store, '/k/1', VALUE)
    await update(store, '/k/1', VALUE - 1000)
    await update(store, '/k/1', 1000)
    await assert.rejects(update(store, '/k/1', VALUE), SpaceExceeded)
    await update(store, '/k/1', 2000, { isEnding: true })
    // Reserved space is left for objects that are being deleted.
    const refused = await growing(store, '/k/1', { isEnding: false })
    await update(store, '/k/1', refused, { isEnding: true })
  })

  test('updates of a full store cannot fill it with history without end', async t => {
    const store = await full(t)
    const before = store.size!().usedBytes
    let refused: unknown
    // Updates of the same size use the reserve at first; large ones then wait for a compaction.
    for (let i = 0; i < 100 && !refused; i++) refused = await update(store, `/k/${i % 10}`, VALUE + 1, {}).catch(error => error)
    assert.ok(refused instanceof SpaceExceeded, `${refused}`)
    assert.ok(store.size!().usedBytes - before < MIB)
    await store.compact((await store.extent()).newest)
    await update(store, '/k/1', VALUE)
  })

  test('the alarm ends when enough was deleted and compacted', async t => {
    const store = await full(t)
    for (let i = 0; i < 10; i++) await remove(store, `/k/${i}`)
    await assert.rejects(create(store, '/new'), SpaceExceeded)
    await store.compact((await store.extent()).newest)
    assert.equal(store.size!().isFull, false)
    await create(store, '/new')
  })

  test('many writes at once do not pass the quota together', async t => {
    const store = await opened(t)
    const written = await Promise.allSettled(Array.from({ length: 400 }, (_, i) => create(store, `/k/${i}`)))
    const refused = written.filter(each => each.status === 'rejected' && each.reason instanceof SpaceExceeded)
    assert.ok(refused.length > 300, `${refused.length} were refused`)
    assert.ok(store.size!().usedBytes < 5 * MIB)
  })

  test('the number of keys has a limit: those that are there can be updated and deleted', async t => {
    const store = await open(systemClock, { mostKeys: 3 })
    t.after(() => store.close())
    for (const key of ['/a', '/b', '/c']) await create(store, key)
    await assert.rejects(create(store, '/d'), /database space exceeded: 3 objects are as many as .*delete some/)
    assert.equal(store.size!().isFull, true)
    await update(store, '/a', 2 * VALUE)
    await remove(store, '/a')
    await store.compact((await store.extent()).newest)
    await create(store, '/d')
  })

  if (!reopen) return
  test('a store that was full is so after a restart, and can be emptied', async t => {
    const first = await full(t)
    const store = await reopen(first, systemClock)
    t.after(() => store.close())
    assert.equal(store.size!().isFull, true)
    await assert.rejects(create(store, '/new'), SpaceExceeded)
    for (let i = 0; i < 10; i++) await remove(store, `/k/${i}`)
    await store.compact((await store.extent()).newest)
    await create(store, '/new')
  })

  async function opened(t: TestContext): Promise<Store> {
    const store = await open(systemClock, { quotaBytes: 4 * MIB })
    t.after(() => store.close())
    return store
  }

  async function full(t: TestContext): Promise<Store> {
    const store = await opened(t)
    for (let i = 0; ; i++) {
      const failure = await create(store, `/k/${i}`).catch(error => error)
      if (failure instanceof SpaceExceeded) return store
      assert.ok(i < 100 && failure === undefined, `${failure}`)
    }
  }
}

async function create(store: Store, key: string): Promise<void> {
  const swap = await store.swap(key, { expect: 0, value: new Uint8Array(VALUE) })
  assert.ok(swap.ok)
}

async function update(store: Store, key: string, size: number, { isEnding = false } = {}): Promise<void> {
  const { entry } = await store.get(key)
  const swap = await store.swap(key, { expect: entry!.modified, value: new Uint8Array(size), isEnding })
  assert.ok(swap.ok)
}

async function remove(store: Store, key: string): Promise<void> {
  const { entry } = await store.get(key)
  assert.ok((await store.swap(key, { expect: entry!.modified, value: null })).ok)
}

/** Grows an object step by step until that is refused; returns the size at that point. */
async function growing(store: Store, key: string, options: { isEnding: boolean }): Promise<number> {
  for (let size = 4000; ; size += 2000)
    try {
      await update(store, key, size, options)
    } catch (error) {
      assert.ok(error instanceof SpaceExceeded, `${error}`)
      return size
    }
}
