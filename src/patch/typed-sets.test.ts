import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Thing } from '../../test/kits/patch.ts'
import { finish } from '../lib/step.ts'
import { message, raw } from '../schema/types.ts'
import { compare } from './compare.ts'
import { type FieldSet, fieldSetOfNames, pathsOf, pathText } from './field-set.ts'
import { writeFieldsV1 } from './fields-v1.ts'
import { typedErrors } from './typed-errors.ts'
import { mergeApplied } from './typed-merge.ts'
import { fieldSetOf, fitToSchema } from './typed-sets.ts'

const texts = (found: FieldSet) => pathsOf(found).map(pathText)

test('a configuration names its values, items and entries, and messages only where they are empty', () => {
  const applied = {
    spec: {
      containers: [{ name: 'a', ports: [{ containerPort: 80 }], limits: { cpu: '1' } }],
      finalizers: ['x'],
      selector: { matchLabels: { a: 'b' } },
      labels: {},
      data: { any: { thing: 1 } },
      replicas: null,
    },
  }
  assert.deepEqual(finish(writeFieldsV1(fieldSetOf(Thing, applied))), {
    'f:spec': {
      'f:containers': {
        'k:{"name":"a"}': {
          '.': {},
          'f:limits': { 'f:cpu': {} },
          'f:name': {},
          'f:ports': { 'k:{"containerPort":80,"protocol":"TCP"}': { '.': {}, 'f:containerPort': {} } },
        },
      },
      'f:data': {},
      'f:finalizers': { 'v:"x"': {} },
      'f:labels': {},
      'f:replicas': {},
      'f:selector': {},
    },
  })
})

test('raw data that merges is owned field by field, with lists as a whole', () => {
  const Loose = message('Loose', { data: [1, raw.mergedBy()] })
  const [live, applied] = [{ data: { a: { b: 1 }, l: [1], s: 'x' } }, { data: { a: { c: 2 }, l: [2], s: { now: 'a map' } } }]
  assert.deepEqual(finish(writeFieldsV1(fieldSetOf(Loose, applied))), {
    'f:data': { 'f:a': { '.': {}, 'f:c': {} }, 'f:l': {}, 'f:s': { '.': {}, 'f:now': {} } },
  })
  const merged = mergeApplied(Loose, live, applied)
  assert.deepEqual(merged, { data: { a: { b: 1, c: 2 }, l: [2], s: { now: 'a map' } } })
  assert.deepEqual(mergeApplied(Loose, applied, live), { data: { a: { c: 2, b: 1 }, l: [1], s: 'x' } })
  assert.deepEqual(typedErrors(Loose, live), [])
  const { added, modified } = compare(Loose, live, merged)
  assert.deepEqual([texts(added), texts(modified)], [['.data.a.c'], ['.data.l', '.data.s']])
  assert.deepEqual(texts(fieldSetOf(Loose, { data: 7 })), ['.data'])
})

test('a manager that owned parts of a field that became atomic owns the whole field', () => {
  const old = fieldSetOfNames('spec.selector.matchLabels.a', 'spec.labels.a')
  assert.deepEqual(texts(fitToSchema(Thing, old)), ['.spec.selector', '.spec.labels.a'])
  const fine = fieldSetOfNames('spec.selector', 'spec.labels.a')
  assert.equal(fitToSchema(Thing, fine), fine)
})
