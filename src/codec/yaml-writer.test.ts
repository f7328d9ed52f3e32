import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { deepEqual, type Json } from '../lib/json-value.ts'
import { parseYaml } from './yaml.ts'
import { stringifyYaml } from './yaml-writer.ts'

test('an object is written in block style with sorted keys', () => {
  const object = {
    metadata: { name: 'a', labels: {}, finalizers: [] },
    kind: 'Pod',
    apiVersion: 'v1',
    spec: { containers: [{ name: 'x', args: ['-c', 'a: b', ''], ports: [{ containerPort: 80 }] }, { name: 'y' }], matrix: [[1, 2], [3]] },
    status: null,
  }
  assert.equal(
    stringifyYaml(object),
    `apiVersion: v1
kind: Pod
metadata:
  finalizers: []
  labels: {}
  name: a
spec:
  containers:
  - args:
    - -c
    - 'a: b'
    - ""
    name: x
    ports:
    - containerPort: 80
  - name: "y"
  matrix:
  - - 1
    - 2
  - - 3
status: null
`,
  )
})

test('text that would read as something else is quoted', () => {
  const cases: [Json, string][] = [
    ['true', '"true"'],
    ['no', '"no"'],
    ['', '""'],
    ['12', '"12"'],
    ['1e3', '"1e3"'],
    ['2024-01-01', '"2024-01-01"'],
    ['2024-01-01T00:00:00Z', '"2024-01-01T00:00:00Z"'],
    ['1:30', '"1:30"'],
    ['~', '"~"'],
    ['100m', '100m'],
    ['1Gi', '1Gi'],
    ['*', "'*'"],
    ['{{ x }}', "'{{ x }}'"],
    ["it's", "it's"],
    ["'q'", "'''q'''"],
    ['a #b', "'a #b'"],
    ['a#b', 'a#b'],
    [' a', "' a'"],
    ['a ', "'a '"],
    ['-', "'-'"],
    ['- a', "'- a'"],
    ['-a', '-a'],
    ['---', "'---'"],
    ['a\tb', '"a\\tb"'],
    ['é', 'é'],
    ['😀', '"\\U0001F600"'],
    ['http://x:80/', 'http://x:80/'],
    [1, '1'],
    [1.5, '1.5'],
    [1234567.5, '1.2345675e+06'],
    [1e21, '1e+21'],
    [0.00001, '1e-05'],
    [9223372036854775807n, '9223372036854775807'],
    [true, 'true'],
    [[], '[]'],
  ]
  for (const [value, text] of cases) assert.equal(stringifyYaml({ a: value }), `a: ${text}\n`)
})

test('several lines are written as literal blocks', () => {
  assert.equal(stringifyYaml({ a: 'x\ny\n' }), 'a: |\n  x\n  y\n')
  assert.equal(stringifyYaml({ a: { b: 'x\n\n  y' } }), 'a:\n  b: |-\n    x\n\n      y\n')
  assert.equal(stringifyYaml({ a: ['x\n\n'] }), 'a:\n- |+\n  x\n\n')
  assert.equal(stringifyYaml({ a: ' x\ny' }), 'a: |2-\n   x\n  y\n')
  assert.equal(stringifyYaml({ a: 'x \ny' }), 'a: "x \\ny"\n')
  assert.equal(stringifyYaml({ a: 'x\n\ty' }), 'a: "x\\n\\ty"\n')
})

test('long keys stand alone', () => {
  const key = 'k'.repeat(129)
  assert.equal(stringifyYaml({ [key]: { a: 1 } }), `? ${key}\n:\n  a: 1\n`)
})

test('keys sort with digits by value and letters last', () => {
  const keys = ['b', 'a10', 'a2', 'a', 'A', '_x', 'f:a', '.', 'a/b', 'a-b', 'a01', '1', '10', '9']
  const written = stringifyYaml(Object.fromEntries(keys.map(key => [key, 0])))
  assert.deepEqual(
    written.split('\n').map(line => line.replace(/: 0$/, '').replaceAll(/^['"]|['"]$/g, '')),
    ['.', '_x', '1', '9', '10', 'A', 'a', 'a-b', 'a/b', 'a01', 'a2', 'a10', 'b', 'f:a', ''],
  )
})

test('what is written is read back the same', () => {
  const text = fc.oneof(
    fc.string(),
    fc.string({ unit: 'binary' }),
    fc.stringMatching(/^[-+.:#?'" \n\t,[\]{}&*!|>%@0-9aefnoxy_~]*$/),
    fc.constantFrom(
      'yes',
      '0x1',
      '1_0',
      '.5',
      '<<',
      '2024-1-2',
      '1:20',
      '\n',
      ' \n',
      '\n\n',
      'a\n',
      ' a\n b',
      '...',
      '---\n',
      '\u2028',
      '\u0085',
      '\ufeff',
    ),
  )
  const { json } = fc.letrec<{ json: Json; array: Json[]; object: { [key: string]: Json } }>(tie => ({
    json: fc.oneof(
      { maxDepth: 4 },
      fc.constant(null),
      fc.boolean(),
      fc.bigInt(-(2n ** 63n), 2n ** 64n - 1n).map(n => (Number.isSafeInteger(Number(n)) ? Number(n) : n)),
      fc.double({ noNaN: true, noDefaultInfinity: true }).filter(n => !Number.isInteger(n) || Number.isSafeInteger(n)),
      text,
      tie('array'),
      tie('object'),
    ),
    array: fc.array(tie('json'), { maxLength: 5 }),
    object: fc.dictionary(text, tie('json'), { noNullPrototype: true, maxKeys: 5 }),
  }))
  fc.assert(
    fc.property(json, value => {
      const document = { value }
      const written = stringifyYaml(document)
      assert.ok(deepEqual(parseYaml(written).value, document), written)
    }),
    { numRuns: 500 },
  )
})

test('a line ends at the first lone space after eighty columns, as go-yaml ends it', () => {
  const words = (count: number) => Array.from({ length: count }, (_, i) => `word${i}`).join(' ')
  assert.equal(
    stringifyYaml({ message: words(20), list: [{ quoted: `${words(14)}: x y` }, words(14)] }),
    `list:
- quoted: 'word0 word1 word2 word3 word4 word5 word6 word7 word8 word9 word10 word11
    word12 word13: x y'
- word0 word1 word2 word3 word4 word5 word6 word7 word8 word9 word10 word11 word12
  word13
message: word0 word1 word2 word3 word4 word5 word6 word7 word8 word9 word10 word11
  word12 word13 word14 word15 word16 word17 word18 word19
`,
  )
  assert.equal(stringifyYaml(`${'x'.repeat(90)}\t  y z`), `"${'x'.repeat(90)}\\t\n  \\ y\n  z"\n`.replace('\n  z', ' z'))
})

test('folded text reads as what it was', () => {
  const text = fc.array(fc.constantFrom('word', ' ', '  ', ': ', "'", '\t', '\u{1F600}', 'é', '- ', '#', 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxx'), {
    maxLength: 60,
  })
  fc.assert(
    fc.property(text, parts => {
      const value = { a: [{ key: parts.join('') }, parts.join('')] }
      assert.deepEqual(parseYaml(Buffer.from(stringifyYaml(value))).value, value)
    }),
  )
})
