import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { fnv64a } from '../lib/fnv.ts'
import { parseShardSelector } from './shard-selector.ts'

const LOW = '0x0000000000000000'
const HALF = '0x8000000000000000'
const TOP = '0x10000000000000000'
const range = (start: string, end: string, field = 'object.metadata.uid') => `shardRange(${field}, '${start}', '${end}')`

test('a selector is printed in canonical form', () => {
  const { text, field } = parseShardSelector(`  shardRange( object.metadata.uid,"${LOW}",'${HALF}')||(${range(HALF, TOP)})`)
  assert.equal(text, `${range(LOW, HALF)} || ${range(HALF, TOP)}`)
  assert.equal(field, 'object.metadata.uid')
  assert.equal(parseShardSelector(text).text, text)
  assert.equal(parseShardSelector(range(LOW, HALF, 'object.metadata.namespace')).field, 'object.metadata.namespace')
})

const refused: readonly (readonly [selector: string, message: string | RegExp])[] = [
  ['  ', 'empty shard selector is not allowed; omit the parameter for unfiltered lists'],
  [range('0000000000000000', HALF), `hexStart must have '0x' prefix, got "0000000000000000"`],
  [range(LOW, '8000000000000000'), `hexEnd must have '0x' prefix, got "8000000000000000"`],
  [range('0x', HALF), "hexStart: hex value is required after '0x'"],
  [range('0x0', HALF), `hexStart must be a 0x-prefixed 16-digit hex value, got "0x0" (did you mean "0x0000000000000000"?)`],
  [range(LOW, '0x100000000000000000'), 'hexEnd: hex value too long (18 chars, max 17): "100000000000000000"'],
  [range(LOW, '0x20000000000000000'), `hexEnd: 17-digit hex value must be '0x10000000000000000' (2^64), got "0x20000000000000000"`],
  [range(LOW, '0xg000000000000000'), 'hexEnd: invalid hex character "g" in "0xg000000000000000"'],
  [range(LOW, '0xF000000000000000'), 'hexEnd: invalid hex character "F" in "0xF000000000000000"'],
  [range(HALF, HALF), `shard range start ${HALF} must be less than end ${HALF}`],
  [range(TOP, HALF), `shard range start ${TOP} must be less than end ${HALF}`],
  [range(LOW, HALF, 'metadata.uid'), 'unsupported field path "metadata.uid"; supported: object.metadata.uid, object.metadata.namespace'],
  [range(LOW, HALF, "'uid'"), 'shardRange() first argument: expected field path (e.g. object.metadata.uid), got expression kind 5'],
  ['shardRange(object.metadata.uid, 0, 1)', 'hexStart must be a string literal, got int64'],
  ['shardRange(object.metadata.uid, -1, 1)', 'hexStart must be a string literal, got int64'],
  ['shardRange(object.metadata.uid, a, b)', "hexStart must be a string literal (e.g. '0xff'), got expression kind 3"],
  ['shardRange(object.metadata.uid)', 'shardRange() requires exactly 3 arguments, got 1'],
  [`hashRange(object.metadata.uid, '${LOW}', '${HALF}')`, 'unsupported function "hashRange"; only shardRange() and || are allowed'],
  [`${range(LOW, HALF)} && ${range(HALF, TOP)}`, 'unsupported function "_&&_"; only shardRange() and || are allowed'],
  ["object.metadata.uid == 'a'", 'unsupported function "_==_"; only shardRange() and || are allowed'],
  ['object.metadata.uid', 'unexpected expression kind 7; expected shardRange() call or || operator'],
  ['true', 'unexpected expression kind 5; expected shardRange() call or || operator'],
  [
    `${range(LOW, HALF)} || ${range(HALF, TOP, 'object.metadata.namespace')}`,
    'all shard ranges must use the same field, got "object.metadata.uid" and "object.metadata.namespace"',
  ],
  ['shardRange(', /^CEL parse error: Syntax error: /],
  [`${range(LOW, HALF)} ||`, /^CEL parse error: Syntax error: /],
  ['@', "CEL parse error: Syntax error: token recognition error at: '@'"],
  ['('.repeat(60_000), /^CEL parse error: expression recursion limit exceeded/],
]

test('what makes no sense is refused with what and where', () => {
  for (const [selector, message] of refused) assert.throws(() => parseShardSelector(selector), { name: 'Error', message }, selector)
})

test('deep and long selectors are read or refused, never a failure of the reader', () => {
  assert.throws(() => parseShardSelector(range(LOW, HALF, `object${'.a'.repeat(30_000)}`)), /unsupported field path/)
  assert.throws(() => parseShardSelector(`${'!'.repeat(30_000)}a`), /unsupported function "!_"/)
  const many = Array.from({ length: 2000 }, () => range(LOW, HALF)).join(' || ')
  assert.equal(parseShardSelector(many).text, many)
})

test('the bounds of all hashes hold every value, also the empty one', () => {
  fc.assert(fc.property(fc.string(), value => parseShardSelector(range(LOW, TOP)).has(value)))
})

const hex = (n: bigint) => (n === 1n << 64n ? TOP : `0x${n.toString(16).padStart(16, '0')}`)

test('the parts of any division of the hashes hold each value once, whatever ranges a part is made of', () => {
  const cuts = fc.uniqueArray(fc.bigInt({ min: 1n, max: (1n << 64n) - 1n }), { minLength: 1, maxLength: 12 })
  fc.assert(
    fc.property(cuts, fc.integer({ min: 1, max: 4 }), fc.array(fc.uuid()), (points, shards, uids) => {
      const edges = [0n, ...points.sort((a, b) => (a < b ? -1 : 1)), 1n << 64n]
      const ranges = Array.from({ length: shards }, () => [] as string[])
      for (let i = 0; i + 1 < edges.length; i++) ranges[i % shards]!.push(range(hex(edges[i]!), hex(edges[i + 1]!)))
      const parts = ranges.filter(r => r.length > 0).map(r => parseShardSelector(r.reverse().join(' || ')))
      for (const uid of uids) assert.equal(parts.filter(part => part.has(uid)).length, 1)
    }),
  )
})

test('a range begins with its first bound and ends before its second, also where ranges overlap', () => {
  const hash = fnv64a('some-uid')
  assert.equal(parseShardSelector(range(hex(hash), hex(hash + 1n))).has('some-uid'), true)
  assert.equal(parseShardSelector(range(LOW, hex(hash))).has('some-uid'), false)
  assert.equal(parseShardSelector(range(hex(hash + 1n), TOP)).has('some-uid'), false)
  assert.equal(parseShardSelector(`${range(LOW, TOP)} || ${range(LOW, hex(hash))}`).has('some-uid'), true)
})
