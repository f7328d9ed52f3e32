import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { encodeHeaders, HeaderReader } from './hpack.ts'

const read = (...bytes: (number | string)[]) =>
  new HeaderReader().read(Buffer.concat(bytes.map(part => (typeof part === 'string' ? Buffer.from(part, 'latin1') : Buffer.from([part])))))

test('headers are read as they were written', () => {
  const name = fc.stringMatching(/^[a-z][a-z-]{0,200}$/)
  const value = fc.stringMatching(/^[ -~]{0,300}$/)
  fc.assert(
    fc.property(fc.uniqueArray(fc.tuple(name, value), { selector: ([name]) => name }), headers => {
      assert.deepEqual([...new HeaderReader().read(encodeHeaders(headers))], headers)
    }),
  )
})

test('the same block is read alike again', () => {
  const reader = new HeaderReader()
  const block = encodeHeaders([['grpc-status', '0']])
  assert.equal(reader.read(block), reader.read(Buffer.from(block)))
})

test('statuses of the static table, other entries of it, and tables of no size', () => {
  assert.deepEqual([...read(0x88)], [[':status', '200']])
  assert.deepEqual([...read(0x8e)], [[':status', '500']])
  assert.deepEqual([...read(0x20, 0x48, 3, '503', 0x5f, 16, 'application/grpc')], [[':status', '503']])
})

test('what is no header block is refused', () => {
  for (const bytes of [
    [0x80],
    [0xff, 0x00],
    [0x3f, 0x01],
    [0x40, 5, 'ab'],
    [0x00],
    [0x7f],
    [0x08, 0x81, 0x00],
    [0x08, 0x84, 0xff, 0xff, 0xff, 0xff],
  ])
    assert.throws(() => read(...bytes), RangeError, `${bytes}`)
})

test('arbitrary bytes are read or refused', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 100 }), bytes => {
      try {
        new HeaderReader().read(Buffer.from(bytes))
      } catch (error) {
        assert.ok(error instanceof RangeError, `${error}`)
      }
    }),
  )
})
