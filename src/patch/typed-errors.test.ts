import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Thing } from '../../test/kits/patch.ts'
import type { Json } from '../lib/json-value.ts'
import { typedErrors, typedErrorText } from './typed-errors.ts'

test('a configuration that does not fit says where and why', () => {
  const text = (value: Json) => typedErrorText(typedErrors(Thing, value))
  assert.equal(text({ spec: { nope: 1 } }), '.spec.nope: field not declared in schema')
  assert.equal(text({ spec: { replicas: 'x' } }), '.spec.replicas: expected numeric (int or float), got string')
  assert.equal(
    text({ spec: { containers: [{ name: 'a', image: 1 }] } }),
    '.spec.containers[name="a"].image: expected string, got &value.valueUnstructured{Value:1}',
  )
  assert.equal(text({ spec: { containers: { a: 1 } } }), '.spec.containers: expected list, got &{map[a:1]}')
  assert.equal(text({ spec: { containers: [{ name: 'a', tty: 'no' }] } }), '.spec.containers[name="a"].tty: expected boolean, got &{no}')
  assert.equal(text({ spec: [] }), '.spec: expected map, got &{[]}')
  assert.equal(text({ spec: { finalizers: ['x', 'x'] } }), '.spec.finalizers: duplicate entries for key [="x"]')
  assert.equal(
    text({ spec: { containers: [null] } }),
    '.spec.containers: element 0: associative list with keys may not have a null element',
  )
  assert.equal(
    text({ spec: { finalizers: [{}] } }),
    ".spec.finalizers: element 0: associative list without keys has an element that's a map type",
  )
  assert.equal(text({ spec: { a: 1, b: 2 } }), 'errors:\n  .spec.a: field not declared in schema\n  .spec.b: field not declared in schema')
  assert.deepEqual(typedErrors(Thing, { spec: { replicas: null, containers: null } }), [])
})
