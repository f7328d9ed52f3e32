import assert from 'node:assert/strict'
import test from 'node:test'
import type { AnyType } from '../schema/types.ts'
import { compileSchema, type JsonSchema } from './schema.ts'
import { typeOf } from './type-of.ts'

/** A type as short text. */
function show(type: AnyType): string {
  const { shape, flags } = type
  const mark = `${flags.atomic ? '!' : ''}${flags.default === undefined ? '' : `=${JSON.stringify(flags.default)}`}`
  switch (shape.kind) {
    case 'scalar':
      return (shape.name === 'raw' && flags.merge ? 'deduced' : shape.name) + mark
    case 'list':
      return `[${typeof shape.list === 'string' ? shape.list : shape.list.join('+')} ${show(shape.item)}]${mark}`
    case 'map':
      return `map(${show(shape.value)})${mark}`
    case 'message': {
      if (shape.name !== '') return shape.name
      const fields = Object.entries(shape.fields).map(([name, [, field]]) => `${name}:${show(field)}`)
      return `{${[...fields, ...(shape.others ? [`*:${show(shape.others)}`] : [])].join(' ')}}${mark}`
    }
    default:
      return shape.kind
  }
}
const shown = (x: JsonSchema) =>
  show(typeOf(compileSchema({ type: 'object', properties: { x } }))).slice(
    '{apiVersion:string kind:string metadata:ObjectMeta x:'.length,
    -1,
  )

test('an object has the envelope of all objects, whatever its schema says about it', () => {
  assert.equal(
    show(typeOf(compileSchema({ type: 'object', properties: { metadata: { type: 'object' } } }))),
    '{apiVersion:string kind:string metadata:ObjectMeta}',
  )
  assert.equal(
    show(typeOf(compileSchema({ type: 'object', 'x-kubernetes-preserve-unknown-fields': true }))),
    '{apiVersion:string kind:string metadata:ObjectMeta *:deduced}',
  )
})

test('plain values', () => {
  assert.equal(shown({ type: 'integer' }), 'int64')
  assert.equal(shown({ type: 'number' }), 'double')
  assert.equal(shown({ type: 'boolean' }), 'bool')
  assert.equal(shown({ type: 'string' }), 'string')
  assert.equal(shown({ type: 'string', format: 'date-time' }), 'intOrString')
  assert.equal(shown({ 'x-kubernetes-int-or-string': true }), 'raw')
})

test('lists by their kind', () => {
  const items: JsonSchema = { type: 'object', properties: { name: { type: 'string' }, port: { type: 'integer', default: 80 } } }
  assert.equal(shown({ type: 'array', items: { type: 'string' } }), '[atomic string]')
  assert.equal(shown({ type: 'array', items: { type: 'string' }, 'x-kubernetes-list-type': 'set' }), '[set string]')
  assert.equal(
    shown({ type: 'array', items, 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['name', 'port'] }),
    '[name+port {name:string port:int64=80}]',
  )
})

test('objects, maps and values that keep unknown fields', () => {
  assert.equal(shown({ type: 'object', additionalProperties: { type: 'string' } }), 'map(string)')
  assert.equal(shown({ type: 'object', additionalProperties: { type: 'string' }, 'x-kubernetes-map-type': 'atomic' }), 'map(string)!')
  assert.equal(shown({ type: 'object' }), 'map(deduced)')
  assert.equal(shown({ 'x-kubernetes-preserve-unknown-fields': true }), 'deduced')
  assert.equal(
    shown({
      type: 'object',
      properties: { a: { type: 'object', properties: { b: { type: 'string' } } } },
      'x-kubernetes-preserve-unknown-fields': true,
    }),
    '{a:{b:string *:deduced} *:deduced}',
  )
  assert.equal(
    shown({ type: 'object', 'x-kubernetes-embedded-resource': true, 'x-kubernetes-preserve-unknown-fields': true }),
    '{apiVersion:string kind:string metadata:ObjectMeta *:deduced}',
  )
})

test('names of prototypes are fields like any other', () => {
  const type = typeOf(compileSchema({ type: 'object', properties: JSON.parse('{"__proto__":{"type":"string"}}') }))
  assert.deepEqual(type.shape.kind === 'message' && Object.keys(type.shape.fields), ['apiVersion', 'kind', 'metadata', '__proto__'])
})
