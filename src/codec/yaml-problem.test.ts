import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseYaml } from './yaml.ts'

/** The errors of go-yaml for texts that are no YAML. */
const CASES: readonly (readonly [text: string, problem: string])[] = [
  ['{', 'line 1: did not find expected node content'],
  ['a: [', 'line 1: did not find expected node content'],
  ['a: {b', "line 1: did not find expected ',' or '}'"],
  ['k: v\n[a, b', "line 2: did not find expected ',' or ']'"],
  ['{a: b]', "did not find expected ',' or '}'"],
  ['a: b: c', 'mapping values are not allowed in this context'],
  ['a: b\n c: d', 'line 2: mapping values are not allowed in this context'],
  ['a:\n  b: 1\n c: 2', 'line 2: did not find expected key'],
  ['a: "b" "c"', 'did not find expected key'],
  ['a: b\n- c', 'line 1: did not find expected key'],
  ['- a\nb: c', "line 1: did not find expected '-' indicator"],
  ['a:\n\t- b', 'line 2: found character that cannot start any token'],
  ['x: y\na: @x', 'line 2: found character that cannot start any token'],
  ['a: "x', 'found unexpected end of stream'],
  ["x: y\na: 'x", 'line 2: found unexpected end of stream'],
  ['a: |\n b\nc', "line 4: could not find expected ':'"],
  ['a: "\\q"', 'found unknown escape character'],
  ['a: "\\u12"', 'did not find expected hexdecimal number'],
  ['a: |x\n y', 'did not find expected comment or line break'],
  ['a: [1,,2]', 'did not find expected node content'],
  ['x: y\na: \u0007', 'control characters are not allowed'],
]

for (const [text, problem] of CASES)
  test(`${JSON.stringify(text)}: ${problem}`, () =>
    assert.throws(() => parseYaml(text), { message: `error converting YAML to JSON: yaml: ${problem}` }))
