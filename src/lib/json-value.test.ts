import assert from 'node:assert/strict'
import { test } from 'node:test'
import { copyJson, copyObject, deepEqual, getOwn, isObject, type JsonObject, setOwn } from './json-value.ts'

test('numbers are equal by value, whether written as number or bigint', () => {
  assert.ok(deepEqual(1, 1n))
  assert.ok(deepEqual([9007199254740993n], [9007199254740993n]))
  assert.ok(!deepEqual(9007199254740992, 9007199254740993n))
  assert.ok(!deepEqual(1, '1'))
  assert.ok(!deepEqual(0, null))
  assert.ok(!deepEqual(0, false))
})

test('objects are equal whatever the order of keys; arrays are not objects', () => {
  assert.ok(deepEqual({ a: 1, b: [{}] }, { b: [{}], a: 1 }))
  assert.ok(!deepEqual({ a: 1 }, { a: 1, b: 2 }))
  assert.ok(!deepEqual({ a: 1, b: 2 }, { a: 1, c: 2 }))
  assert.ok(!deepEqual([], {}))
  assert.ok(!deepEqual({}, []))
  assert.ok(!deepEqual({ toString: 1 }, { a: 1 }))
})

test('prototype keys are plain data to set, get and copy', () => {
  const object: JsonObject = {}
  setOwn(object, '__proto__', { polluted: true })
  assert.deepEqual(Object.keys(object), ['__proto__'])
  assert.equal(Object.getPrototypeOf(object), Object.prototype)
  assert.deepEqual(getOwn(object, '__proto__'), { polluted: true })
  assert.equal(getOwn(object, 'constructor'), undefined)
  for (const copy of [copyObject(object), copyJson(object)]) {
    assert.deepEqual(Object.keys(copy), ['__proto__'])
    assert.equal(Object.getPrototypeOf(copy), Object.prototype)
  }
})

test('only objects that are neither null nor arrays are objects', () => {
  assert.ok(isObject({}))
  for (const value of [null, [], 'x', 1, 1n, undefined]) assert.ok(!isObject(value))
})
