import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createEnv } from '../checker/env.ts'
import { standardMacros } from './macros.ts'
import { parse } from './parser.ts'
import { CelError } from './source.ts'

/** Texts, and where cel-go finds the first syntax error in them. */
const positions: readonly (readonly [text: string, position: string])[] = [
  ['', '1:1'],
  [' ', '1:2'],
  ['1 +', '1:4'],
  ['a b', '1:3'],
  ['a.', '1:3'],
  ['a.true', '1:3'],
  ['.', '1:2'],
  ['..a', '1:2'],
  ['-', '1:2'],
  ['- -', '1:4'],
  ['!', '1:2'],
  ['!!', '1:3'],
  ['!-a', '1:3'],
  ['(', '1:2'],
  ['()', '1:2'],
  ['(a', '1:3'],
  ['a)', '1:2'],
  ['[', '1:2'],
  ['[a', '1:3'],
  ['[a,', '1:4'],
  ['[,,]', '1:3'],
  ['[a b]', '1:4'],
  ['{', '1:2'],
  ['{a', '1:3'],
  ['{a:', '1:4'],
  ['{a: b', '1:6'],
  ['{a b}', '1:4'],
  ['{,a: b}', '1:3'],
  ['f(', '1:3'],
  ['f(,)', '1:3'],
  ['f(a', '1:4'],
  ['f(a,', '1:5'],
  ['f(a b)', '1:5'],
  ['a.f(', '1:5'],
  ['a[', '1:3'],
  ['a[]', '1:3'],
  ['a[0', '1:4'],
  ['a[0 1]', '1:5'],
  ['a ? b', '1:6'],
  ['a ? b :', '1:8'],
  ['a ? : c', '1:5'],
  ['a ?? b', '1:4'],
  ['x{', '1:3'],
  ['x{a', '1:4'],
  ['x{a:', '1:5'],
  ['x{a: 1', '1:7'],
  ['x{a: 1,', '1:8'],
  ['x{1: 2}', '1:3'],
  ['x{a 1}', '1:5'],
  ['a.b.', '1:5'],
  ['a.b{c:', '1:7'],
  ['a ==', '1:5'],
  ['== a', '1:1'],
  ['a === b', '1:5'],
  ['a = b', '1:3'],
  ['a & b', '1:3'],
  ['a | b', '1:3'],
  ['a &&', '1:5'],
  ['|| a', '1:1'],
  ['a in', '1:5'],
  ['in a', '1:1'],
  ['a < < b', '1:5'],
  ['1 2 3', '1:3'],
  ["'unclosed", '1:1'],
  ['"a\nb"', '1:1'],
  ["'\\q'", '1:1'],
  ['`a`', '1:1'],
  ['a.`b`.', '1:7'],
  ['a.``', '1:3'],
  ['#', '1:1'],
  ['a;b', '1:2'],
  ['if (a) { b }', '1:8'],
  ['x => x', '1:3'],
  ['1.2.3', '1:4'],
  ['0x', '1:2'],
  ['1u.', '1:4'],
  ['a++', '1:3'],
  ['a--', '1:4'],
  ['a and b', '1:3'],
  ['not a', '1:5'],
  ['self.items.all(x, x >', '1:22'],
  ['has(self.a', '1:11'],
  ['size(self.a) >= && true', '1:17'],
  ["self.a == 'b' ? true", '1:21'],
  ["['a','b'}", '1:9'],
  ["{'a':1]", '1:7'],
  ['a.?', '1:4'],
  ['a[?', '1:4'],
  ['a.?[0]', '1:4'],
  ['[?]', '1:3'],
  ['{?}', '1:3'],
  ['f(?a)', '1:3'],
  ['é + 1', '1:1'],
  ['a.b(c.d(e.f(', '1:13'],
  ['((((a)))', '1:9'],
  ['a.b..c', '1:5'],
  ['a,b', '1:2'],
  ['self.x == "y', '1:11'],
]

const env = createEnv([{ macros: standardMacros(), optionalSyntax: true }])

const errorsOf = (text: string): string[] => {
  try {
    parse(env, text)
    return []
  } catch (error) {
    assert.ok(error instanceof CelError, String(error))
    return error.message.split(/\n(?=ERROR: )/).map(told => told.split('\n | ')[0]!.replace('ERROR: <input>:', ''))
  }
}

test('a syntax error is reported where cel-go reports it', () => {
  for (const [text, position] of positions) {
    const [first = ''] = errorsOf(text).filter(error => error.includes('Syntax error: '))
    assert.ok(first.startsWith(`${position}: Syntax error: `), `${text}: ${first}`)
  }
})

test('a syntax error names the token found and the tokens expected', () => {
  const messages: readonly (readonly [string, string])[] = [
    ['', 'unexpected end of the expression, expected an expression'],
    ['1 +', 'unexpected end of the expression, expected an expression'],
    ['a b', "unexpected 'b', expected an operator or the end of the expression"],
    ['a.true', "unexpected 'true', expected the name of a field"],
    ['.1.', 'unexpected end of the expression, expected the name of a field'],
    ['..a', "unexpected '.', expected a name"],
    ['-a.-b', "unexpected '-', expected the name of a field"],
    ['(a', "unexpected end of the expression, expected ')'"],
    ['[a b]', "unexpected 'b', expected ',' or ']'"],
    ['[a,', 'unexpected end of the expression, expected an expression'],
    ['f(a b)', "unexpected 'b', expected ',' or ')'"],
    ['{a b}', "unexpected 'b', expected ':'"],
    ['x{1: 2}', "unexpected '1', expected the name of a field"],
    ['a ? b', "unexpected end of the expression, expected ':'"],
    ['!-a', "unexpected 'a', expected a number"],
    ["a = 'b'", "cannot read '= '"],
    ["'unclosed", `cannot read "'unclosed"`],
  ]
  for (const [text, message] of messages) assert.equal(errorsOf(text)[0]?.replace(/^\d+:\d+: Syntax error: /, ''), message, text)
})

test('errors before a syntax error are reported too', () => {
  assert.deepEqual(errorsOf('if +'), [
    '1:1: reserved identifier: if',
    '1:5: Syntax error: unexpected end of the expression, expected an expression',
  ])
  assert.deepEqual(errorsOf('99999999999999999999 )'), [
    '1:1: invalid int literal',
    "1:22: Syntax error: unexpected ')', expected an operator or the end of the expression",
  ])
})

test('a message shows the line and points at the error', () => {
  assert.throws(() => parse(env, 'true &&\n  a b'), {
    message: "ERROR: <input>:2:5: Syntax error: unexpected 'b', expected an operator or the end of the expression\n |   a b\n | ....^",
  })
})
