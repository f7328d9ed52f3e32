import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TokenBucket } from './token-bucket.ts'

test('a bucket gives its burst at once, then as many per second as it may, and saves no more than the burst', () => {
  const bucket = new TokenBucket(2, 3)
  const takes = (nowMs: number, count: number) => Array.from({ length: count }, () => bucket.take(nowMs)).filter(Boolean).length
  assert.equal(takes(0, 5), 3)
  assert.equal(takes(499, 1), 0)
  assert.equal(takes(500, 2), 1)
  assert.equal(takes(2000, 9), 3)
  assert.equal(takes(100_000, 9), 3)
  // A clock that goes back takes nothing away and gives nothing.
  assert.equal(takes(0, 1), 0)
})
