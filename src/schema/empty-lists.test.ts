import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nullEmptyLists } from './empty-lists.ts'
import { atomic, mapOf, message, string } from './types.ts'

const Inner = message('Inner', { names: [1, atomic(string).always(), ''], kept: [2, atomic(string).always().optional(), ''] })
const Outer = message('Outer', {
  items: [1, atomic(Inner).always(), ''],
  byName: [2, mapOf(Inner).always(), ''],
  one: [3, Inner, ''],
  plain: [4, atomic(string), ''],
})

test('empty lists and maps that are always written become null, also inside of others; optional ones stay', () => {
  const object = {
    items: [{ names: [], kept: [] }, { names: ['a'] }],
    byName: { a: { names: [] } },
    one: { names: [] },
    plain: ['x'],
    unknown: [],
  }
  nullEmptyLists(Outer, object)
  assert.deepEqual(object, {
    items: [{ names: null, kept: [] }, { names: ['a'] }],
    byName: { a: { names: null } },
    one: { names: null },
    plain: ['x'],
    unknown: [],
  })
  const empty = { items: [], byName: {}, one: null }
  nullEmptyLists(Outer, empty)
  assert.deepEqual(empty, { items: null, byName: null, one: null })
})
