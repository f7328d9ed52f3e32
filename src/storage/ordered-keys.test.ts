import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { compareKeys } from './key-order.ts'
import { OrderedKeys } from './ordered-keys.ts'

type Item = { key: string; live: boolean }

const byBytes = (a: Item, b: Item) => Buffer.compare(Buffer.from(a.key), Buffer.from(b.key))
const start = (keys: OrderedKeys<Item>) => keys.atOrAfter('')
const end = (keys: OrderedKeys<Item>) => keys.pastPrefix('')

test('keys compare like their bytes', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (a, b) => {
      assert.equal(Math.sign(compareKeys(a, b)), Buffer.compare(Buffer.from(a), Buffer.from(b)))
    }),
    { numRuns: 1_000, examples: [['\uff5e', '\u{1f6a2}'] as [string, string]] },
  )
})

test('thousands of keys, added and removed in any order, stay sorted and counted', () => {
  const key = fc.tuple(fc.constantFrom('/a/', '/b/', '/b', '/ü/'), fc.nat(5_000)).map(([prefix, n]) => prefix + n)
  const keySet = fc.uniqueArray(key, { minLength: 300, maxLength: 3_000 })
  fc.assert(
    fc.property(keySet, fc.infiniteStream(fc.boolean()), key, key, (names, flags, from, to) => {
      const keys = new OrderedKeys<Item>()
      let items = names.map(name => ({ key: name, live: flags.next().value }))
      for (const item of items) keys.insert(item)
      for (const item of items) {
        if (!flags.next().value) continue
        item.live = !item.live
        keys.liveChanged(item)
      }
      const removed = new Set(items.filter(() => flags.next().value && flags.next().value))
      for (const item of removed) keys.remove(item)
      items = items.filter(item => !removed.has(item)).sort(byBytes)

      assert.deepEqual([...keys.between(start(keys), end(keys))], items)
      const live = (some: Item[]) => some.filter(item => item.live).length
      assert.equal(keys.countLive(start(keys), end(keys)), live(items))
      const [low, high] = compareKeys(from, to) <= 0 ? [from, to] : [to, from]
      const range = items.filter(item => compareKeys(item.key, low) >= 0 && compareKeys(item.key, high) <= 0)
      assert.deepEqual([...keys.between(keys.atOrAfter(low), keys.after(high))], range)
      assert.equal(keys.countLive(keys.atOrAfter(low), keys.after(high)), live(range))
      for (const item of items.slice(0, 20)) {
        assert.equal(keys.isBetween(item, keys.atOrAfter(low), keys.after(high)), range.includes(item))
      }
      const prefixed = items.filter(item => item.key.startsWith('/b'))
      assert.deepEqual([...keys.between(keys.atOrAfter('/b'), keys.pastPrefix('/b'))], prefixed)
    }),
    { numRuns: 30 },
  )
})

test('keys that arrive in order, and none at all, are fine', () => {
  const keys = new OrderedKeys<Item>()
  assert.deepEqual([...keys.between(start(keys), end(keys))], [])
  assert.equal(keys.countLive(start(keys), end(keys)), 0)
  const items = Array.from({ length: 5_000 }, (_, i) => ({ key: `/k/${String(i).padStart(5, '0')}`, live: true }))
  for (const item of items) keys.insert(item)
  assert.deepEqual([...keys.between(start(keys), end(keys))], items)
  for (const item of items) keys.remove(item)
  assert.deepEqual([...keys.between(start(keys), end(keys))], [])
})

test('a hundred thousand keys are counted right while they come, go and change', () => {
  const keys = new OrderedKeys<Item>()
  const all: Item[] = []
  const name = (n: number) => `/a/${String((n * 7919) % 100_003).padStart(6, '0')}`
  const check = (low: string, high: string) => {
    const expected = all.filter(({ key, live }) => live && key >= low && key <= high).length
    assert.equal(keys.countLive(keys.atOrAfter(low), keys.after(high)), expected)
  }
  for (let n = 0; n < 100_000; n++) {
    const item = { key: name(n), live: n % 3 > 0 }
    all.push(item)
    keys.insert(item)
    if (n % 20_000 === 0) check(name(n), '/b')
  }
  for (let round = 0; round < 8; round++) {
    for (const item of all.splice(round * 100, 2000)) keys.remove(item)
    for (const item of all.slice(round * 500, round * 500 + 300)) {
      item.live = !item.live
      keys.liveChanged(item)
      if (item.key.endsWith('00')) check(item.key, '/b')
    }
    check('/a/', `/a/${90_000 - round}`)
    check(`/a/00${round}`, '/a/099999')
  }
})
