import assert from 'node:assert/strict'
import test from 'node:test'
import { entryOf, widgets } from '../../test/kits/cache/widgets.ts'
import { MemoryStore } from '../storage/memory.ts'
import { Compacted, type PageRequest } from '../storage/store.ts'
import { eachEntry, replay } from './loading.ts'
import { ResourceCache } from './resource-cache.ts'

/** Records the pages that are asked for. */
class PagedStore extends MemoryStore {
  readonly pages: (number | undefined)[] = []

  override list(prefix: string, page: PageRequest = {}) {
    this.pages.push(page.limit)
    return super.list(prefix, page)
  }
}

const nameOf = (i: number) => `a${String(i).padStart(5, '0')}`
async function filled(count: number, padding = 0) {
  const store = new PagedStore()
  for (let i = 0; i < count; i++) await write(store, nameOf(i), padding)
  return store
}
async function write(store: MemoryStore, name: string, padding = 0): Promise<number> {
  const { key, value } = entryOf(`default/${name}`, { color: 'x'.repeat(padding) }, 0)
  const { entry } = await store.get(key)
  const swapped = await store.swap(key, { expect: entry?.modified ?? 0, value })
  assert(swapped.ok)
  return swapped.revision
}

test('every entry of a revision comes once, in key order, and pages grow after the first', async () => {
  const store = await filled(1_300)
  const { newest } = await store.extent()
  await write(store, 'later')
  const [keys, counts]: [string[], number[]] = [[], []]
  await eachEntry(store, { prefix: widgets.prefix, at: newest, onLoaded: count => counts.push(count) }, ({ key }) => keys.push(key))
  assert.deepEqual(
    keys,
    Array.from({ length: 1_300 }, (_, i) => `${widgets.prefix}default/${nameOf(i)}`),
  )
  assert.deepEqual(
    [store.pages, counts],
    [
      [250, 1_000, 1_000],
      [250, 1_000, 50],
    ],
  )
  await store.close()
})

test('pages of large objects stay small', async () => {
  const store = await filled(300, 1 << 17)
  const counts: number[] = []
  await eachEntry(store, { prefix: widgets.prefix, at: (await store.extent()).newest, onLoaded: count => counts.push(count) }, () => {})
  assert.equal(store.pages[1], 255)
  assert.equal(
    counts.reduce((a, b) => a + b),
    300,
  )
  await store.close()
})

test('a revision that is compacted meanwhile cannot be loaded', async () => {
  const store = await filled(3)
  const { newest } = await store.extent()
  await write(store, 'later')
  await store.compact(newest + 1)
  await assert.rejects(
    eachEntry(store, { prefix: widgets.prefix, at: newest }, () => {}),
    Compacted,
  )
  await store.close()
})

test('a replay applies the events after one revision up to another, and no more', async () => {
  const store = await filled(2)
  const { newest: since } = await store.extent()
  const cache = new ResourceCache(widgets, { since })
  await eachEntry(store, { prefix: widgets.prefix, at: since }, entry => cache.load(entry))
  const until = await write(store, nameOf(0))
  await write(store, nameOf(1))
  await replay(store, cache, { since, until })
  assert.deepEqual(
    Array.from(cache.since(since), ({ name, revision }) => [name, revision]),
    [[nameOf(0), until]],
  )
  await replay(store, cache, { since: until, until })
  assert.equal(cache.count, 2)
  await store.close()
})
