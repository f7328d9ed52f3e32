import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { deepEqual, type Json } from '../lib/json-value.ts'
import { writtenText } from '../lib/written-number.ts'
import { StatusError } from '../schema/status-error.ts'
import { atomic, bytes, double, mapOf, message, string } from '../schema/types.ts'
import { CborError } from './cbor.ts'
import { type CborOptions, cborTexts, decodeCbor, decodeExactly } from './cbor-decode.ts'
import { diagnoseCbor } from './cbor-diagnose.ts'
import { CborWriter, encodeCbor, encodeSortedCbor } from './cbor-encode.ts'
import { MAX_DEPTH } from './json-reader.ts'

const read = (hex: string, options?: CborOptions) => decodeCbor(Buffer.from(hex, 'hex'), options)
const problem = (hex: string, options?: CborOptions): string => {
  try {
    read(hex, options)
  } catch (error) {
    assert.ok(error instanceof CborError, `${error}`)
    return error.message
  }
  throw new assert.AssertionError({ message: `${hex} was accepted` })
}
const written = (value: Json, type?: Parameters<typeof encodeCbor>[1]) => encodeCbor(value, type).toString('hex').slice('d9d9f7'.length)

const anyJson = fc.letrec<{ value: Json }>(tie => ({
  value: fc.oneof(
    { maxDepth: 5, withCrossShrink: true },
    fc.constantFrom<Json>(null, true, false, 0, -1, '', 2n ** 63n - 1n, -(2n ** 63n), 2n ** 53n, Number.MAX_SAFE_INTEGER),
    fc.string({ unit: 'grapheme' }),
    fc.string({ minLength: 20, maxLength: 300 }),
    fc.maxSafeInteger(),
    fc.double({ noNaN: true, noDefaultInfinity: true }).filter(number => !Object.is(number, -0)),
    fc.array(tie('value'), { maxLength: 30 }),
    fc.dictionary(fc.string({ unit: 'grapheme' }), tie('value'), { maxKeys: 30 }),
  ),
})).value

test('JSON values come back from CBOR as they were, whatever the order of members', () => {
  fc.assert(
    fc.property(anyJson, value => {
      assert.ok(deepEqual(decodeCbor(encodeCbor(value)), value))
      assert.ok(deepEqual(decodeCbor(encodeSortedCbor(value)), value))
      assert.ok(deepEqual(decodeExactly(encodeCbor(value)), value))
    }),
    { numRuns: 500 },
  )
})

test('any bytes are decoded or refused with an error of their own, and notation of what is well-formed can be written', () => {
  fc.assert(
    fc.property(fc.oneof(fc.uint8Array({ maxLength: 60 }), anyJson.map(mangled)), bytes => {
      const limit = { values: 50, keyWeight: 2 }
      for (const numbers of ['values', 'written'] as const)
        assert.deepEqual(
          outcome(() => decodeCbor(bytes, { numbers, limit })),
          outcome(() => decodeExactly(bytes, { numbers, limit })),
        )
      if (typeof outcome(() => decodeCbor(bytes)) === 'string') return
      assert.equal(typeof diagnoseCbor(bytes), 'string')
      cborTexts(bytes, ['kind'])
    }),
    { numRuns: 2000 },
  )
})

/** The value as JSON in a list, with floats as they are written, or the error. */
function outcome(read: () => Json): [Json] | string {
  try {
    return [JSON.stringify(read(), (_, value) => writtenText(value) ?? (typeof value === 'bigint' ? `${value}n` : value))]
  } catch (error) {
    assert.ok(error instanceof CborError || error instanceof StatusError, `${error}`)
    return error.message
  }
}

/** The CBOR of a value with some bytes turned into others. */
function mangled(value: Json): Uint8Array {
  const bytes = encodeCbor(value)
  for (let i = 3; i < bytes.length; i += 7) bytes[i] = (bytes[i]! * 31 + 11) & 0xff
  return bytes
}

test('numbers have their shortest form, and strings are byte strings', () => {
  for (const [value, hex] of [
    [0, '00'],
    [23, '17'],
    [24, '1818'],
    [256, '190100'],
    [65536, '1a00010000'],
    [2 ** 32, '1b0000000100000000'],
    [2n ** 63n - 1n, '1b7fffffffffffffff'],
    [-1, '20'],
    [-(2n ** 63n), '3b7fffffffffffffff'],
    [1.5, 'f93e00'],
    [-65504.5, 'fac77fe080'],
    [2 ** -24, 'f90001'],
    [3.4028234663852886e38, 'fa7f7fffff'],
    [0.1, 'fb3fb999999999999a'],
    [1e300, 'fb7e37e43c8800759c'],
    [2 ** 60, 'fa5d800000'],
    ['a', '4161'],
    ['é'.repeat(12), `5818${'c3a9'.repeat(12)}`],
    [{ bb: 1, a: [] }, 'a24262620141' + '6180'],
  ] as const)
    assert.equal(written(value as Json), hex)
  assert.equal(encodeSortedCbor({ bb: 1, b: 2, a: 3 }).toString('hex'), 'd9d9f7a3416103416202426262' + '01')
})

