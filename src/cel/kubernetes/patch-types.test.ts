import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CelFault, type CelOptional, type CelValue } from '../runtime/values.ts'
import { AdmissionCompiler } from './admission.ts'
import { isProblem } from './expression.ts'
import { type JsonPatchOperation, type PartialObject, typeNameProblems } from './patch-types.ts'

function evaluate(text: string): CelValue {
  const compiled = new AdmissionCompiler().compile({ text, use: 'variable', variables: { hasPatchTypes: true } })
  if (isProblem(compiled)) throw new Error(compiled.detail)
  const { value } = compiled.evaluate({})
  if (value instanceof CelFault) throw new Error(value.message)
  return value
}

test('objects of any fields are made', () => {
  const object = evaluate("Object{spec: Object.spec{replicas: 3, template: Object.spec.template{name: 'x'}}}") as PartialObject
  const spec = object.fields.get('spec') as PartialObject
  assert.deepEqual([object.type.name, spec.type.name, spec.fields.get('replicas')], ['Object', 'Object.spec', 3])
  assert.equal(evaluate('Object{spec: Object.spec{a: 1}} == Object{spec: Object.spec{a: 1}}'), true)
  assert.equal(evaluate('Object{spec: Object.spec{a: 1}} == Object{spec: Object.spec{a: 2}}'), false)
  assert.equal(evaluate('has(Object{a: 1}.a) && !has(Object{a: 1}.b) && Object{a: 1}.a == 1'), true)
})

test('fields without a value are left out', () => {
  assert.equal((evaluate('Object{?existing: optional.none()}') as PartialObject).size, 0)
  assert.equal((evaluate('Object{?spec: optional.of(1)}') as PartialObject).size, 1)
  assert.equal((evaluate('Object{}.?existing') as CelOptional).value, undefined)
})

test('the names of types follow the path to them', () => {
  const problems = (text: string) => typeNameProblems(evaluate(text) as PartialObject)
  assert.deepEqual(problems('Object{spec: Object.spec{a: Object.spec.a{}}}'), [])
  assert.deepEqual(problems('Object{spec: Object.spec{list: [Object.spec.list{}], map: {"k": Object.spec.map{}}}}'), [])
  assert.equal(problems('Object{spec: Object.spec{list: [Object.spec.item{}]}}').length, 1)
  assert.deepEqual(problems('Object{spec: Object.other{}}'), [
    'unexpected type name "Object.other", expected "Object.spec", which matches field name path from root Object type',
  ])
})

test('patch operations have four fields', () => {
  const operation = evaluate("JSONPatch{op: 'add', path: '/a', value: {'b': 1}}") as JsonPatchOperation
  assert.deepEqual([operation.find('op'), operation.find('path'), operation.find('from')], ['add', '/a', ''])
  assert.equal(evaluate("JSONPatch{op: 'add', path: '/a'} == JSONPatch{op: 'add', path: '/a'}"), true)
  assert.equal(evaluate("JSONPatch{op: 'add', path: '/a', value: 1} == JSONPatch{op: 'add', path: '/a', value: 2}"), false)
  assert.throws(() => evaluate("JSONPatch{op: 'move', from: 1}"), /expected type of field 'from' is 'string' but provided type is 'int'/)
  assert.throws(() => evaluate('JSONPatch{nope: 1}'), /expected type of field 'nope' is '' but provided type is 'int'/)
})

test('keys are escaped for paths', () => {
  assert.equal(evaluate("'/metadata/labels/' + jsonpatch.escapeKey('k8s.io/my~label')"), '/metadata/labels/k8s.io~1my~0label')
})
