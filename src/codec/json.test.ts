import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { deepEqual, type Json } from '../lib/json-value.ts'
import { JsonError, MAX_DEPTH, parseJson, prettyChunks, stringifyJson, stringifyPretty } from './json.ts'
import { readJson } from './json-reader.ts'

const paths = (text: string) => parseJson(text).duplicates.map(duplicate => duplicate.path)

test('every document JSON.parse accepts is read the same by the exact reader and by the fast path', () => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 5 }), text => {
      const expected = JSON.parse(text) as Json
      const { value, duplicates } = parseJson(text)
      return deepEqual(rounded(value), expected) && deepEqual(rounded(readJson(text).value), expected) && duplicates.length === 0
    }),
  )
})

/** The value as JSON.parse would have it: integers past the safe range lose their last digits there. */
const rounded = (value: Json): Json => JSON.parse(JSON.stringify(value, (_, v) => (typeof v === 'bigint' ? Number(v) : v))) as Json

test('a damaged document is refused exactly when JSON.parse refuses it', () => {
  fc.assert(
    fc.property(fc.json(), fc.nat(), fc.constantFrom('', '"', '{', ']', ',', ':', '0', '\\', 'e', '-', '.', ' '), (text, at, insert) => {
      const i = at % (text.length + 1)
      const damaged = text.slice(0, i) + insert + text.slice(i + 1)
      let native = true
      try {
        JSON.parse(damaged)
      } catch {
        native = false
      }
      for (const parse of [parseJson, readJson]) {
        try {
          parse(damaged)
          assert.ok(native, damaged)
        } catch (error) {
          assert.ok(error instanceof JsonError && (!native || error.message.startsWith('json: cannot unmarshal number')), damaged)
        }
      }
    }),
  )
})

test('the last of duplicate keys wins and each path is reported once, in document order', () => {
  const text = '{"metadata":{"labels":{"a":"1","a":"2","b":"3","a":"4"}},"spec":{"c":[{"name":"x","name":"y"}]},"spec":{"d":1}}'
  const { value, duplicates } = parseJson(text)
  assert.deepEqual(value, { metadata: { labels: { b: '3', a: '4' } }, spec: { d: 1 } })
  assert.deepEqual(
    duplicates.map(duplicate => duplicate.path),
    ['metadata.labels.a', 'spec.c[0].name', 'spec'],
  )
  assert.deepEqual(duplicates[0]?.owner, { b: '3', a: '4' })
  assert.equal(duplicates[0]?.key, 'a')
})

test('a repeated key moves to its last place, so a walk meets it where it is reported', () => {
  assert.deepEqual(Object.keys(parseJson('{"a":1,"b":2,"a":3}').value as object), ['b', 'a'])
})

test('inherited names are no duplicates and prototype keys are plain data', () => {
  const text = '{"constructor":1,"__proto__":{"polluted":true},"toString":2,"hasOwnProperty":3}'
  for (const { value, duplicates } of [parseJson(text), readJson(text)]) {
    assert.deepEqual(duplicates, [])
    assert.equal(JSON.stringify(value), text)
    assert.equal(Object.getPrototypeOf(value), Object.prototype)
  }
  assert.deepEqual(paths('{"__proto__":1,"__proto__":2}'), ['__proto__'])
  assert.equal(JSON.stringify(parseJson('{"__proto__":1,"__proto__":2}').value), '{"__proto__":2}')
})

test('no more than a hundred duplicates are reported', () => {
  assert.equal(paths(`{${Array.from({ length: 500 }, (_, i) => `"k${i}":1,"k${i}":2`).join()}}`).length, 100)
})

test('integers past the safe range are exact, other numbers are doubles', () => {
  const read = (text: string) => parseJson(text).value
  assert.equal(read('9007199254740991'), 9007199254740991)
  assert.equal(read('9007199254740993'), 9007199254740993n)
  assert.equal(read('-9223372036854775808'), -9223372036854775808n)
  assert.equal(read('1e3'), 1000)
  assert.equal(read('1.5'), 1.5)
  assert.equal(read('9007199254740993.0'), 9007199254740992)
  assert.equal(read('123456789012345678901234567890'), 1.2345678901234568e29)
})

test('a number no double can hold is refused as Go refuses it', () => {
  assert.throws(() => parseJson('[1e999]'), new JsonError('json: cannot unmarshal number 1e999 into Go value of type float64', 6))
  assert.throws(() => parseJson('9'.repeat(400)), /into Go value of type float64$/)
})

