import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { smallCatalog } from '../../../test/kits/http/small-catalog.ts'
import { ProtobufWriter } from '../../codec/protobuf-writer.ts'
import type { Json, JsonObject } from '../../lib/json-value.ts'
import { finish } from '../../lib/step.ts'
import { contentsOf, partsOf } from './openapi-contents.ts'
import { namingOf } from './openapi-names.ts'
import { openApiV2Protobuf } from './openapi-protobuf.ts'
import { V2 } from './openapi-schemas.ts'
import { openApiV2 } from './openapi-v2.ts'

/** One decoded field: varints and doubles as numbers, the rest as bytes. */
type Read = readonly [number: number, value: number | Buffer]

function readFields(bytes: Buffer): Read[] {
  const fields: Read[] = []
  let at = 0
  const varint = () => {
    let value = 0
    for (let scale = 1; ; scale *= 128) {
      const byte = bytes[at++]!
      value += (byte & 127) * scale
      if (byte < 128) return value
    }
  }
  while (at < bytes.length) {
    const tag = varint()
    const number = Math.floor(tag / 8)
    if (tag % 8 === 0) fields.push([number, varint()])
    else if (tag % 8 === 1) {
      fields.push([number, bytes.readDoubleLE(at)])
      at += 8
    } else {
      const length = varint()
      fields.push([number, bytes.subarray(at, at + length)])
      at += length
    }
  }
  return fields
}

/** The fields of gnostic's messages by number, for decoding; written from the format, not from the writer. */
type Meaning = { readonly [number: number]: readonly [name: string, decode: (value: number | Buffer) => Json, many?: true] }
const text = (value: number | Buffer) => value.toString()
const number = (value: number | Buffer) => value as number
const flag = (value: number | Buffer) => value === 1
const inner = (value: number | Buffer) => readFields(value as Buffer)
const any = (value: number | Buffer) =>
  JSON.parse(
    inner(value)
      .find(([n]) => n === 2)![1]
      .toString(),
  ) as Json
/** A message that only wraps one other, at this number. */
const unwrapped = (at: number, decode: (value: number | Buffer) => Json) => (value: number | Buffer) => {
  const [only, ...others] = inner(value)
  assert.equal(only?.[0], at)
  assert.deepEqual(others, [])
  return decode(only![1])
}
const pairs = (fields: Read[], decode: (value: number | Buffer) => Json) =>
  Object.fromEntries(
    fields.map(([, pair]) => {
      const [[, name], value] = inner(pair) as [Read, Read | undefined]
      return [name.toString(), decode(value?.[1] ?? Buffer.alloc(0))]
    }),
  )
const mapping = (at: number, decode: (value: number | Buffer) => Json) => (value: number | Buffer) => {
  const fields = inner(value)
  assert.ok(fields.every(([n]) => n === at))
  return pairs(fields, decode)
}
const struct =
  (meaning: Meaning, extensions?: number) =>
  (value: number | Buffer): JsonObject => {
    const found: JsonObject = {}
    for (const [n, raw] of inner(value)) {
      if (n === extensions) {
        Object.assign(found, pairs([[n, raw]], any))
        continue
      }
      const [name, decode, many] = meaning[n] ?? assert.fail(`field ${n} is not known`)
      if (many) found[name] = [...((found[name] as Json[]) ?? []), decode(raw)]
      else found[name] = decode(raw)
    }
    return found
  }

const schema = (value: number | Buffer): JsonObject =>
  struct(
    {
      1: ['$ref', text],
      2: ['format', text],
      4: ['description', text],
      7: ['maximum', number],
      9: ['minimum', number],
      11: ['maxLength', number],
      12: ['minLength', number],
      14: ['maxItems', number],
      15: ['minItems', number],
      19: ['required', text, true],
      20: ['enum', any, true],
      21: ['additionalProperties', unwrapped(1, schema)],
      22: ['type', unwrapped(1, text)],
      23: ['items', unwrapped(1, schema)],
      25: ['properties', mapping(1, schema)],
    },
    31,
  )(value)

