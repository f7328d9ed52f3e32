import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { widgets } from '../../../test/kits/kinds/definitions.ts'
import { check, warnings } from '../../../test/kits/kinds/kinds.ts'
import { CustomResourceDefinition } from './customresourcedefinition.ts'

const word = fc.constantFrom('', 'a', 'metadata', 'kind', 'apiVersion', '__proto__', 'constructor', 'spec', '日本', 'a.b', '0')
const type = fc.constantFrom('', 'object', 'array', 'string', 'integer', 'number', 'boolean', 'null', 'text')
const json = fc.oneof(
  fc.constantFrom<unknown>(null, 0, 1.5, true, '', 'a', [], {}, [null]),
  fc.dictionary(word, fc.constantFrom<unknown>(1, 'a', null, {})),
)
const expression = fc.constantFrom(
  'true',
  'self',
  'self.a == oldSelf.a',
  'self.all(x, x)',
  '(',
  ' ',
  'self.a.matches("(")',
  'oldSelf.hasValue()',
)
const count = fc.constantFrom(-1, 0, 1, 3, 2 ** 40)

/** Any schema, sparse enough to stay small. */
const { schema } = fc.letrec<{ schema: object; node: object }>(tie => {
  const part = tie('schema')
  const parts = fc.array(part, { maxLength: 2 })
  const named = fc.dictionary(word, part, { maxKeys: 3 })
  const rule = fc.record(
    {
      rule: expression,
      message: fc.constantFrom('', ' ', 'no\nway'),
      messageExpression: expression,
      fieldPath: fc.constantFrom('.a', '.', "['a']", '.a[0]'),
      optionalOldSelf: fc.boolean(),
      reason: word,
    },
    { requiredKeys: ['rule'] },
  )
  const plain = {
    type,
    format: fc.constantFrom('date', 'duration', 'byte', 'odd'),
    default: json,
    enum: fc.array(json, { maxLength: 2 }),
    pattern: fc.constantFrom('^a$', '(', '(?=x)'),
    maximum: count,
    maxLength: count,
    maxItems: count,
    maxProperties: count,
    nullable: fc.boolean(),
    uniqueItems: fc.boolean(),
    required: fc.array(word, { maxLength: 2 }),
    'x-kubernetes-preserve-unknown-fields': fc.boolean(),
    'x-kubernetes-embedded-resource': fc.boolean(),
    'x-kubernetes-int-or-string': fc.boolean(),
    'x-kubernetes-list-type': fc.constantFrom('', 'atomic', 'set', 'map'),
    'x-kubernetes-list-map-keys': fc.array(word, { maxLength: 2 }),
    'x-kubernetes-map-type': fc.constantFrom('', 'atomic', 'granular'),
    'x-kubernetes-validations': fc.array(rule, { maxLength: 2 }),
  }
  const nested = {
    items: fc.oneof(part, parts),
    allOf: parts,
    anyOf: parts,
    oneOf: parts,
    not: part,
    properties: named,
    additionalProperties: fc.oneof(part, fc.boolean()),
    dependencies: fc.dictionary(word, fc.oneof(part, fc.array(word, { maxLength: 2 })), { maxKeys: 2 }),
    definitions: named,
  }
  const sparse = (model: Record<string, fc.Arbitrary<unknown>>) =>
    fc.subarray(Object.keys(model), { maxLength: 4 }).chain(keys => fc.record(Object.fromEntries(keys.map(key => [key, model[key]!]))))
  return {
    schema: fc.oneof({ maxDepth: 3 }, sparse(plain), tie('node')),
    node: fc.tuple(sparse(plain), sparse(nested)).map(([own, inner]) => ({ ...own, ...inner })),
  }
})

const MESSAGE = /^(Invalid value|Required value|Forbidden|Unsupported value|Duplicate value|Too (long|many|few)|Internal error)/

test('for random schemas, rules report errors and never throw', () => {
  fc.assert(
    fc.property(schema, schema, (one, other) => {
      const draft = widgets({ properties: { spec: one } })
      const next = widgets({ properties: { spec: other } })
      const old = { ...draft, status: { storedVersions: ['v1'] } }
      for (const text of [...check(CustomResourceDefinition, draft), ...check(CustomResourceDefinition, next, { old })])
        assert.match(text.slice(text.indexOf(': ') + 2), MESSAGE, text)
      warnings(CustomResourceDefinition, next, { old })
    }),
    { numRuns: 400 },
  )
})
