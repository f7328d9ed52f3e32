import assert from 'node:assert/strict'
import test from 'node:test'
import type { JsonObject } from '../lib/json-value.ts'
import { applyDefaults } from './defaults.ts'
import { compileSchema } from './schema.ts'

const schema = compileSchema({
  type: 'object',
  properties: {
    size: { type: 'integer', default: 3 },
    gone: { type: 'string', nullable: true, default: 'x' },
    nested: { type: 'object', default: {}, properties: { a: { type: 'string', default: 'deep' } } },
    absent: { type: 'object', properties: { a: { type: 'string', default: 'deep' } } },
    list: {
      type: 'array',
      items: { type: 'object', nullable: false, default: { b: 1 }, properties: { a: { type: 'string', default: 'item' } } },
    },
    map: { type: 'object', additionalProperties: { type: 'object', properties: { a: { type: 'string', default: 'entry' } } } },
  },
})

test('a missing value gets its default, and a default gets the defaults within it', () => {
  assert.deepEqual(applyDefaults(schema, {}), { size: 3, gone: 'x', nested: { a: 'deep' } })
})

test('what is there is kept: zero, empty, and null where the schema allows it', () => {
  const object = { size: 0, gone: null, nested: { a: '' } }
  assert.equal(applyDefaults(schema, object), object)
})

test('a null that the schema does not allow is missing', () => {
  assert.deepEqual(applyDefaults(schema, { size: null, gone: null, nested: null }), { size: 3, gone: null, nested: { a: 'deep' } })
  assert.deepEqual((applyDefaults(schema, { list: [null, { a: 'x' }, {}] }) as JsonObject)['list'], [
    { b: 1, a: 'item' },
    { a: 'x' },
    { a: 'item' },
  ])
})

test('entries of maps have the defaults of their schema', () => {
  assert.deepEqual((applyDefaults(schema, { map: { k: {}, n: null } }) as JsonObject)['map'], { k: { a: 'entry' }, n: null })
})

test('objects do not share their defaults', () => {
  const one = applyDefaults(schema, {}) as { nested: { a: string } }
  one.nested.a = 'changed'
  assert.deepEqual(applyDefaults(schema, {}), { size: 3, gone: 'x', nested: { a: 'deep' } })
})

test('a default of null is none, and names of prototypes have defaults like any other', () => {
  assert.deepEqual(applyDefaults(compileSchema({ type: 'object', properties: { a: { type: 'string', default: null } } }), {}), {})
  const odd = compileSchema({
    type: 'object',
    properties: JSON.parse('{"__proto__":{"type":"string","default":"x"},"constructor":{"type":"string","default":"y"}}'),
  })
  assert.equal(JSON.stringify(applyDefaults(odd, {})), '{"__proto__":"x","constructor":"y"}')
})

test('defaults do not make a mountain of a small object', () => {
  const big = Object.fromEntries(Array.from({ length: 1000 }, (_, i) => [`k${i}`, 'x'.repeat(100)]))
  const entry = { type: 'object', default: big, additionalProperties: { type: 'string' } }
  const greedy = compileSchema({
    type: 'object',
    properties: { list: { type: 'array', items: { type: 'object', properties: { entry } } } },
  })
  const listOf = (length: number) => ({ list: Array.from({ length }, () => ({})) })
  assert.equal((applyDefaults(greedy, listOf(10)).list[9] as JsonObject)['entry'] !== undefined, true)
  assert.throws(() => applyDefaults(greedy, listOf(500_000)), { code: 413 })
})
