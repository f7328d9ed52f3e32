import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { randomFrom, sample } from '../../test/kits/random-objects.ts'
import { builtinKinds } from '../kinds/all.ts'
import { conform } from '../schema/conform.ts'
import { fillDefaults } from '../schema/defaults.ts'
import { resourceOf } from '../schema/resource.ts'
import * as t from '../schema/types.ts'
import { parseJson, stringifyJson } from './json.ts'
import { fromProtobuf } from './protobuf-decode.ts'
import { toCompleteProtobuf, toProtobuf } from './protobuf-encode.ts'
import { jsonOfProtobuf } from './protobuf-to-json.ts'

const NO_CHANGES = { head: '', metadata: {} }
const hex = (text: string) => Buffer.from(text.replaceAll(/\s/g, ''), 'hex')
const only = (type: t.AnyType) => t.message('Only', { x: [1, type] })
/** The text of a message whose field 1 has the type. */
const textOf = (type: t.AnyType, bytes: string) => jsonOfProtobuf(only(type), NO_CHANGES)!(hex(bytes))?.toString()

for (const { apiVersion, kind, type } of builtinKinds.map(each => resourceOf(each, 'k8s.io')))
  test(`any ${apiVersion} ${kind} is the same text as the general decoder makes of it`, () => {
    const read = jsonOfProtobuf(type, NO_CHANGES)
    if (!read) return assert.equal(kind, 'CustomResourceDefinition', 'only schemas of definitions are read by the general decoder')
    fc.assert(
      fc.property(fc.nat(2 ** 31), seed => {
        const { value } = conform(type, sample(type, randomFrom(seed), []))
        for (const bytes of [toProtobuf(type, value), toCompleteProtobuf(type, value)]) {
          const careful = conform(type, fromProtobuf(type, bytes)).value
          const text: string | undefined = read(bytes)?.toString()
          // Raw values that are no lists or objects, and numbers that are no whole numbers, may be left to the general decoder.
          if (text !== undefined) assert.deepEqual(parseJson(text).value, parseJson(stringifyJson(careful)).value)
        }
      }),
      { numRuns: 25 },
    )
  })

test('the complete encoding is read back as it was, and is written the same again', () => {
  for (const each of builtinKinds) {
    const { type } = resourceOf(each, 'k8s.io')
    fc.assert(
      fc.property(fc.nat(2 ** 31), seed => {
        const { value } = conform(type, sample(type, randomFrom(seed), []))
        fillDefaults(type, value)
        const bytes = toCompleteProtobuf(type, value)
        const back = conform(type, fromProtobuf(type, bytes)).value
        // Kinds of templates inside are not on the wire; they are filled in again.
        fillDefaults(type, back)
        const { kind: _, apiVersion: __, ...object } = value
        assert.deepEqual(back, object)
        assert.deepEqual(toCompleteProtobuf(type, back), bytes)
      }),
      { numRuns: 5 },
    )
  }
})

test('the complete encoding has zeros for plain fields, nothing for what may be absent, and maps by their keys', () => {
  const inner = t.message('Inner', { a: [1, t.string], b: [2, t.string.optional()] })
  const type = t.message('Outer', {
    text: [1, t.string],
    flag: [2, t.bool],
    count: [3, t.int64.optional()],
    at: [4, t.time],
    until: [5, t.time.optional()],
    plain: [6, inner.orEmpty()],
    pointer: [7, inner],
    list: [8, t.atomic(t.string)],
    map: [9, t.mapOf(t.string)],
    bytes: [10, t.bytes],
    port: [11, t.intOrString],
    ...t.inlined(12, { inlined: [1, inner] }),
    amount: [13, t.quantity],
  })
  assert.equal(toCompleteProtobuf(type, {}).toString('hex'), '0a00 1000 2200 32020a00 5a06080010001a00 6200 6a030a0130'.replaceAll(' ', ''))
  assert.equal(
    toCompleteProtobuf(t.message('M', { map: [1, t.mapOf(t.string)] }), { map: { b: '', '\u{10000}': '', a: '', '\uffff': '' } }).toString(
      'hex',
    ),
    ['0a050a01611200', '0a050a01621200', '0a070a03efbfbf1200', '0a080a04f09080801200'].join(''),
  )
})

