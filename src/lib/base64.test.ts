import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { canonicalBase64, decodeBase64, encodeBase64 } from './base64.ts'

test('bytes are decoded, also with line breaks inside', () => {
  fc.assert(
    fc.property(fc.uint8Array(), fc.nat(), (bytes, at) => {
      const text = encodeBase64(bytes)
      assert.deepEqual(new Uint8Array(decodeBase64(text)), bytes)
      const i = at % (text.length + 1)
      assert.deepEqual(new Uint8Array(decodeBase64(`${text.slice(0, i)}\r\n${text.slice(i)}`)), bytes)
    }),
  )
})

test('invalid base64 is rejected with the position that Go reports', () => {
  const cases: [string, number][] = [
    ['!', 0],
    ['a', 0],
    ['aaaaa', 4],
    ['aaa', 0],
    ['=', 0],
    ['a=', 1],
    ['aa=', 3],
    ['aa=a', 2],
    ['aaa=a', 4],
    ['aa==a', 4],
    ['aa===', 4],
    ['aaa-', 3],
    ['aa_a', 2],
    ['aa aa', 2],
    ['aaaaé', 4],
    ['aaa=\n=', 5],
  ]
  for (const [text, byte] of cases)
    assert.throws(() => decodeBase64(text), { name: 'Base64Error', message: `illegal base64 data at input byte ${byte}` }, text)
})

test('canonical base64 is on one line and has zero padding bits', () => {
  assert.equal(canonicalBase64('aGVs\nbG8='), 'aGVsbG8=')
  assert.equal(canonicalBase64('aGVsbG9='), 'aGVsbG8=')
  assert.equal(canonicalBase64(''), '')
})

test('the canonical text is that of the bytes, whatever bits are left over and wherever lines break', () => {
  const texts = fc.stringMatching(/^[A-Za-z0-9+/]{0,9}={0,2}[\r\n]?$/)
  fc.assert(
    fc.property(texts, text => {
      let bytes: Uint8Array
      try {
        bytes = decodeBase64(text)
      } catch {
        assert.throws(() => canonicalBase64(text))
        return
      }
      assert.equal(canonicalBase64(text), encodeBase64(bytes))
    }),
    { numRuns: 2000 },
  )
})
