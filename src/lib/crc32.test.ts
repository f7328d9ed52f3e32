import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { crc32, tableCrc32 } from './crc32.ts'

test('the sum is that of zlib', () => {
  const bytes = new TextEncoder().encode('123456789')
  assert.equal(crc32(bytes), 0xcbf43926)
  assert.equal(tableCrc32(bytes), 0xcbf43926)
})

test('native and plain sums agree, in one piece or two, empty or not', () => {
  fc.assert(
    fc.property(fc.uint8Array(), fc.uint8Array(), (a, b) => {
      const whole = crc32(Buffer.concat([a, b]))
      assert.equal(crc32(b, crc32(a)), whole)
      assert.equal(tableCrc32(b, tableCrc32(a)), whole)
    }),
  )
})
