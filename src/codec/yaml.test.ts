import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LIMITS } from '../lib/limits.ts'
import { parseYaml } from './yaml.ts'

const LIMIT = { values: 40_000, keyWeight: 2 }
const value = (text: string) => parseYaml(text, LIMIT).value
const refuses = (text: string, detail: string | RegExp) =>
  assert.throws(
    () => parseYaml(text),
    ({ name, message }: Error) => {
      assert.equal(name, 'YamlError')
      const told = message.replace(/^error converting YAML to JSON: /, '')
      assert.notEqual(told, message)
      if (typeof detail === 'string') assert.equal(told, detail)
      else assert.match(told, detail)
      return true
    },
  )

test('a manifest is read as kubectl users mean it', () => {
  const text = `# a comment
apiVersion: v1
kind: ConfigMap
metadata:
  name: "a"
  labels: {x: 'y', m: "1"}
data:
  multi: |
    one
      two
  folded: >-
    a
    b
list:
- 1
- - 2
  - three
empty:
`
  assert.deepEqual(value(text), {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'a', labels: { x: 'y', m: '1' } },
    data: { multi: 'one\n  two\n', folded: 'a b' },
    list: [1, [2, 'three']],
    empty: null,
  })
})

test('plain scalars mean what go-yaml takes them to mean', () => {
  const cases: [string, unknown][] = [
    ['yes', true],
    ['Off', false],
    ['n', false],
    ['~', null],
    ['NULL', null],
    ['nope', 'nope'],
    ['12', 12],
    ['-12', -12],
    ['+12', 12],
    ['0777', 511],
    ['0o17', 15],
    ['0x1F', 31],
    ['-0x1F', -31],
    ['0b11', 3],
    ['1_000', 1000],
    ['08', 8],
    ['1.5', 1.5],
    ['.5', 0.5],
    ['1e3', 1000],
    ['1.', 1],
    ['9007199254740993', 9007199254740993n],
    ['18446744073709551615', 18446744073709551615n],
    ['18446744073709551616', 18446744073709552000],
    ['1:30', '1:30'],
    ['1.2.3', '1.2.3'],
    ['2024-01-02', '2024-01-02'],
    ['2024-01-02T03:04:05Z', '2024-01-02T03:04:05Z'],
    ['"12"', '12'],
    ["'true'", 'true'],
    ['!!str 12', '12'],
    ['!!int "12"', 12],
    ['!!float 12', 12],
    ['!!binary aGVsbG8=', 'hello'],
    ['!custom 12', '12'],
    ['! 12', '12'],
    ['1e999', '1e999'],
    ['0x', '0x'],
  ]
  for (const [text, expected] of cases) assert.deepEqual((value(`a: ${text}`) as { a: unknown }).a, expected, text)
})

test('keys become text', () => {
  assert.deepEqual(value('1: a\ntrue: b\n1.5: c\nno: d\n2024-01-01: e\n9007199254740993: f'), {
    '1': 'a',
    true: 'b',
    '1.5': 'c',
    false: 'd',
    '2024-01-01': 'e',
    '9007199254740993': 'f',
  })
  refuses('~: a', /^unsupported map key/)
  refuses('? [a]\n: b', /^yaml: invalid map key/)
  assert.equal(JSON.stringify(value('__proto__: {a: 1}\nconstructor: 2')), '{"__proto__":{"a":1},"constructor":2}')
})

test('only the first document counts', () => {
  assert.deepEqual(value('---\na: 1\n---\nb: {'), { a: 1 })
  assert.equal(value(''), null)
  assert.equal(value('# nothing\n'), null)
})

test('JSON is YAML', () => {
  assert.deepEqual(value(' {"a": [1, 9007199254740993, "\\u00e9"]}'), { a: [1, 9007199254740993n, 'é'] })
  assert.deepEqual(value('{a: b, c: [d]}'), { a: 'b', c: ['d'] })
})

test('duplicates are reported by line', () => {
  const { value: parsed, strictError } = parseYaml('a:\n  b: 1\n  c: 2\n  b: 3\nl:\n- x: 1\n  x: 2\n')
  assert.deepEqual(parsed, { a: { c: 2, b: 3 }, l: [{ x: 2 }] })
  assert.equal(strictError, 'yaml: unmarshal errors:\n  line 4: key "b" already set in map\n  line 7: key "x" already set in map')
  assert.equal(parseYaml('{"a": 1,\n"a": 2}').strictError, 'yaml: unmarshal errors:\n  line 2: key "a" already set in map')
  assert.equal(parseYaml('{"a": 1}').strictError, undefined)
})

