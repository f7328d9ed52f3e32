import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createEnv } from '../checker/env.ts'
import { standardMacros } from './macros.ts'
import { parse } from './parser.ts'
import { CelError } from './source.ts'

/** What may begin an expression, as messages list it. */
const begin = "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}"

/** Texts and the errors of syntax that ANTLR's own runtime finds in them with CEL's grammar; BEGIN stands for the list above. */
const recorded: readonly (readonly [text: string, ...errors: string[]])[] = [
  ['', "1:1: mismatched input '<EOF>' expecting BEGIN"],
  [' ', "1:2: mismatched input '<EOF>' expecting BEGIN"],
  ['1 +', "1:4: mismatched input '<EOF>' expecting BEGIN"],
  ['a b', "1:3: extraneous input 'b' expecting <EOF>"],
  ['a.', "1:3: no viable alternative at input '.'"],
  ['a.true', "1:3: mismatched input 'true' expecting IDENTIFIER"],
  ['.', "1:2: no viable alternative at input '.'"],
  ['..a', "1:2: no viable alternative at input '..'"],
  ['-', "1:2: no viable alternative at input '-'", "1:2: mismatched input '<EOF>' expecting BEGIN"],
  ['- -', "1:4: no viable alternative at input '-'", "1:4: mismatched input '<EOF>' expecting BEGIN"],
  ['!', "1:2: extraneous input '<EOF>' expecting BEGIN"],
  ['!!', "1:3: extraneous input '<EOF>' expecting BEGIN"],
  ['!-a', "1:3: no viable alternative at input '-a'"],
  ['(', "1:2: mismatched input '<EOF>' expecting BEGIN"],
  ['()', "1:2: mismatched input ')' expecting BEGIN"],
  ['(a', "1:3: missing ')' at '<EOF>'"],
  ['a)', "1:2: extraneous input ')' expecting <EOF>"],
  [
    '[',
    "1:2: mismatched input '<EOF>' expecting {'[', ']', '{', '(', '.', ',', '-', '!', '?', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}",
  ],
  ['[a', "1:3: mismatched input '<EOF>' expecting {']', ','}"],
  ['[a,', "1:4: missing ']' at '<EOF>'"],
  ['[,,]', "1:3: extraneous input ',' expecting ']'"],
  ['[a b]', "1:4: extraneous input 'b' expecting {']', ','}"],
  [
    '{',
    "1:2: mismatched input '<EOF>' expecting {'[', '{', '}', '(', '.', ',', '-', '!', '?', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}",
  ],
  ['{a', "1:3: mismatched input '<EOF>' expecting ':'"],
  ['{a:', "1:4: mismatched input '<EOF>' expecting BEGIN"],
  ['{a: b', "1:6: mismatched input '<EOF>' expecting {'}', ','}"],
  ['{a b}', "1:4: missing ':' at 'b'"],
  ['{,a: b}', "1:3: mismatched input 'a' expecting '}'"],
  [
    'f(',
    "1:3: mismatched input '<EOF>' expecting {'[', '{', '(', ')', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}",
  ],
  [
    'f(,)',
    "1:3: extraneous input ',' expecting {'[', '{', '(', ')', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}",
  ],
  ['f(a', "1:4: missing ')' at '<EOF>'"],
  ['f(a,', "1:5: mismatched input '<EOF>' expecting BEGIN"],
  ['f(a b)', "1:5: extraneous input 'b' expecting ')'"],
  [
    'a.f(',
    "1:5: mismatched input '<EOF>' expecting {'[', '{', '(', ')', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}",
  ],
  [
    'a[',
    "1:3: mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', '?', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}",
  ],
  [
    'a[]',
    "1:3: mismatched input ']' expecting {'[', '{', '(', '.', '-', '!', '?', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}",
  ],
  ['a[0', "1:4: missing ']' at '<EOF>'"],
  ['a[0 1]', "1:5: extraneous input '1' expecting ']'"],
  ['a ? b', "1:6: mismatched input '<EOF>' expecting ':'"],
  ['a ? b :', "1:8: mismatched input '<EOF>' expecting BEGIN"],
  ['a ? : c', "1:5: extraneous input ':' expecting BEGIN", "1:8: mismatched input '<EOF>' expecting ':'"],
  ['a ?? b', "1:4: extraneous input '?' expecting BEGIN", "1:7: mismatched input '<EOF>' expecting ':'"],
  ['x{', "1:3: mismatched input '<EOF>' expecting {'}', ',', '?', IDENTIFIER, ESC_IDENTIFIER}"],
  ['x{a', "1:4: mismatched input '<EOF>' expecting ':'"],
  ['x{a:', "1:5: mismatched input '<EOF>' expecting BEGIN"],
  ['x{a: 1', "1:7: mismatched input '<EOF>' expecting {'}', ','}"],
  ['x{a: 1,', "1:8: missing '}' at '<EOF>'"],
  ['x{1: 2}', "1:3: mismatched input '1' expecting {'}', ',', '?', IDENTIFIER, ESC_IDENTIFIER}"],
  ['x{a 1}', "1:5: missing ':' at '1'"],
  ['a.b.', "1:5: no viable alternative at input '.'"],
  ['a.b{c:', "1:7: mismatched input '<EOF>' expecting BEGIN"],
  ['a ==', "1:5: mismatched input '<EOF>' expecting BEGIN"],
  ['== a', "1:1: extraneous input '==' expecting BEGIN"],
  ['a === b', "1:5: token recognition error at: '= '"],
  ['a = b', "1:3: token recognition error at: '= '", "1:5: extraneous input 'b' expecting <EOF>"],
  ['a & b', "1:3: token recognition error at: '& '", "1:5: extraneous input 'b' expecting <EOF>"],
  ['a | b', "1:3: token recognition error at: '| '", "1:5: extraneous input 'b' expecting <EOF>"],
  ['a &&', "1:5: mismatched input '<EOF>' expecting BEGIN"],
  ['|| a', "1:1: extraneous input '||' expecting BEGIN"],
  ['a in', "1:5: mismatched input '<EOF>' expecting BEGIN"],
  ['in a', "1:1: extraneous input 'in' expecting BEGIN"],
  ['a < < b', "1:5: extraneous input '<' expecting BEGIN"],
  ['1 2 3', "1:3: mismatched input '2' expecting <EOF>"],
  ["'unclosed", "1:1: token recognition error at: ''unclosed'", "1:10: mismatched input '<EOF>' expecting BEGIN"],
  ['"a\nb"', "1:1: token recognition error at: '\"a\n'", "2:2: token recognition error at: '\"'"],
  [
    "'\\q'",
    "1:1: token recognition error at: ''\\q'",
    "1:4: token recognition error at: '''",
    "1:5: mismatched input '<EOF>' expecting BEGIN",
  ],
  ['`a`', "1:1: mismatched input '`a`' expecting BEGIN"],
  ['a.`b`.', "1:7: no viable alternative at input '.'"],
  ['a.``', "1:3: token recognition error at: '``'", "1:5: no viable alternative at input '.'"],
  ['#', "1:1: token recognition error at: '#'", "1:2: mismatched input '<EOF>' expecting BEGIN"],
  ['a;b', "1:2: token recognition error at: ';'", "1:3: extraneous input 'b' expecting <EOF>"],
  ['if (a) { b }', "1:8: mismatched input '{' expecting <EOF>"],
  ['x => x', "1:3: token recognition error at: '=>'", "1:6: extraneous input 'x' expecting <EOF>"],
  ['1.2.3', "1:4: extraneous input '.3' expecting <EOF>"],
  ['0x', "1:2: extraneous input 'x' expecting <EOF>"],
  ['1u.', "1:4: no viable alternative at input '.'"],
  ['a++', "1:3: mismatched input '+' expecting BEGIN", "1:4: mismatched input '<EOF>' expecting BEGIN"],
  ['a--', "1:4: no viable alternative at input '-'", "1:4: mismatched input '<EOF>' expecting BEGIN"],
  ['a and b', "1:3: mismatched input 'and' expecting <EOF>"],
  ['not a', "1:5: extraneous input 'a' expecting <EOF>"],
  ['self.items.all(x, x >', "1:22: mismatched input '<EOF>' expecting BEGIN"],
  ['has(self.a', "1:11: missing ')' at '<EOF>'"],
  ['size(self.a) >= && true', "1:17: extraneous input '&&' expecting BEGIN"],
  ["self.a == 'b' ? true", "1:21: mismatched input '<EOF>' expecting ':'"],
  ["['a','b'}", "1:9: mismatched input '}' expecting {']', ','}"],
  ["{'a':1]", "1:7: mismatched input ']' expecting {'}', ','}"],
  ['a.?', "1:4: mismatched input '<EOF>' expecting {IDENTIFIER, ESC_IDENTIFIER}"],
  ['a[?', "1:4: mismatched input '<EOF>' expecting BEGIN"],
  ['a.?[0]', "1:4: mismatched input '[' expecting {IDENTIFIER, ESC_IDENTIFIER}"],
  ['[?]', "1:3: mismatched input ']' expecting BEGIN"],
  ['{?}', "1:3: mismatched input '}' expecting BEGIN"],
  [
    'f(?a)',
    "1:3: extraneous input '?' expecting {'[', '{', '(', ')', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}",
  ],
  ['é + 1', "1:1: token recognition error at: 'é'", "1:3: extraneous input '+' expecting BEGIN"],
  [
    'a.b(c.d(e.f(',
    "1:13: mismatched input '<EOF>' expecting {'[', '{', '(', ')', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}",
  ],
  ['((((a)))', "1:9: missing ')' at '<EOF>'"],
  ['a.b..c', "1:5: no viable alternative at input '..'"],
  ['a,b', "1:2: mismatched input ',' expecting <EOF>"],
  ['self.x == "y', "1:11: token recognition error at: '\"y'", "1:13: mismatched input '<EOF>' expecting BEGIN"],
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

test('errors of syntax are those that ANTLR finds, recovered from as it does', () => {
  for (const [text, ...errors] of recorded) {
    const syntax = errorsOf(text).filter(error => error.includes('Syntax error: '))
    const wanted = errors.map(error => error.replace(': ', ': Syntax error: ').replaceAll('BEGIN', begin))
    assert.deepEqual(syntax, wanted, text)
  }
})

test('what is wrong beside the syntax is told too', () => {
  assert.deepEqual(errorsOf('if +'), ['1:1: reserved identifier: if', `1:5: Syntax error: mismatched input '<EOF>' expecting ${begin}`])
  assert.deepEqual(errorsOf('[1].all(a.b, true'), ['1:10: argument must be a simple name', "1:18: Syntax error: missing ')' at '<EOF>'"])
  assert.deepEqual(errorsOf('99999999999999999999 )'), [
    '1:1: invalid int literal',
    "1:22: Syntax error: extraneous input ')' expecting <EOF>",
  ])
  assert.deepEqual(errorsOf('a.?[0]'), [
    "1:4: Syntax error: mismatched input '[' expecting {IDENTIFIER, ESC_IDENTIFIER}",
    '1:4: unsupported ident kind',
  ])
})