test('syntax errors carry the messages of Go and the offset in bytes', () => {
  const cases: [string, string, number][] = [
    ['', 'unexpected end of JSON input', 0],
    ['{', 'unexpected end of JSON input', 1],
    ['{"a":1', 'unexpected end of JSON input', 6],
    ['"abc', 'unexpected end of JSON input', 4],
    ['"a\\u12', 'unexpected end of JSON input', 6],
    ['-', 'unexpected end of JSON input', 1],
    ['tru', 'unexpected end of JSON input', 3],
    ['{bad', "invalid character 'b' looking for beginning of object key string", 2],
    ['x', "invalid character 'x' looking for beginning of value", 1],
    ['[1,]', "invalid character ']' looking for beginning of value", 4],
    ['{"a":1,}', "invalid character '}' looking for beginning of object key string", 8],
    ['{"a"}', "invalid character '}' after object key", 5],
    ['{"a":1 2}', "invalid character '2' after object key:value pair", 8],
    ['[1 2]', "invalid character '2' after array element", 4],
    ['{} x', "invalid character 'x' after top-level value", 4],
    ['01', "invalid character '1' after top-level value", 2],
    ['[01]', "invalid character '1' after array element", 3],
    ['-x', "invalid character 'x' in numeric literal", 2],
    ['1.x', "invalid character 'x' after decimal point in numeric literal", 3],
    ['1ex', "invalid character 'x' in exponent of numeric literal", 3],
    ['nil', "invalid character 'i' in literal null (expecting 'u')", 2],
    ['"\\x"', "invalid character 'x' in string escape code", 3],
    ['"\\u12g4"', "invalid character 'g' in \\u hexadecimal character escape", 6],
    ['"a\nb"', "invalid character '\\n' in string literal", 3],
    ['"a\u0000"', "invalid character '\\x00' in string literal", 3],
    ["'a'", "invalid character '\\'' looking for beginning of value", 1],
    ['{"a":"é" é}', "invalid character 'Ã' after object key:value pair", 11],
    ['\ufeff{}', "invalid character 'ï' looking for beginning of value", 1],
    ['{"a"\\', "invalid character '\\\\' after object key", 5],
  ]
  for (const [text, message, offset] of cases) assert.throws(() => parseJson(text), new JsonError(message, offset), text)
})

test('escapes that make up one character are one, however they are written', () => {
  for (const text of ['\\ud83d\\ude00', '\\uD83D\\uDE00', '\\ud800\\udc00\\udbff\\udfff', '\\ud7ff', '\\ue000', '\\\\ud83d'])
    assert.equal(parseJson(`"${text}"`).value, JSON.parse(`"${text}"`), text)
  for (const text of ['\\ud83d', '\\ude00\\ud83d', '\\ud83d\\u0041', '\\ud83dx\\ude00', '\\ud83d\\\\ude00'])
    assert.ok((parseJson(`"${text}"`).value as string).includes('\ufffd'), text)
})

test('keys of large mappings count as several values towards the limit', () => {
  const object = (n: number) => JSON.stringify({ data: Object.fromEntries(Array.from({ length: n }, (_, i) => [`k${i}`, i])) })
  for (const more of ['', ',"big":9007199254740993'])
    for (const [keys, keyWeight, values] of [
      [1000, 2, 1005],
      [1500, 2, 3005],
      [1500, 8, 12_005],
    ] as const) {
      const text = `${object(keys).slice(0, -1)}${more}}`
      assert.equal(Object.keys((parseJson(text, { limit: { values, keyWeight } }).value as any).data).length, keys)
      assert.throws(() => parseJson(text, { limit: { values: values - 10, keyWeight } }), { code: 413 })
    }
})

test('broken surrogates and broken UTF-8 become the replacement character', () => {
  assert.equal(parseJson('"\\ud800x"').value, '\ufffdx')
  assert.equal(parseJson('"\\ud83d\\ude00"').value, '😀')
  assert.equal(parseJson(new Uint8Array([0x22, 0xff, 0x22])).value, '\ufffd')
})

test('nesting is limited, in whichever way the document is read', () => {
  const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth)
  assert.doesNotThrow(() => parseJson(nested(MAX_DEPTH)))
  assert.throws(() => parseJson(nested(MAX_DEPTH + 1)), /^JsonError: invalid character '\[' exceeded max depth$/)
  assert.throws(() => parseJson('{"a":'.repeat(1_000_000)), /exceeded max depth/)
})

test('bigints are written exactly, compact and pretty, and everything else as JSON.stringify writes it', () => {
  const value = { a: 9223372036854775807n, b: [], c: {}, d: [1, 'x', { e: -5n }], f: null }
  assert.equal(stringifyJson(value), '{"a":9223372036854775807,"b":[],"c":{},"d":[1,"x",{"e":-5}],"f":null}')
  assert.equal(stringifyPretty(value), stringifyPretty({ ...value, a: 'A', d: [1, 'x', { e: -5 }] }).replace('"A"', '9223372036854775807'))
  fc.assert(fc.property(fc.json(), text => stringifyJson(parseJson(text).value) === JSON.stringify(JSON.parse(text))))
})

test('what is written is read back the same', () => {
  const { json } = fc.letrec<{ json: Json; array: Json[]; object: { [key: string]: Json } }>(tie => ({
    json: fc.oneof(
      { maxDepth: 4 },
      fc.constant(null),
      fc.boolean(),
      fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n).map(n => (BigInt(Number(n)) === n && Number.isSafeInteger(Number(n)) ? Number(n) : n)),
      fc.double({ noNaN: true, noDefaultInfinity: true }).filter(n => !Number.isInteger(n) || Number.isSafeInteger(n)),
      fc.string(),
      tie('array'),
      tie('object'),
    ),
    array: fc.array(tie('json')),
    object: fc.dictionary(fc.string(), tie('json'), { noNullPrototype: true }),
  }))
  fc.assert(
    fc.property(
      json,
      value => deepEqual(parseJson(stringifyJson(value)).value, value) && deepEqual(parseJson(stringifyPretty(value)).value, value),
    ),
  )
  fc.assert(fc.property(fc.jsonValue(), value => [...prettyChunks(value as Json)].join('') === JSON.stringify(value, null, 2)))
})
