import assert from 'node:assert/strict'
import test from 'node:test'
import { put, widgets } from '../../test/kits/cache/widgets.ts'
import { MemoryStore } from '../storage/memory.ts'
import { CacheTable, prefixOf } from './cache-table.ts'
import { DEFAULT_HISTORY } from './resource-cache.ts'

const tableOver = (store = new MemoryStore(), objectBytes = Number.POSITIVE_INFINITY) =>
  new CacheTable(store, { history: DEFAULT_HISTORY, objectBytes })

test('a cache is found by the keys of its objects until another takes its place', () => {
  const table = tableOver()
  const [first, second] = [table.create(widgets, 1), table.create(widgets, 1)]
  const { key } = put('default/a', {}, 2)
  assert.equal(table.ofKey(key), undefined)
  assert.equal(table.use(first), undefined)
  assert.deepEqual([table.ofKey(key) === first, table.has(first), table.has(second)], [true, true, false])
  assert.equal(table.use(second), first)
  assert.equal(table.get(prefixOf(key)), second)
  assert.equal(table.remove(widgets.prefix), second)
  assert.equal(table.remove(widgets.prefix), undefined)
  assert.deepEqual([...table.values()], [])
})

test('a cache that is added late forgets what the others have forgotten', () => {
  const table = tableOver()
  const [early, late, later] = [table.create(widgets, 1), table.create(widgets, 1), table.create(widgets, 1)]
  for (const cache of [early, late, later]) for (const revision of [2, 3, 4]) cache.apply(put('default/a', {}, revision))
  table.use(early)
  const { bytes } = table.history
  assert.ok(bytes > 0)
  table.forgetBefore(3)
  assert.deepEqual([early.oldest, table.history.bytes < bytes], [3, true])
  table.use(late)
  assert.equal(late.oldest, 3)
  table.goBack()
  table.use(later)
  assert.equal(later.oldest, 1)
})

test('bytes are given up only where the store of this process can read them back', () => {
  assert.equal(tableOver().objectBytes, undefined)
  assert.equal(tableOver(new MemoryStore(), 1_000).objectBytes, 0)
  class SharedStore extends MemoryStore {
    readonly isShared = true
  }
  assert.equal(tableOver(new SharedStore(), 1_000).objectBytes, undefined)
})