const parameter = unwrapped(1, value => {
  const [[variant, content]] = inner(value) as [Read]
  if (variant === 1) return struct({ 2: ['name', text], 3: ['in', text], 4: ['required', flag], 5: ['schema', schema] })(content)
  const [[kind, body]] = inner(content) as [Read]
  const shared: Meaning = { 1: ['required', flag], 2: ['in', text], 3: ['description', text], 4: ['name', text] }
  if (kind === 3) return struct({ ...shared, 6: ['type', text], 20: ['uniqueItems', flag] })(body)
  assert.equal(kind, 4)
  return struct({ ...shared, 5: ['type', text], 19: ['uniqueItems', flag] })(body)
})

const operation = struct(
  {
    1: ['tags', text, true],
    3: ['description', text],
    5: ['operationId', text],
    6: ['produces', text, true],
    7: ['consumes', text, true],
    8: ['parameters', parameter, true],
    9: ['responses', mapping(1, unwrapped(1, struct({ 1: ['description', text], 2: ['schema', unwrapped(1, schema)] })))],
    10: ['schemes', text, true],
  },
  13,
)

const document = struct({
  1: ['swagger', text],
  2: ['info', struct({ 1: ['title', text], 2: ['version', text] })],
  8: [
    'paths',
    mapping(
      2,
      struct({
        2: ['get', operation],
        3: ['put', operation],
        4: ['post', operation],
        5: ['delete', operation],
        6: ['options', operation],
        7: ['head', operation],
        8: ['patch', operation],
        9: ['parameters', parameter, true],
      }),
    ),
  ],
  9: ['definitions', mapping(1, schema)],
  12: ['security', mapping(1, () => []), true],
  13: [
    'securityDefinitions',
    mapping(1, unwrapped(2, struct({ 1: ['type', text], 2: ['name', text], 3: ['in', text], 4: ['description', text] }))),
  ],
})

/** Lists without items cannot be distinguished from absent ones on the wire. */
function withoutEmptyLists(value: Json): Json {
  if (Array.isArray(value)) return value.map(withoutEmptyLists)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).filter(([, member]) => !(Array.isArray(member) && member.length === 0))
  return Object.fromEntries(entries.map(([key, member]) => [key, withoutEmptyLists(member)]))
}

test('protobuf and JSON have the same content', () => {
  const catalog = smallCatalog()
  const json = openApiV2(
    finish(contentsOf(catalog, { parts: partsOf(catalog), naming: namingOf(catalog), dialect: V2, servesCbor: false })),
  )
  const back = document(openApiV2Protobuf(json))
  assert.deepEqual(withoutEmptyLists(back), withoutEmptyLists(json))
})

test('a field that is not in the protobuf schema is an error', () => {
  assert.throws(() => openApiV2Protobuf({ swagger: '2.0', oneOf: [] }), /"oneOf" is not in the protobuf schema/)
})

test('what the writer writes is read back', () => {
  const field = fc.oneof(
    fc.record({ type: fc.constant('string' as const), value: fc.string({ unit: 'grapheme' }) }),
    fc.record({ type: fc.constant('varint' as const), value: fc.maxSafeNat() }),
    fc.record({ type: fc.constant('double' as const), value: fc.double({ noNaN: true }) }),
  )
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.integer({ min: 1, max: 2 ** 20 }), field)), fields => {
      const out = new ProtobufWriter()
      out.message(1, () => {
        for (const [n, { type, value }] of fields.toReversed()) {
          if (type === 'string') out.string(n, value as string)
          else if (type === 'varint') out.varint(n, value as number)
          else out.double(n, value as number)
        }
      })
      const [[, content]] = readFields(out.finish()) as [Read]
      const back = readFields(content as Buffer).map(([n, value]) => [n, Buffer.isBuffer(value) ? value.toString() : value])
      assert.deepEqual(
        back,
        fields.map(([n, { value }]) => [n, value]),
      )
    }),
  )
})

test('the writer grows past its first buffer and refuses what is not a natural number', () => {
  const out = new ProtobufWriter()
  const long = 'ä'.repeat(100_000)
  out.message(3, () => out.string(1, long))
  const [[, content]] = readFields(out.finish()) as [Read]
  assert.equal(readFields(content as Buffer)[0]![1].toString(), long)
  assert.throws(() => out.varint(1, -1), RangeError)
  assert.throws(() => out.varint(1, 1.5), RangeError)
})
