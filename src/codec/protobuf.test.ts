import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { ConfigMap } from '../kinds/core/configmap.ts'
import type { Json } from '../lib/json-value.ts'
import { conform } from '../schema/conform.ts'
import { resourceOf } from '../schema/resource.ts'
import * as t from '../schema/types.ts'
import { fromProtobuf } from './protobuf-decode.ts'
import { toProtobuf } from './protobuf-encode.ts'
import { envelope, openEnvelope, watchFrame } from './protobuf-envelope.ts'
import { ProtobufError } from './protobuf-reader.ts'

const hex = (text: string) => Buffer.from(text.replaceAll(/\s/g, ''), 'hex')
const only = <T>(type: t.Type<T, boolean>) => t.message('Only', { x: [1, type] })
/** The bytes of a message whose field 1 has the type, and the value read back. */
const there = (type: t.AnyType, x: Json) => toProtobuf(only(type), { x }).toString('hex')
const back = (type: t.AnyType, bytes: string) => fromProtobuf(only(type), hex(bytes))['x']

test('what kubectl sends for a config map is read', () => {
  const sent = hex(`
    6b 38 73 00 0a 0f 0a 02 76 31 12 09 43 6f 6e 66 69 67 4d 61 70 12 1c 0a 12 0a 02 63 31 12 00 1a 00 22 00 2a 00 32 00 38
    00 42 00 12 06 0a 01 61 12 01 62 1a 00 22 00`)
  const { kind, apiVersion, raw, contentType } = openEnvelope(sent)
  assert.deepEqual([kind, apiVersion, contentType], ['ConfigMap', 'v1', ''])
  const { type } = resourceOf(ConfigMap, 'k8s.io')
  const value = fromProtobuf(type, raw)
  assert.deepEqual(value, { metadata: { name: 'c1' }, data: { a: 'b' } })
  const written = envelope({ kind, apiVersion }, toProtobuf(type, value))
  // The same but for the zeros that are left out.
  assert.equal(
    written.toString('hex'),
    hex(
      `6b 38 73 00 0a 0f 0a 02 76 31 12 09 43 6f 6e 66 69 67 4d 61 70 12 0e 0a 04 0a 02 63 31 12 06 0a 01 61 12 01 62 1a 00 22 00`,
    ).toString('hex'),
  )
})

test('scalars have the wire form of their Go types', () => {
  const cases: [t.AnyType, Json, string][] = [
    [t.string, 'é', '0a02c3a9'],
    [t.bool, true, '0801'],
    [t.int32, 300, '08ac02'],
    [t.int32, -1, '08ffffffffffffffffff01'],
    [t.int64, 2n ** 63n - 1n, '08ffffffffffffffff7f'],
    [t.int64, -(2n ** 63n), '0880808080808080808001'],
    [t.double, 1.5, '09000000000000f83f'],
    [t.bytes, 'AAE=', '0a020001'],
    [t.time, '2026-01-01T00:00:00Z', '0a080880f2d6ca061000'],
    [t.time, '0001-01-02T00:00:00Z', '0a0d0880b5bdc398feffffff011000'],
    [t.microTime, '1970-01-01T00:00:01.000002Z', '0a05080110d00f'],
    [t.duration, '1m30s', '0a07088088aca3cf02'],
    [t.quantity, '500m', '0a060a043530306d'],
    [t.intOrString, 80, '0a06080010501a00'],
    [t.intOrString, 'http', '0a0a080110001a0468747470'],
    [t.raw, { a: [1] }, '0a0b0a097b2261223a5b315d7d'],
    [t.oneOf('a', 'b'), 'b', '0a0162'],
    [t.atomic(t.string), ['a', ''], '0a01610a00'],
    [t.atomic(t.int32), [1, 2], '08010802'],
    [t.mapOf(t.string), { k: 'v' }, '0a060a016b120176'],
    [t.mapOf(t.quantity), { cpu: '1' }, '0a0a0a0363707512030a0131'],
  ]
  for (const [type, value, bytes] of cases) {
    const name = JSON.stringify(value, (_, v) => (typeof v === 'bigint' ? String(v) : v))
    assert.equal(there(type, value), bytes, name)
    assert.deepEqual(back(type, bytes), value, name)
  }
})

