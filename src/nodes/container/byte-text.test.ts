import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { bytesOfText, textOfBytes } from './byte-text.ts'

test('bytes survive as text, and text is what it was', () => {
  const character = fc.oneof(
    fc.string({ unit: 'grapheme', maxLength: 3 }).map(text => Buffer.from(text)),
    fc.uint8Array({ maxLength: 4 }),
  )
  fc.assert(
    fc.property(fc.array(character), parts => {
      const bytes = Buffer.concat(parts)
      assert.deepEqual(bytesOfText(textOfBytes(bytes)), bytes)
    }),
  )
  for (const text of ['', 'plain', 'naïve 😀 text\0', '\ufffd']) assert.equal(textOfBytes(Buffer.from(text)), text)
  assert.equal(textOfBytes(Buffer.from([0x61, 0xff, 0x62])), 'a\udcffb')
})
