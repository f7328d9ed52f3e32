import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Slabs } from './slabs.ts'

test('small buffers share memory and never overlap, large ones have their own', () => {
  const { allocate } = new Slabs()
  const sizes = Array.from({ length: 300 }, (_, i) => (i * 97) % 4096)
  const small = sizes.map((bytes, i) => allocate(bytes).fill(i % 256))
  for (const [i, buffer] of small.entries()) {
    assert.equal(buffer.byteLength, sizes[i])
    assert.ok(buffer.every(byte => byte === i % 256))
  }
  const slabs = new Set(small.map(({ buffer }) => buffer))
  assert.ok(slabs.size < 15, `${slabs.size} slabs for ${sizes.reduce((sum, bytes) => sum + bytes, 0)} bytes`)
  const large = allocate(5000)
  assert.equal(large.buffer.byteLength, 5000)
})