test('embedded messages are read into the message they are in, however deep', () => {
  const type = t.message('Outer', { name: [1, t.string], ...t.inlined(2, { a: [1, t.string], ...t.inlined(3, { b: [1, t.bool] }) }) })
  const bytes = toProtobuf(type, { name: 'n', a: 'x', b: true })
  assert.equal(bytes.toString('hex'), '0a016e12070a01781a020801')
  assert.deepEqual(fromProtobuf(type, bytes), { name: 'n', a: 'x', b: true })
  assert.equal(toProtobuf(type, { name: 'n' }).toString('hex'), '0a016e')
})

test('lists inside maps have a message of their own', () => {
  const extra = t.mapOf(t.atomic(t.string))
  assert.equal(there(extra, { k: ['a', 'b'] }), '0a0b0a016b12060a01610a0162')
  assert.deepEqual(back(extra, '0a0b0a016b12060a01610a0162'), { k: ['a', 'b'] })
  assert.deepEqual(back(extra, '0a050a016b1200'), { k: null }, 'as Go writes a list without elements')
})

test('scalars of lists may come packed, fields may come twice, and unknown ones are passed over', () => {
  assert.deepEqual(back(t.atomic(t.int32), '0a03010203 0804'), [1, 2, 3, 4])
  assert.equal(back(t.string, '0a0161 0a0162'), 'b')
  const inner = t.message('Inner', { a: [1, t.string], b: [2, t.string] })
  assert.deepEqual(back(inner, '0a030a0178 0a03120179'), { a: 'x', b: 'y' })
  const unknown = '5001 5a03616263 59ffffffffffffffff 5dffffffff 53 5801 54 9a7801ff'
  assert.equal(back(t.string, `${unknown} 0a0161 ${unknown}`), 'a')
})

test('a message that comes in parts is merged, wherever the parts are', () => {
  const inner = t.message('Inner', { list: [1, t.atomic(t.string)], map: [2, t.mapOf(t.string)], deep: [3, only(t.string)] })
  const type = t.message('Outer', { a: [1, inner], ...t.inlined(2, { b: [1, inner] }), c: [3, t.atomic(inner)] })
  const part = (text: string) => `0a01${text} 1207 0a0161 1202${text}${text} 1a03 0a01${text}`.replaceAll(' ', '')
  const of = (number: string, content: string) => number + Buffer.from([content.length / 2]).toString('hex') + content
  const merged = { list: ['x', 'y'], map: { a: 'yy' }, deep: { x: 'y' } }
  const [x, y] = [part('78'), part('79')]
  assert.deepEqual(fromProtobuf(type, hex(of('0a', x) + of('12', of('0a', x)) + of('0a', y) + of('12', of('0a', y)))), {
    a: merged,
    b: merged,
  })
  assert.deepEqual((fromProtobuf(type, hex(of('1a', x) + of('1a', y)))['c'] as object[]).length, 2, 'elements of a list are not')
})

test('zero values are left out where the type says so, and fields are in declared order', () => {
  const type = t.message('Outer', {
    kind: [0, t.string],
    plain: [3, t.string],
    optional: [2, t.int32.optional()],
    always: [1, t.bool.always()],
    inner: [4, only(t.string).orEmpty()],
    list: [5, t.atomic(t.int32)],
    kept: [6, t.atomic(t.int32).always()],
    bytes: [7, t.bytes.always()],
  })
  assert.deepEqual(fromProtobuf(type, hex('')), { always: false, inner: {}, kept: null, bytes: null })
  const zeros = fromProtobuf(type, hex('0800 1000 1a00 2200 2a00 3200 3a00'))
  assert.deepEqual(zeros, { optional: 0, always: false, inner: {}, kept: [], bytes: '' })
  assert.deepEqual(Object.keys(fromProtobuf(type, hex('0801 1001 1a0161 0800'))), ['plain', 'optional', 'always', 'inner', 'kept', 'bytes'])
  const given = { kind: 'Outer', plain: undefined, inner: { x: '' } }
  assert.deepEqual(fromProtobuf(type, hex('1a0161 22030a0161'), { given }), {
    kind: 'Outer',
    always: false,
    inner: { x: '' },
    kept: null,
    bytes: null,
  })
})

