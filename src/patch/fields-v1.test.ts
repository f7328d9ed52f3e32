import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { fieldSets, RUNS } from '../../test/kits/patch.ts'
import { stringifyJson } from '../codec/json.ts'
import type { Json } from '../lib/json-value.ts'
import { finish } from '../lib/step.ts'
import { equalSets, type FieldSet, pathsOf, pathText } from './field-set.ts'
import { readFieldsV1, writeFieldsV1 } from './fields-v1.ts'
import { readManagers } from './managers.ts'

const read = (fields: Json): FieldSet => {
  const parsed = finish(readFieldsV1(fields))
  assert.ok(parsed.ok)
  return parsed.set
}

test('every set survives being written and read', () => {
  fc.assert(
    fc.property(fieldSets, set => {
      const text = stringifyJson(finish(writeFieldsV1(set)))
      const again = read(JSON.parse(text))
      assert.ok(equalSets(again, set))
      assert.equal(stringifyJson(finish(writeFieldsV1(again))), text)
    }),
    RUNS,
  )
})

test('members are written fields first, then keys, values and places, each in the order of their content', () => {
  const fields = {
    'i:10': {},
    'i:9': {},
    'v:10': {},
    'v:9': {},
    'v:"b"': {},
    'v:true': {},
    'k:{"containerPort":80,"protocol":"TCP"}': {},
    'k:{"containerPort":9,"protocol":"TCP"}': {},
    'k:{"containerPort":80}': {},
    'f:b': {},
    'f:B': {},
  }
  assert.deepEqual(Object.keys(finish(writeFieldsV1(read(fields)))), [
    'f:B',
    'f:b',
    'k:{"containerPort":9,"protocol":"TCP"}',
    'k:{"containerPort":80}',
    'k:{"containerPort":80,"protocol":"TCP"}',
    'v:9',
    'v:10',
    'v:"b"',
    'v:true',
    'i:9',
    'i:10',
  ])
})

test('a key is the same key however it was written', () => {
  const [a, b] = [read({ 'k:{"b":1,"a":"<"}': {} }), read({ 'k:{ "a" : "\\u003c", "b":1 }': {} })]
  assert.ok(equalSets(a, b))
  assert.deepEqual(finish(writeFieldsV1(b)), { 'k:{"a":"\\u003c","b":1}': {} })
})

test('a field beside its parts is written as a dot, and a leaf is the empty object', () => {
  const set = read({ 'f:labels': { 'f:app': { '.': {} }, '.': {} }, 'f:data': null, '.': {} })
  assert.deepEqual(pathsOf(set).map(pathText), ['.data', '.labels', '.labels.app'])
  assert.equal(JSON.stringify(finish(writeFieldsV1(set))), '{"f:data":{},"f:labels":{".":{},"f:app":{}}}')
})

test('what only later versions know is dropped, also from the document', () => {
  assert.deepEqual(finish(writeFieldsV1(read({ 'f:a': {}, 'x:new': { 'f:b': {} } }))), { 'f:a': {} })
})

test('prototype keys are plain fields', () => {
  const fields = JSON.parse('{"f:__proto__":{"f:constructor":{}}}')
  assert.deepEqual(pathsOf(read(fields)).map(pathText), ['.__proto__.constructor'])
})

test('a document that is no field set says why', () => {
  const message = (fields: Json) => {
    const parsed = finish(readFieldsV1(fields))
    return parsed.ok ? undefined : parsed.message
  }
  assert.equal(message({ x: {} }), 'key must be 2 characters long:')
  assert.equal(message({ replicas: {} }), 'missing colon: replicas')
  assert.equal(message({ 'f:a': 1 }), 'expect { or n, but found 1')
  assert.equal(message({ 'i:x': {} }), 'strconv.Atoi: parsing "x": invalid syntax')
  assert.ok(message({ 'v:{': {} }))
  assert.ok(message({ 'k:[]': {} }))
  assert.ok(message([]))
})

test('keys with numbers beyond 2^53 stay exact', () => {
  const fields = { 'v:9007199254740993': {} }
  assert.equal(stringifyJson(finish(writeFieldsV1(read(fields)))), '{"v:9007199254740993":{}}')
})

test('many elements that are not as we write them are refused, in however many documents', () => {
  const odd = (from: number) => Object.fromEntries(Array.from({ length: 5_000 }, (_, i) => [`v:{"b":1, "a":${from + i}}`, {}]))
  const entry = (manager: string, from: number) =>
    ({ manager, operation: 'Update', apiVersion: 'v1', fieldsType: 'FieldsV1', fieldsV1: { 'f:data': odd(from) } }) as const
  assert.equal(finish(readManagers([entry('a', 0)])).ok, true)
  assert.throws(() => finish(readManagers([entry('a', 0), entry('b', 5_000)])), { code: 413 })
})
