import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { adornKinds, debugString } from '../../../test/kits/cel/print-ast.ts'
import { unparse } from '../../../test/kits/cel/unparse.ts'
import { createEnv, type EnvSettings } from '../checker/env.ts'
import { bindMacros, optionalMacros, standardMacros, twoVariableMacros } from './macros.ts'
import { parse } from './parser.ts'
import { CelError } from './source.ts'

const library = { macros: [...standardMacros(), ...optionalMacros(), ...twoVariableMacros(), ...bindMacros()], optionalSyntax: true }
const env = createEnv([library])

const treeOf = (text: string, settings: EnvSettings = {}): string => debugString(parse(createEnv([library], settings), text).expr, () => '')

const problemOf = (text: string, settings: EnvSettings = {}): string => {
  try {
    parse(createEnv([library], settings), text)
  } catch (error) {
    assert.ok(error instanceof CelError, String(error))
    return error.message
  }
  assert.fail(`no problem with ${text}`)
}

const firstLines = (text: string): string[] =>
  problemOf(text)
    .split('\n')
    .filter(line => line.startsWith('ERROR'))

test('reserved words are no names, but may be fields', () => {
  assert.deepEqual(firstLines('if'), ['ERROR: <input>:1:1: reserved identifier: if'])
  assert.deepEqual(firstLines('.while(1)'), ['ERROR: <input>:1:1: reserved identifier: while'])
  assert.equal(treeOf('a.if'), 'a.if')
})

test('errors are reported in order of position, the caret below wide characters', () => {
  assert.equal(
    problemOf("if + 'é' + §\n+ if"),
    [
      'ERROR: <input>:1:1: reserved identifier: if',
      " | if + 'é' + §",
      ' | ^',
      "ERROR: <input>:1:12: Syntax error: cannot read '§'",
      " | if + 'é' + §",
      ' | ......．....＾',
    ].join('\n'),
  )
})

test('signs before numbers are part of them unless doubled', () => {
  assert.equal(treeOf('-1'), '-1')
  assert.equal(treeOf('--1'), '1')
  assert.equal(treeOf('-(1)'), '-_(\n  1\n)')
  assert.equal(treeOf('- 9223372036854775808'), '-9223372036854775808')
  assert.deepEqual(firstLines('9223372036854775808'), ['ERROR: <input>:1:1: invalid int literal'])
  assert.deepEqual(firstLines('18446744073709551616u'), ['ERROR: <input>:1:1: invalid uint literal'])
})

test('long chains of logic are trees as flat as can be', () => {
  assert.equal(treeOf('a && b && c && d', { variadicLogic: true }), '_&&_(\n  a,\n  b,\n  c,\n  d\n)')
  const tree = parse(env, Array.from({ length: 20_000 }, () => 'a').join('||')).expr
  let depth = 0
  for (let at = tree; at.kind === 'call'; at = at.args[0]!) depth++
  assert.ok(depth <= 15, String(depth))
})

test('macros refuse what they cannot take', () => {
  assert.deepEqual(firstLines('a.all(b.c, true)'), ['ERROR: <input>:1:8: argument must be a simple name'])
  assert.deepEqual(firstLines('a.all(b, b, true)'), ['ERROR: <input>:1:10: duplicate variable name: b'])
  assert.deepEqual(firstLines('a.transformMap(__result__, b, true)'), [
    'ERROR: <input>:1:16: iteration variable overwrites accumulator variable',
  ])
  assert.deepEqual(firstLines('has(a)'), ['ERROR: <input>:1:5: invalid argument to has() macro'])
  assert.deepEqual(firstLines('a.optMap(1, 2)'), ['ERROR: <input>:1:10: optMap() variable name must be a simple identifier'])
  assert.deepEqual(firstLines('cel.bind(1, 2, 3)'), ['ERROR: <input>:1:10: cel.bind() variable names must be simple identifiers'])
  assert.equal(treeOf('other.bind(a, b, c)'), 'other.bind(\n  a,\n  b,\n  c\n)')
})

test('hostile expressions end in an error, never in a stack overflow', () => {
  const tooDeep = 'ERROR: <input>:-1:0: expression recursion limit exceeded: 250'
  const tooHigh = 'ERROR: <input>:-1:0: max recursion depth exceeded'
  assert.equal(problemOf('('.repeat(10_000)), tooDeep)
  assert.equal(problemOf(`${'('.repeat(10_000)}1${')'.repeat(10_000)}`), tooDeep)
  assert.equal(problemOf(`${'['.repeat(40_000)}`), tooDeep)
  assert.equal(problemOf(`${'{1:'.repeat(30_000)}`), tooDeep)
  assert.equal(problemOf(`${'a ? b : '.repeat(10_000)}c`), tooDeep)
  assert.equal(problemOf(`a${'.b'.repeat(40_000)}`), tooHigh)
  assert.equal(problemOf(`a${'[0]'.repeat(30_000)}`), tooHigh)
  assert.equal(problemOf(`1${'+1'.repeat(40_000)}`), tooHigh)
  assert.equal(
    problemOf('1'.repeat(1_000_000)),
    'ERROR: <input>:-1:0: expression code point size exceeds limit: size: 1000000, limit 100000',
  )
  assert.match(problemOf('$'.repeat(90_000)), /^ERROR: <input>:1:1: Syntax error: cannot read '\$'$/)
  assert.match(problemOf('if+'.repeat(200)), /\n\d+ more errors were truncated$/)
  assert.match(problemOf('a b '.repeat(20_000)), /^ERROR: <input>:1:3: Syntax error: unexpected 'b'/)
  assert.match(problemOf('-1['.repeat(30_000)), /ERROR/)
  assert.match(problemOf(`${'-1['.repeat(200)}${'1+'.repeat(40_000)}`), /ERROR/)
  assert.match(problemOf('a.'.repeat(49_000)), /ERROR: <input>:1:98001: Syntax error/)
  assert.match(problemOf(`${'-1'.repeat(49_000)}(`), /ERROR: <input>:1:98001: Syntax error/)
  assert.match(problemOf(`"${'"""'.repeat(30_000)}`), /ERROR/)
})