test('a quantity is canonical, and one that is none is refused', () => {
  const quantity = (text: string) => back(t.quantity, toProtobuf(only(only(t.string)), { x: { x: text } }).toString('hex'))
  assert.equal(quantity('1000m'), '1')
  assert.equal(quantity('1000m'), '1', 'also when it is known')
  assert.throws(() => quantity('x'), { name: 'ProtobufError', message: /quantities must match/ })
  assert.throws(() => back(t.quantity, '0a040a02a031'), { name: 'ProtobufError', message: /quantities must match/ }, 'no UTF-8')
})

test('keys of maps are plain data, whatever they are', () => {
  const read = back(t.mapOf(t.string), there(t.mapOf(t.string), JSON.parse('{"__proto__":"x","constructor":"y"}'))) as object
  assert.deepEqual(Object.entries(read), [
    ['__proto__', 'x'],
    ['constructor', 'y'],
  ])
  assert.equal(Object.getPrototypeOf(read), Object.prototype)
  assert.deepEqual(back(t.mapOf(t.int32), '0a00'), { '': 0 })
})

test('a raw value is JSON, also in an envelope that says so, and nothing else', () => {
  const inEnvelope = (raw: string, contentType: string) => {
    const json = Buffer.from(raw)
    const type = Buffer.from(contentType)
    const bytes = Buffer.concat([hex('6b387300 12'), Buffer.from([json.length]), json, hex('22'), Buffer.from([type.length]), type])
    return toProtobuf(t.message('M', { x: [1, t.message('R', { raw: [1, t.bytes] })] }), { x: { raw: bytes.toString('base64') } }).toString(
      'hex',
    )
  }
  assert.deepEqual(back(t.raw, inEnvelope('{"a":1}', 'application/json')), { a: 1 })
  assert.throws(() => back(t.raw, inEnvelope('x', 'application/vnd.kubernetes.protobuf')), /must be JSON/)
  assert.throws(() => back(t.raw, '0a030a017b'), ProtobufError)
  assert.equal(back(t.raw, '0a00'), undefined)
})

test('times are rounded as kube-apiserver does and refused where JSON has no year for them', () => {
  assert.equal(back(t.time, '0a07080110ffc1d72f'), '1970-01-01T00:00:01Z')
  assert.equal(back(t.microTime, '0a07080110ffc7ff7f'), '1970-01-01T00:00:01.268428Z')
  assert.equal(back(t.time, '0a00'), undefined)
  assert.equal(back(t.time, '0a0b088092b8c398feffffff01'), undefined, 'the zero time of Go')
  assert.equal(back(t.time, '0a021001'), undefined, 'nanoseconds are no part of it')
  assert.throws(() => back(t.time, '0a0b0880808080808080808001'), /year outside of range/)
  assert.throws(() => back(t.time, '0a0a08ffffffffffffffff7f'), /year outside of range/)
})

test('broken input is refused in the words of Go', () => {
  const cases: [string, string][] = [
    ['0a', 'unexpected EOF'],
    ['0a05 61', 'unexpected EOF'],
    ['0affffffff7f', 'unexpected EOF'],
    ['0affffffffffffffffff01', 'proto: negative length found during unmarshaling'],
    ['ffffffffffffffffffffff01', 'proto: integer overflow'],
    ['0801', 'proto: wrong wireType = 0 for field X'],
    ['00', 'proto: Only: illegal tag 0 (wire type 0)'],
    ['0c', 'proto: Only: wiretype end group for non-group'],
    ['17', 'proto: illegal wireType 7'],
    ['13', 'unexpected EOF'],
    ['11 00', 'unexpected EOF'],
    ['0a0161 12', 'unexpected EOF'],
    ['0affffffff010801', 'unexpected EOF'],
  ]
  for (const [bytes, message] of cases) assert.throws(() => back(t.string, bytes), { name: 'ProtobufError', message }, bytes)
})

