import assert from 'node:assert/strict'
import { test } from 'node:test'
import { equalValues } from './equality.ts'
import type { Shape, ShapeField } from './json-values.ts'
import {
  boolShape,
  bytesShape,
  dateShape,
  doubleShape,
  durationShape,
  dynShape,
  intOrStringShape,
  intShape,
  listShape,
  mapShape,
  nullableShape,
  objectShape,
  preservedShape,
  stringShape,
  timestampShape,
} from './shapes.ts'
import { showValue } from './show-value.ts'
import { CelDouble, CelFault, CelList, CelMap, type CelValue } from './values.ts'

const message = (value: CelValue | undefined): string => (value instanceof CelFault ? value.message : assert.fail('no fault'))
const map = (value: CelValue): CelMap => (value instanceof CelMap ? value : assert.fail('no map'))
const list = (value: CelValue): CelList => (value instanceof CelList ? value : assert.fail('no list'))

const fieldsOf = (shapes: { readonly [name: string]: Shape }): (() => ReadonlyMap<string, ShapeField>) => {
  return () => new Map(Object.entries(shapes).map(([name, shape]) => [name, { key: name, shape }]))
}

test('the shape says what a text or number means', () => {
  assert.equal(showValue(timestampShape.read('2024-02-29T12:00:00.5+01:00')), '2024-02-29T12:00:00.5+01:00')
  assert.equal(showValue(dateShape.read('2024-02-29')), '2024-02-29T00:00:00Z')
  assert.equal(showValue(timestampShape.read('2024-02-29T12:00:00')), '2024-02-29T12:00:00Z')
  assert.equal(showValue(timestampShape.read('')), '1970-01-01T00:00:00Z')
  assert.equal(showValue(durationShape.read('1h30m')), '1h30m0s')
  assert.equal(showValue(durationShape.read('2 days 5 minutes')), '48h5m0s')
  assert.deepEqual(Buffer.from(bytesShape.read('aGk=') as Uint8Array), Buffer.from('hi'))
  assert.equal(stringShape.read('2024-02-29T12:00:00Z'), '2024-02-29T12:00:00Z')
  assert.deepEqual(doubleShape.read(1), new CelDouble(1))
  assert.equal(intShape.read(1), 1)
  assert.equal(intShape.read(9007199254740993n), 9007199254740993n)
  assert.equal(intOrStringShape.read('50%'), '50%')
  assert.equal(Object.is(intShape.read(-0), 0), true)
  assert.equal(boolShape.read(true), true)
})

test('without a schema whole numbers are ints and others doubles', () => {
  assert.equal(dynShape.read(3), 3)
  assert.deepEqual(dynShape.read(3.5), new CelDouble(3.5))
  assert.deepEqual(dynShape.read(1e300), new CelDouble(1e300))
  assert.equal(dynShape.read(2n ** 60n), 2n ** 60n)
  assert.deepEqual(dynShape.read(2n ** 64n), new CelDouble(2 ** 64))
  assert.equal(dynShape.read(null), null)
  assert.equal(list(dynShape.read([1, [2]])).size, 2)
})

test('a value that does not fit its shape is an error with the message of Kubernetes', () => {
  assert.equal(message(stringShape.read(1)), 'invalid data, expected string, got int64')
  assert.equal(message(intShape.read('1')), 'invalid data, expected int, got string')
  assert.equal(message(doubleShape.read('1')), 'invalid data, expected float, got string')
  assert.equal(message(boolShape.read(1.5)), 'invalid data, expected bool, got float64')
  assert.equal(message(durationShape.read('soon')), 'Invalid duration soon: unable to parse soon as duration')
  assert.equal(message(intShape.read(null)), 'invalid data, got null for schema with nullable=false')
  assert.equal(nullableShape(intShape).read(null), null)
  assert.equal(message(listShape(intShape).read({})), 'invalid data, expected an array for the provided schema with type=array')
  assert.equal(message(mapShape(intShape).read([])), 'invalid data, expected a map for the provided schema with type=object')
})

test('objects show their fields by name, absent when null, and no other keys', () => {
  const shape = objectShape(
    () =>
      new Map([
        ['x__dash__y', { key: 'x-y', shape: intShape }],
        ['n', { key: 'n', shape: intShape }],
      ]),
  )
  const object = map(shape.read({ 'x-y': 5, n: null, other: 1 }))
  assert.equal(object.find('x__dash__y'), 5)
  assert.equal(object.find('x-y'), undefined)
  assert.equal(object.find('n'), undefined)
  assert.equal(object.find('other'), undefined)
  assert.deepEqual(object.keys(), ['x__dash__y', 'n'])
  assert.equal(message(object.find(1)), 'no such overload')
})

test('keys of prototypes are data like any other', () => {
  const json = JSON.parse('{"__proto__": 1, "constructor": 2}')
  for (const shape of [dynShape, mapShape(intShape)]) {
    const object = map(shape.read(json))
    assert.equal(object.find('__proto__'), 1)
    assert.equal(object.find('constructor'), 2)
    assert.equal(object.find('toString'), undefined)
    assert.equal(map(shape.read({})).find('__proto__'), undefined)
  }
})

test('sets are equal whatever their order, and adding is a union', () => {
  const set = listShape(stringShape, 'set')
  const [a, b] = [set.read(['x', 'y']), set.read(['y', 'x'])]
  assert.equal(equalValues(a, b), true)
  assert.equal(equalValues(a, set.read(['x', 'z'])), false)
  const sum = list(a).plus!(list(set.read(['y', 'z'])))
  assert.equal(showValue(sum), '[x, y, z]')
  assert.equal(equalValues(sum, set.read(['z', 'y', 'x'])), true)
  assert.match(message(list(listShape(dynShape, 'set').read([[1]])).plus!(list(a))), /only supported on lists of scalar values/)
})

test('lists with keys are equal whatever their order, and adding replaces', () => {
  const element = objectShape(fieldsOf({ name: stringShape, value: intShape }))
  const keyed = listShape(element, { keys: ['name'] })
  const a = keyed.read([
    { name: 'a', value: 1 },
    { name: 'b', value: 2 },
  ])
  const b = keyed.read([
    { name: 'b', value: 2 },
    { name: 'a', value: 1 },
  ])
  assert.equal(equalValues(a, b), true)
  assert.equal(
    equalValues(
      a,
      keyed.read([
        { name: 'b', value: 2 },
        { name: 'a', value: 3 },
      ]),
    ),
    false,
  )
  const sum = list(a).plus!(
    list(
      keyed.read([
        { name: 'a', value: 9 },
        { name: 'c', value: 3 },
      ]),
    ),
  )
  assert.equal(showValue(sum), '[{name: a, value: 9}, {name: b, value: 2}, {name: c, value: 3}]')
})

test('what is preserved can be compared and nothing else', () => {
  const object = objectShape(fieldsOf({ known: intShape }))
  assert.equal(equalValues(object.read({ known: 1, other: { a: 1 } }), object.read({ known: 1, other: { a: 1 } })), true)
  assert.equal(equalValues(object.read({ known: 1, other: { a: 1 } }), object.read({ known: 1, other: { a: 2 } })), false)
  assert.equal(equalValues(preservedShape.read({ a: [1] }), preservedShape.read({ a: [1] })), true)
  assert.equal(equalValues(preservedShape.read({ a: [1] }), preservedShape.read({ a: [2] })), false)
})
