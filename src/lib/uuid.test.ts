// Texts of UUIDs: those of RFC 9562, version 4, with every random bit of the bytes.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { newUuid } from './environment.ts'
import { UUID_BYTES, uuidOf } from './uuid.ts'

const bytes16 = fc.uint8Array({ minLength: UUID_BYTES, maxLength: UUID_BYTES })

test('a UUID has all bits of its bytes but those of version and variant', () => {
  fc.assert(
    fc.property(bytes16, fc.nat(40), (bytes, offset) => {
      const text = uuidOf(Buffer.concat([Buffer.alloc(offset, 0xff), bytes]), offset)
      assert.match(text, /^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/)
      const expected = Uint8Array.from(bytes)
      expected[6] = (expected[6]! & 0x0f) | 0x40
      expected[8] = (expected[8]! & 0x3f) | 0x80
      assert.equal(text.replaceAll('-', ''), Buffer.from(expected).toString('hex'))
    }),
  )
})

test('no two new UUIDs are the same', () => {
  const count = 10_000
  assert.equal(new Set(Array.from({ length: count }, newUuid)).size, count)
})