test('macros that double their argument come to an end', () => {
  assert.equal(problemOf(`o${'.optMap(x, x)'.repeat(60)}`), 'ERROR: <input>:-1:0: expression node limit exceeded: 150000')
})

test('the deepest expression that is allowed can be parsed and written', () => {
  const deep = `${'(1 + '.repeat(124)}1${')'.repeat(124)}`
  assert.equal(unparse(parse(env, unparse(parse(env, deep)))), unparse(parse(env, deep)))
})

const { expression } = fc.letrec<{ expression: string; primary: string }>(tie => {
  const inner = tie('expression')
  const name = fc.constantFrom('a', 'b', 'c', '.d', 'x_1')
  const list = (element: fc.Arbitrary<string>) => fc.array(element, { maxLength: 3 }).map(parts => parts.join(', '))
  const binary = fc.constantFrom('+', '-', '*', '/', '%', '<', '<=', '>', '>=', '==', '!=', 'in', '&&', '||')
  const literal = fc.constantFrom(
    ...['1', '-7', '42u', '1.5', '-2.0', '1e30', 'true', 'false', 'null', '0x1F', "'text'", 'r"\\d"', 'b"\\xff\\n"'],
    ...['"quo\\"te\\n\\u00e9"', "'''multi\nline'''"],
  )
  return {
    expression: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      tie('primary'),
      fc.tuple(inner, binary, inner).map(([a, op, b]) => `${a} ${op} ${b}`),
      fc.tuple(inner, binary, inner).map(([a, op, b]) => `(${a} ${op} ${b})`),
      fc.tuple(inner, inner, inner).map(([a, b, c]) => `(${a}) ? (${b}) : ${c}`),
      fc.tuple(fc.constantFrom('!', '-', '!!', '--'), inner).map(([op, a]) => `${op}(${a})`),
      fc.tuple(inner, fc.constantFrom('.f', '.?f', '.`a-b`', '[0]', '[?1]', '.f()', '.size()')).map(([a, suffix]) => `(${a})${suffix}`),
      list(inner).map(elements => `[${elements}]`),
      list(fc.tuple(inner, inner).map(([k, v]) => `${k}: ${v}`)).map(entries => `{${entries}}`),
      list(inner.map(value => `f: ${value}`)).map(fields => `a.B{${fields}}`),
      fc.tuple(inner, inner).map(([a, b]) => `(${a}).all(x, ${b})`),
      fc.tuple(inner, inner).map(([a, b]) => `(${a}).map(x, true, ${b})`),
      inner.map(a => `has((${a}).f)`),
      fc.tuple(inner, inner).map(([a, b]) => `cel.bind(v, ${a}, ${b})`),
      list(inner).map(args => `f(${args})`),
    ),
    primary: fc.oneof(name, literal),
  }
})

test('what is written of a tree parses to the same tree', () => {
  fc.assert(
    fc.property(expression, text => {
      const parsed = parse(env, text)
      const again = parse(env, unparse(parsed))
      assert.equal(debugString(again.expr, adornKinds), debugString(parsed.expr, adornKinds))
    }),
    { numRuns: 300 },
  )
})

test('every text parses or is rejected with an error of the parser', () => {
  const piece = fc.constantFrom(
    ...[
      'a',
      '.',
      '?',
      '(',
      ')',
      '[',
      ']',
      '{',
      '}',
      ',',
      ':',
      '-',
      '!',
      '1',
      '1.5',
      '2u',
      '"s"',
      "'",
      '"""',
      '`',
      '`x`',
      'b"',
      '\\',
      '\n',
      ' ',
    ],
    ...['true', 'in', 'if', 'has(a.b)', '.all(x, ', '&&', '||', '&', '=', '==', '+', '*', '//', '😀', '\u0000', '\ud800', '.map(', 'f('],
  )
  const sources = fc.oneof(
    fc.array(piece, { maxLength: 25 }).map(parts => parts.join('')),
    fc.string({ unit: 'binary' }),
    expression,
  )
  fc.assert(
    fc.property(sources, text => {
      try {
        parse(env, text)
      } catch (error) {
        assert.ok(error instanceof CelError, String((error as Error).stack))
        assert.match(error.message, /^ERROR: <input>:-?\d+:\d+: /)
      }
    }),
    { numRuns: 2000 },
  )
})