test('bytes and floats of a declared type are told from strings and integers', () => {
  const type = message('T', { b: [1, bytes], m: [2, mapOf(bytes)], f: [3, atomic(double)], s: [4, string] })
  assert.equal(written({ b: 'AQID' }, type), 'a14162d643010203')
  assert.equal(written({ m: { x: 'AQID' } }, type), 'a1416da14178d643010203')
  assert.equal(written({ f: [1] }, type), 'a1416681f93c00')
  assert.equal(written({ s: 'AQID' }, type), 'a1417344' + '41514944')
  assert.deepEqual(read('a14162d643010203', { type }), { b: 'AQID' })
  assert.deepEqual(read('a1416244' + '41514944', { type }), { b: 'AQID' })
  assert.equal(problem('a141626441514944', { type }), 'cbor: cannot unmarshal UTF-8 text string into Go value of type []uint8')
})

test('other encoders are understood: text, parts, tags, times, floats of any width', () => {
  for (const [hex, value] of [
    ['d9d9f7d9d9f76161', 'a'],
    ['5f41614162ff', 'ab'],
    ['7f61616162ff', 'ab'],
    ['9f0102ff', [1, 2]],
    ['bf616101ff', { a: 1 }],
    ['a1f601', { '': 1 }],
    ['d643010203', 'AQID'],
    ['d543010203', 'AQID'],
    ['d742beef', 'beef'],
    ['d6824101d74102', ['AQ==', '02']],
    ['d6a1410102', { 'AQ==': 2 }],
    ['d81844' + '01020304', '\u0001\u0002\u0003\u0004'],
    ['c07819323031332d30332d32315432303a30343a30302b30323a3030', '2013-03-21T20:04:00+02:00'],
    ['c11a514b67b0', '2013-03-21T20:04:00Z'],
    ['c1fb41d452d9ec200000', '2013-03-21T20:04:00.5Z'],
    ['f93c00', 1],
    ['fa3fc00000', 1.5],
    ['fb3ff8000000000000', 1.5],
    ['1b0000000000000001', 1],
    ['1b7fffffffffffffff', 2n ** 63n - 1n],
    ['42c328', '\ufffd('],
  ] as const)
    assert.deepEqual(read(hex), value, hex)
  assert.deepEqual(
    ['f93c00', 'f93e00', 'fb7e37e43c8800759c'].map(hex => writtenText(read(hex, { numbers: 'written' }))),
    ['1.0', '1.5', '1e+300'],
  )
})

test('data that Kubernetes does not accept is refused in the words of its decoder', () => {
  const unaccepted = (type: string, why: string) => `cbor: data item of cbor type ${type} is not accepted by protocol: ${why}`
  for (const [hex, expected] of [
    ['', 'EOF'],
    ['a1', 'unexpected EOF'],
    ['4261', 'unexpected EOF'],
    ['9f', 'unexpected EOF'],
    ['c1', 'unexpected EOF'],
    ['0000', 'cbor: 1 bytes of extraneous data starting at index 1'],
    ['ff', 'cbor: unexpected "break" code'],
    ['bf4161ff', 'cbor: unexpected "break" code'],
    ['1c', 'cbor: invalid additional information 28 for type positive integer'],
    ['df', 'cbor: invalid additional information 31 for type tag'],
    ['f801', 'cbor: invalid simple value 1 for type primitives'],
    ['5f6161ff', 'cbor: wrong element type UTF-8 text string for indefinite-length byte string'],
    ['5f5f4161ffff', 'cbor: indefinite-length byte string chunk is not definite-length'],
    ['5bffffffffffffffff', 'cbor: byte string length 18446744073709551615 is too large, causing integer overflow'],
    ['9bffffffffffffffff', 'cbor: array length 18446744073709551615 is too large, it would cause integer overflow'],
    ['9b00000000ffffffff', 'cbor: exceeded max number of elements 2147483647 for CBOR array'],
    ['ba00ffffff', 'cbor: exceeded max number of key-value pairs 2097152 for CBOR map'],
    ['f97e00', unaccepted('primitives', 'floating-point NaN')],
    ['fa7f800000', unaccepted('primitives', 'floating-point infinity')],
    ['fbfff0000000000000', unaccepted('primitives', 'floating-point infinity')],
    ['f7', unaccepted('primitives', 'simple value 23 is not recognized')],
    ['e0', unaccepted('primitives', 'simple value 0 is not recognized')],
    ['f8ff', unaccepted('primitives', 'simple value 255 is not recognized')],
    ['c24101', unaccepted('tag', 'bignum')],
    ['db000000000000000341' + '01', unaccepted('tag', 'bignum')],
    ['62c328', 'cbor: invalid UTF-8 string'],
    ['7f61c361a9ff', 'cbor: invalid UTF-8 string'],
    ['a2416101616102', 'cbor: found duplicate map key "a" at map element index 1'],
    ['a10102', 'cbor: cannot unmarshal positive integer into Go value of type string'],
    ['a1f502', 'cbor: cannot unmarshal primitives into Go value of type string'],
    [
      '1bffffffffffffffff',
      "cbor: cannot unmarshal positive integer into Go value of type int64 (18446744073709551615 overflows Go's int64)",
    ],
    [
      '3b8000000000000000',
      "cbor: cannot unmarshal negative integer into Go value of type int64 (-9223372036854775809 overflows Go's int64)",
    ],
    ['c001', 'cbor: tag number 0 must be followed by text string, got positive integer'],
    ['c16161', 'cbor: tag number 1 must be followed by integer or floating-point number, got UTF-8 text string'],
    ['c06161', 'cbor: cannot set a for time.Time: parsing time "a" as "2006-01-02T15:04:05Z07:00": cannot parse "a" as "2006"'],
  ] as const)
    assert.equal(problem(hex), expected, hex)
})