test('messages that are nested without end are rejected before the stack overflows', () => {
  const fields: Record<string, t.Field> = {}
  const Deep = t.message('Deep', fields as t.Fields)
  fields['x'] = [1, Deep]
  let bytes = Buffer.alloc(0)
  for (let i = 0; i < 1000; i++) bytes = Buffer.concat([Buffer.from([0x0a, ...varint(bytes.length)]), bytes])
  assert.throws(() => fromProtobuf(Deep, bytes), /nested more than/)
  assert.doesNotThrow(() => fromProtobuf(only(t.string), Buffer.from('13'.repeat(10_000) + '14'.repeat(10_000), 'hex')))
})

test('strings are the same however often and in whatever order they are read', () => {
  const type = t.message('M', { x: [1, t.atomic(t.string)] })
  fc.assert(
    fc.property(fc.array(fc.oneof(fc.string({ maxLength: 40 }), fc.string({ maxLength: 12, unit: 'binary' }))), texts => {
      const x = [...texts, ...texts]
      assert.deepEqual(fromProtobuf(type, toProtobuf(type, { x })), texts.length === 0 ? {} : { x })
    }),
  )
})

test('more values than the limit are refused, packed ones and those in raw JSON too', () => {
  const refused = { message: /limit is 3 values/ }
  const read = (type: t.AnyType, bytes: string) => fromProtobuf(only(type), hex(bytes), { values: 3 })
  assert.deepEqual(read(t.atomic(t.int32), '080108010801'), { x: [1, 1, 1] })
  assert.throws(() => read(t.atomic(t.int32), '0801080108010801'), refused)
  assert.throws(() => read(t.atomic(t.int32), '0a0401010101'), refused)
  assert.throws(() => read(t.raw, `0a0b0a09${Buffer.from('[1,2,3,4]').toString('hex')}`), refused)
})

test('no bytes make the reader fail in any other way, and its results conform', () => {
  const type = resourceOf(ConfigMap, 'k8s.io').type
  const start = toProtobuf(type, {
    metadata: { name: 'a', labels: { a: 'b' }, creationTimestamp: '2026-01-01T00:00:00Z' },
    data: { k: 'v' },
  })
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.nat(start.length - 1), fc.nat(255))), fc.uint8Array({ maxLength: 20 }), (changes, tail) => {
      const bytes = Buffer.concat([start, tail])
      for (const [at, byte] of changes) bytes[at] = byte
      let value: Json
      try {
        value = fromProtobuf(type, bytes)
      } catch (error) {
        assert.ok(error instanceof ProtobufError, String(error))
        return
      }
      assert.deepEqual(conform(type, value).value, value)
    }),
  )
})

test('what is no envelope is refused', () => {
  assert.throws(() => openEnvelope(hex('')), { message: 'empty data' })
  assert.throws(() => openEnvelope(hex('7b7d')), {
    message: 'provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]',
  })
  assert.throws(() => openEnvelope(hex('6b387300')), { message: 'empty body' })
  assert.throws(() => openEnvelope(hex('6b3873000a05')), { message: 'unexpected EOF' })
  assert.throws(() => openEnvelope(hex('6b3873001001')), { message: 'proto: wrong wireType = 0 for field Raw' })
})

test('a watch event is framed by its length', () => {
  assert.equal(watchFrame('ADDED', hex('6b387300')).toString('hex'), '0000000f0a05414444454412060a046b387300')
})

function varint(value: number): number[] {
  return value < 128 ? [value] : [(value & 0x7f) | 0x80, ...varint(value >>> 7)]
}
