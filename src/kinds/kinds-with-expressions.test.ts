import assert from 'node:assert/strict'
import { test } from 'node:test'
import { builtinKinds } from './all.ts'
import { kindsWithExpressions } from './kinds-with-expressions.ts'

test('the worker knows the rules of every kind whose objects may be validated there', () => {
  const declared = builtinKinds.filter(({ def }) => def.ruleWork)
  assert.deepEqual(new Set(kindsWithExpressions), new Set(declared))
})