test('levels and values are limited before anything is made of them', () => {
  const nested = (open: string, levels: number, inside = '00') => open.repeat(levels) + inside
  assert.ok(Array.isArray(read(nested('81', MAX_DEPTH))))
  for (const open of ['81', 'a141' + '61', 'c6'])
    assert.equal(problem(nested(open, 100_000)), `cbor: exceeded max nested level ${MAX_DEPTH}`)
  const limit = { limit: { values: 1000, keyWeight: 2 } }
  const tooMany = (hex: string) =>
    assert.throws(
      () => read(hex, limit),
      error => error instanceof StatusError && error.code === 413 && error.message === 'Request entity too large: limit is 1000 values',
    )
  assert.equal((read(`9903e7${'00'.repeat(999)}`, limit) as Json[]).length, 999)
  tooMany(`9903e8${'00'.repeat(1000)}`)
  tooMany(`9f${'80'.repeat(1000)}ff`)
  // A string of many empty parts holds as many buffers.
  tooMany(`5f${'40'.repeat(1000)}ff`)
  // Keys of a large mapping count as several values, as in JSON.
  const many = new CborWriter()
  many.mapHead(1100)
  for (let i = 0; i < 1100; i++) {
    many.text(String(i))
    many.value(i)
  }
  const bytes = many.finish()
  for (const keyWeight of [2, 8]) {
    const values = 1 + keyWeight * 1100
    assert.throws(() => decodeCbor(bytes, { limit: { values: values - 1, keyWeight } }), StatusError)
    assert.ok(decodeCbor(bytes, { limit: { values, keyWeight } }))
  }
})

test('own names of objects are data', () => {
  const value = JSON.parse('{"__proto__":{"a":1},"constructor":2}') as Json
  const back = decodeCbor(encodeCbor(value)) as object
  assert.deepEqual(Object.keys(back), ['__proto__', 'constructor'])
  assert.equal(Object.getPrototypeOf(back), Object.prototype)
})

test('the texts of the outermost mapping can be read although others cannot', () => {
  const bytes = Buffer.from('d9d9f7a4446b696e6461' + '57' + '0102' + '4161a2416101416102' + '416201', 'hex')
  assert.equal(problem(bytes.toString('hex')), 'cbor: cannot unmarshal positive integer into Go value of type string')
  assert.deepEqual(cborTexts(bytes, ['kind', 'b']), { kind: 'W' })
})

test('diagnostic notation shows how a document was encoded', () => {
  for (const [hex, notation] of [
    ['d9d9f7a1446b696e644157', "55799({'kind': 'W'})"],
    ['a26161f93e00616281f6', '{"a": 1.5, "b": [null]}'],
    ['bf4161f5ff', "{_ 'a': true}"],
    ['9f20f4ff', '[_ -1, false]'],
    ['5f41614162ff', "(_ 'a', 'b')"],
    ['7fff', '""_'],
    ['42c328', "h'c328'"],
    ['40', "h''"],
    ['620a27', '"\\n\'"'],
    ['420a27', "'\\n\\''"],
    ['62c3a9', '"\\u00e9"'],
    ['f7', 'undefined'],
    ['f93c00', '1.0'],
    ['e0', 'simple(0)'],
    ['a0', '{}'],
    ['5fff', "''_"],
  ] as const)
    assert.equal(diagnoseCbor(Buffer.from(hex, 'hex')), notation)
  // Errors do not show more of a long document than others do.
  for (const long of ['\u0001'.repeat(3_000_000), Array.from({ length: 40_000 }, () => '\u0001'.repeat(60))])
    assert.ok(diagnoseCbor(encodeCbor({ long, kind: 1 })).length < 1_100_000)
})