test('aliases and merges are resolved', () => {
  assert.deepEqual(value('a: &x {p: 1, q: 2}\nb: *x\nc:\n  <<: *x\n  q: 3'), { a: { p: 1, q: 2 }, b: { p: 1, q: 2 }, c: { p: 1, q: 3 } })
  assert.deepEqual(value('a: &x {p: 1}\nb: &y {p: 2, q: 2}\nc:\n  <<: [*x, *y]'), { a: { p: 1 }, b: { p: 2, q: 2 }, c: { p: 1, q: 2 } })
  assert.deepEqual(value('a: &x 1\nb: *x\nc: &x 2\nd: *x'), { a: 1, b: 1, c: 2, d: 2 })
  assert.deepEqual(value('"<<": 1'), { '<<': 1 })
  refuses('a: *x', "yaml: unknown anchor 'x' referenced")
  refuses('a: &x [*x]', "yaml: anchor 'x' value contains itself")
  refuses('<<: 1', 'yaml: map merge requires map or sequence of maps as the value')
})

test('bombs of aliases, depth and length are refused', () => {
  const bomb = Array.from(
    { length: 9 },
    (_, i) => `a${i}: &a${i} [${i === 0 ? 'x' : `*a${i - 1}`}${(i === 0 ? ',x' : `,*a${i - 1}`).repeat(9)}]`,
  )
  refuses(bomb.join('\n'), 'yaml: document contains excessive aliasing')
  assert.doesNotThrow(() => value('['.repeat(LIMITS.yamlDepth) + ']'.repeat(LIMITS.yamlDepth)))
  refuses('['.repeat(LIMITS.yamlDepth + 1) + ']'.repeat(LIMITS.yamlDepth + 1), `yaml: exceeded max depth of ${LIMITS.yamlDepth}`)
  for (const text of ['['.repeat(200_000), '- '.repeat(50_000), '{a: '.repeat(50_000), '{"a":'.repeat(200_000)]) refuses(text, /max depth/)
  assert.throws(() => value(`a: [${'x,'.repeat(LIMIT.values)}]`), { code: 413 })
  assert.throws(() => value(`a: >\n${'  b\n'.repeat(LIMITS.yamlLines)}`), { code: 413 })
})

test('what has no JSON form or breaks the grammar is refused with the line', () => {
  refuses('a: .nan', 'json: unsupported value: NaN')
  refuses('a: -.inf', 'json: unsupported value: -Inf')
  refuses('a: !!int x', 'yaml: cannot decode !!str `x` as a !!int')
  refuses('a: !!binary "!"', 'yaml: !!binary value contains invalid base64 data')
  refuses('a: 1\nb: [1\nc: 2', /^yaml: line \d: /)
  refuses('a: "x', /^yaml: found unexpected end of stream/)
  refuses('a:\n\t- b', /^yaml: line 2: /)
})

test('of very many things that are wrong the first is told', () => {
  const message = (text: string) => {
    try {
      parseYaml(text)
    } catch (error) {
      return (error as Error).message
    }
    return undefined
  }
  const few = message('[[}}')
  assert.ok(few)
  assert.equal(message(`[[${'}'.repeat(2000)}`), few)
})

test('a text of as many values as may be is read, however it is written', () => {
  const styles = {
    'block mapping': (i: number) => `k${i}: v\n`,
    'explicit keys with properties': (i: number) => `? &a${i} !!str k${i}\n: &b${i} !!str v\n`,
    'anchored mappings': (i: number) => `k${i}: &a${i}\n  a: b\n`,
    'compact mappings': (i: number) => `- &a${i} a: b\n`,
    'compact sequences': () => '- - - a\n',
  }
  for (const [style, text] of Object.entries(styles)) {
    const entries = Array.from({ length: (LIMIT.values - 10) / 4 }, (_, i) => text(i))
    assert.equal(Object.keys(value(entries.join('')) as object).length, entries.length, style)
  }
})
