import assert from 'node:assert/strict'
import { test } from 'node:test'
import { warningHeaders } from './warning.ts'

test('texts are quoted, repeated ones sent once, empty ones not at all', () => {
  assert.deepEqual(warningHeaders(['a "b" \\c', 'x', 'x', '']), ['299 - "a \\"b\\" \\\\c"', '299 - "x"'])
})

test('a text with control characters is left out, and cannot end its header', () => {
  assert.deepEqual(warningHeaders(['a\r\nset-cookie: x\0', 'b']), ['299 - "b"'])
})

test('text beyond ASCII is sent as the bytes of UTF-8', () => {
  assert.equal(Buffer.from(warningHeaders(['größe ✓'])[0]!, 'latin1').toString(), '299 - "größe ✓"')
})

test('many long warnings are cut, and then left out', () => {
  const headers = warningHeaders(Array.from({ length: 100 }, (_, i) => `${i} ${'x'.repeat(1000)}`))
  assert.equal(headers.length, 16)
  assert.ok(headers.every(h => h.length === '299 - ""'.length + 256))
})

test('of more warnings than there is room for, the same are sent as of just enough', () => {
  const many = Array.from({ length: 20_000 }, (_, i) => `w${i}`)
  assert.deepEqual(warningHeaders(many), warningHeaders(many.slice(0, 4100)))
})
