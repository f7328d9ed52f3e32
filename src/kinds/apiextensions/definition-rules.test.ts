import assert from 'node:assert/strict'
import { test } from 'node:test'
import { widgets } from '../../../test/kits/kinds/definitions.ts'
import { check } from '../../../test/kits/kinds/kinds.ts'
import { fieldAt } from '../../structural/field-path.ts'
import { CustomResourceDefinition } from './customresourcedefinition.ts'
import type { Schema } from './json-schema.ts'

const version = (more: object, schema: object = {}) => widgets(schema, { version: more })
const faults = (more: object, schema: object = {}) => check(CustomResourceDefinition, version(more, schema))

test('columns have a title, a type and a path', () => {
  const columns = [
    {},
    { name: 'a', type: 'text', format: 'odd', jsonPath: 'x' },
    { name: 'b', type: 'date', jsonPath: '.metadata.creationTimestamp' },
    { name: 'c', type: 'string', format: 'byte', jsonPath: '.status.conditions[?(@.type=="Ready")].status' },
  ]
  assert.deepEqual(faults({ additionalPrinterColumns: columns }), [
    'spec.additionalPrinterColumns[0].name: Required value',
    'spec.additionalPrinterColumns[0].type: Required value: must be one of boolean,date,integer,number,string',
    'spec.additionalPrinterColumns[0].JSONPath: Required value',
    'spec.additionalPrinterColumns[1].type: Invalid value: "text": must be one of boolean,date,integer,number,string',
    'spec.additionalPrinterColumns[1].format: Invalid value: "odd": must be one of byte,date,date-time,double,float,int32,int64,password',
    'spec.additionalPrinterColumns[1].JSONPath: Invalid value: "x": must be a simple json path starting with .',
  ])
})

test('sizes are found under spec and status', () => {
  const scaled = (scale: object) => faults({ subresources: { scale } })
  assert.deepEqual(
    scaled({ specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas', labelSelectorPath: '.status.selector' }),
    [],
  )
  assert.deepEqual(scaled({}), [
    'spec.subresources.scale.specReplicasPath: Required value',
    'spec.subresources.scale.statusReplicasPath: Required value',
  ])
  assert.deepEqual(scaled({ specReplicasPath: 'spec', statusReplicasPath: '.spec.x', labelSelectorPath: '.metadata.x' }), [
    'spec.subresources.scale.specReplicasPath: Invalid value: "spec": must be a simple json path starting with .',
    'spec.subresources.scale.statusReplicasPath: Invalid value: ".spec.x": should be a json path under .status',
    'spec.subresources.scale.labelSelectorPath: Invalid value: ".metadata.x": should be a json path under either .spec or .status',
  ])
})

test('a warning is for versions that are deprecated', () => {
  assert.deepEqual(faults({ deprecationWarning: 'old' }), [
    'spec.versions[0].deprecationWarning: Invalid value: "old": can only be set for deprecated versions',
  ])
  assert.deepEqual(faults({ deprecated: true, deprecationWarning: '' }), [
    'spec.versions[0].deprecationWarning: Invalid value: "": must not be an empty string',
  ])
  assert.match(
    faults({ deprecated: true, deprecationWarning: `é\u0007${'x'.repeat(256)}` }).join(),
    /must be <= 256 characters long.*found at index 2$/,
  )
})

const described: Schema = {
  properties: {
    metadata: { type: 'object', properties: { name: { type: 'string' } } },
    spec: {
      type: 'object',
      properties: {
        color: { type: 'string', enum: ['red'] },
        size: { type: 'integer' },
        list: { type: 'array', items: { type: 'string' } },
        labels: { type: 'object', additionalProperties: { type: 'string' } },
      },
    },
  },
}

test('fields for selectors are described, plain and few', () => {
  const selectable = (...paths: string[]) => faults({ selectableFields: paths.map(jsonPath => ({ jsonPath })) }, described)
  assert.deepEqual(selectable('.spec.color', '.spec.size', '.spec.labels.tier'), [])
  const at = 'spec.selectableFields'
  assert.deepEqual(selectable('', 'spec', '.spec.none', '.spec.list', '.metadata.name', ".spec['color']", '.spec.color', '.spec.color'), [
    `${at}[0].jsonPath: Required value`,
    `${at}[1].jsonPath: Invalid value: "spec": is an invalid path: expected [ or . but got: spec`,
    `${at}[2].jsonPath: Invalid value: ".spec.none": is an invalid path: does not refer to a valid field`,
    `${at}[3].jsonPath: Invalid value: ".spec.list": must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.`,
    `${at}[4].jsonPath: Invalid value: ".metadata.name": must not point to fields in metadata`,
    `${at}[5].jsonPath: Invalid value: ".spec['color']": is an invalid path: array notation is not allowed`,
    `${at}[7].jsonPath: Duplicate value: ".spec.color"`,
  ])
  const many = Array.from({ length: 9 }, (_, i) => `.spec.labels.l${i}`)
  assert.deepEqual(selectable(...many), [`${at}: Too many: 9: must have at most 8 items`])
  const draft = version({ selectableFields: many.map(jsonPath => ({ jsonPath })) }, described)
  assert.deepEqual(check(CustomResourceDefinition, draft, { old: { ...draft, status: { storedVersions: ['v1'] } } }), [])
})

test('what versions do not have in common is named where it is', () => {
  const one = (name: string, more: object) => ({
    name,
    served: true,
    storage: name === 'v1',
    schema: { openAPIV3Schema: { type: 'object' } },
    ...more,
  })
  const columns = [{ name: 'a', type: 'x', jsonPath: '.a' }]
  const versions = [one('v1', {}), one('v2', { additionalPrinterColumns: columns, schema: { openAPIV3Schema: { type: 'string' } } })]
  assert.deepEqual(check(CustomResourceDefinition, widgets({}, { spec: { versions } })), [
    'spec.versions[1].schema.openAPIV3Schema.type: Invalid value: "string": must be object at the root',
    'spec.versions[1].additionalPrinterColumns[0].type: Invalid value: "x": must be one of boolean,date,integer,number,string',
  ])
})

test('paths name fields in brackets, too', () => {
  const at = (path: string) => fieldAt(path, described)
  assert.deepEqual(at(".spec['labels']['a.b']"), { names: ['spec', 'labels', 'a.b'], path: 'spec.labels[a.b]', schema: { type: 'string' } })
  const fault = (path: string) => (at(path) as { fault?: string }).fault
  assert.equal(fault('.'), 'unexpected end of JSON path')
  assert.equal(fault('.spec['), 'unexpected end of JSON path')
  assert.equal(fault('.spec[0]'), 'expected single quoted string but got 0')
  assert.equal(fault(".spec['color'x"), 'expected ] but got x')
  assert.equal(fault(".spec['\\q']"), 'invalid string literal: invalid escape char \\q')
  assert.equal(fault('.__proto__'), 'does not refer to a valid field')
})
