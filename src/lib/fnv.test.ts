import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { fnv32a, fnv64a } from './fnv.ts'

test('the published test vectors hold', () => {
  assert.equal(fnv64a(''), 0xcbf29ce484222325n)
  assert.equal(fnv64a('a'), 0xaf63dc4c8601ec8cn)
  assert.equal(fnv64a('foobar'), 0x85944171f73967e8n)
  assert.equal(fnv32a(''), 0x811c9dc5)
  assert.equal(fnv32a('a'), 0xe40c292c)
  assert.equal(fnv32a('foobar'), 0xbf9cf968)
})

test('arithmetic on half words equals exact arithmetic', () => {
  const exact = (bytes: Uint8Array) =>
    bytes.reduce((hash, byte) => BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001b3n), 0xcbf29ce484222325n)
  fc.assert(fc.property(fc.uint8Array(), bytes => fnv64a(bytes) === exact(bytes)))
})
