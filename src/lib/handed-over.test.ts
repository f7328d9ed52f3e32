import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { HandedOver } from './handed-over.ts'

test('an object is taken as its JSON text would be read', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), object => {
      assert.deepEqual(new HandedOver(object).take(), JSON.parse(JSON.stringify(object)))
    }),
  )
  const written = { a: undefined, b: [undefined, () => 1], c: new Date(0), d: () => 1, e: { f: null }, ['__proto__']: { g: 1 } }
  assert.equal(JSON.stringify(new HandedOver(written).take()), JSON.stringify(written))
})

test('neither side sees what the other changes', () => {
  const object = { list: [{ a: 1 }] }
  const handed = new HandedOver(object)
  object.list[0]!.a = 2
  const taken = handed.take() as typeof object
  assert.equal(taken.list[0]!.a, 1)
  taken.list[0]!.a = 3
  assert.deepEqual(handed.take(), { list: [{ a: 1 }] })
})

test('the size is near that of the JSON text', () => {
  const object = { data: Object.fromEntries(Array.from({ length: 1000 }, (_, i) => [`key-${i}`, 'value '.repeat(5)])) }
  const { length } = JSON.stringify(object)
  const { size } = new HandedOver(object)
  assert.ok(size > length / 2 && size < 2 * length, `${size} for ${length}`)
})
