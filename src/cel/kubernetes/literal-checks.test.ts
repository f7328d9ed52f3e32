import assert from 'node:assert/strict'
import { test } from 'node:test'
import { baseEnv } from './base-env.ts'
import { checkExpression, isProblem, programOf } from './expression.ts'

/** The issues of an expression, without their positions. */
function told(text: string): string[] {
  const env = baseEnv('new')
  const ast = checkExpression(env, text)
  if (isProblem(ast)) return ast.detail.split('\n').flatMap(line => /^.*ERROR: <input>:(.*)$/.exec(line)?.[1] ?? [])
  const program = programOf(env, ast)
  return isProblem(program) ? [`${program.reason}: ${program.detail}`] : []
}

test('literal lists and maps are of one type', () => {
  assert.deepEqual(told("[1, 2, 'a', 'b']"), ["1:8: expected type 'int' but found 'string'"])
  assert.deepEqual(told("{'a': 1, 'b': 'c', 2: 3}"), [
    "1:15: expected type 'int' but found 'string'",
    "1:20: expected type 'string' but found 'int'",
  ])
  assert.deepEqual(told('[[1], [2.0]]'), ["1:7: expected type 'list(int)' but found 'list(double)'"])
  assert.deepEqual(told('[optional.of(1), ?optional.of(2)]'), ["1:30: expected type 'optional_type(int)' but found 'int'"])
  assert.deepEqual(told("'%s %d'.format(['a', 1])"), [])
  assert.deepEqual(told('[1, dyn(2)]'), ["1:8: expected type 'int' but found 'dyn'"])
})

test('literal durations, times and patterns are checked', () => {
  assert.deepEqual(told("duration('1') == duration('1s')"), ['1:10: invalid duration argument'])
  assert.deepEqual(told("timestamp('2020-13-01T00:00:00Z') == timestamp(0)"), ['1:11: invalid timestamp argument'])
  assert.deepEqual(told("'a'.matches('(')"), ['1:13: invalid matches argument'])
})

test('what only shows when a program is made is an internal error', () => {
  assert.deepEqual(told("int('x')"), ["internal: program instantiation failed: type conversion error from 'string' to 'int'"])
  assert.deepEqual(told("'a'.find('(')"), ['internal: program instantiation failed: error parsing regexp: missing closing ): `(`'])
  assert.deepEqual(told("matches('a', '(')"), ['internal: program instantiation failed: error parsing regexp: missing closing ): `(`'])
})
