import assert from 'node:assert/strict'
import { test } from 'node:test'
import { widgetsWith } from '../../../test/kits/kinds/definitions.ts'
import { contextWith } from '../../../test/kits/kinds/kinds.ts'
import { refTo } from '../../schema/refs.ts'
import { compileExpressions } from './compile-expressions.ts'
import { CustomResourceDefinition } from './customresourcedefinition.ts'
import type { Schema } from './json-schema.ts'

const schema: Schema = {
  type: 'object',
  properties: {
    size: { type: 'integer', 'x-kubernetes-validations': [{ rule: 'self > 0' }, { rule: 'self.missing' }] },
    name: { type: 'string', pattern: '^[a-z]+$', maxLength: 10 },
    list: { type: 'array', maxItems: 3, items: { type: 'string', maxLength: 3, 'x-kubernetes-validations': [{ rule: 'self != "" &&' }] } },
  },
}
const definition = (): any => {
  const { metadata, ...rest } = widgetsWith(schema) as any
  return {
    ...rest,
    metadata: { name: 'widgets.stable.example.com', ...metadata },
    status: { acceptedNames: { plural: '', kind: '' }, storedVersions: ['v1'] },
  }
}
const { validate } = CustomResourceDefinition.def
const errorsIn = (object: any) => [...validate!(object, refTo(object) as any, contextWith())]

test('expressions and patterns are compiled one by one, and others may run after each', () => {
  assert.equal([...compileExpressions(definition().spec, undefined, contextWith().budget)].length, 4)
  assert.equal(errorsIn(definition()).filter(error => error === undefined).length, 4)
})

test('expressions that are compiled ahead do not change what is wrong with a definition', () => {
  const object = definition()
  for (const _ of compileExpressions(object.spec, undefined, contextWith().budget));
  const errors = errorsIn(object)
  assert.equal(errors.filter(error => error?.message.includes('compilation failed')).length, 2)
  assert.deepEqual(errors, errorsIn(definition()))
})