test('texts are escaped, and what is no UTF-8 is replaced', () => {
  assert.equal(textOf(t.string, '0a 03 61 22 5c'), '{"x":"a\\"\\\\"}')
  assert.equal(textOf(t.string, '0a 02 0a 1f'), '{"x":"\\n\\u001f"}')
  assert.equal(textOf(t.string, '0a 03 e2 98 83'), '{"x":"☃"}')
  assert.equal(textOf(t.string, '0a 02 ff 61'), '{"x":"\ufffda"}')
})

test('raw values are one value each, whatever they contain', () => {
  const raw = (json: string) =>
    textOf(
      t.raw,
      Buffer.concat([hex('0a'), Buffer.from([json.length + 2]), hex('0a'), Buffer.from([json.length]), Buffer.from(json)]).toString('hex'),
    )
  assert.equal(raw('{"a":["]}\\""]}'), '{"x":{"a":["]}\\""]}}')
  assert.equal(raw('[]'), '{"x":[]}')
  for (const left of ['{},"y":{}', '{}{}', '1', '"a"', '{"a"', '{"a":"', 'null', ' {}', '{}}', 'k8s'])
    assert.equal(raw(left), undefined, left)
})

test('what Go does not write is decoded by the general decoder', () => {
  const inner = t.message('Inner', { a: [1, t.string] })
  for (const [what, type, bytes] of [
    ['a field that comes twice', t.string, '0a0161 0a0162'],
    ['a message in two parts', inner, '0a030a0178 0a030a0179'],
    ['another wire type', t.string, '0801'],
    ['packed scalars', t.atomic(t.int32), '0a03010203'],
    ['a map with a key twice', t.mapOf(t.string), '0a060a0161120162 0a060a0161120163'],
    ['a map out of order', t.mapOf(t.string), '0a060a0162120162 0a060a0161120163'],
    ['an entry without a value', t.mapOf(t.string), '0a030a0161'],
    ['an entry with a value of another wire type', t.mapOf(t.string), '0a050a01611001'],
    ['a number with more bytes than it needs', t.int64, '088000'],
    ['a number with more than 64 bits', t.int64, '0880808080808080808002'],
    ['a text whose length has more bytes than it needs', t.string, '0a8000'],
    ['a group', t.string, '0b 0c'],
    ['a part that is too short', t.string, '0a0561'],
    ['an unknown part that ends before its length', t.string, '0a0161 12'],
    ['a length that is too long', t.time, '0affffffff010801'],
    ['a time before all years', t.time, '0a0b0880808080808080808001'],
    ['a time of too many bytes', t.time, '0a0d 08ffffffffffffffffff80 1000'],
    ['a quantity that is none', t.quantity, '0a030a0178'],
    ['a quantity after a byte that is no UTF-8', t.quantity, '0a040a02a031'],
  ] as const)
    assert.equal(textOf(type, bytes), undefined, what)
  const interleaved = t.message('M', { x: [1, t.atomic(t.string)], y: [2, t.string] })
  assert.equal(jsonOfProtobuf(interleaved, NO_CHANGES)!(hex('0a0161 120162 0a0163')), undefined)
})

test('property: on any bytes it agrees with the general decoder or declines', () => {
  const { type } = resourceOf(builtinKinds.find(kind => kind.def.kind === 'Pod')!, 'k8s.io')
  const read = jsonOfProtobuf(type, NO_CHANGES)!
  fc.assert(
    fc.property(fc.nat(2 ** 31), fc.array(fc.tuple(fc.nat(2 ** 16), fc.nat(255)), { maxLength: 4 }), (seed, changes) => {
      const bytes = Buffer.from(toCompleteProtobuf(type, conform(type, sample(type, randomFrom(seed), [])).value))
      for (const [at, byte] of changes) bytes[at % bytes.length] = byte
      const text = read(bytes)?.toString()
      if (text === undefined) return
      let value: unknown
      try {
        value = parseJson(text).value
      } catch {
        // Raw values are for a parser to judge.
        return
      }
      assert.deepEqual(value, parseJson(stringifyJson(conform(type, fromProtobuf(type, bytes)).value)).value)
    }),
    { numRuns: 1000 },
  )
})
