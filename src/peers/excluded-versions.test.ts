import assert from 'node:assert/strict'
import { test } from 'node:test'
import { excludedAfter, GRACE_MS, isExcluded, NOTHING_EXCLUDED, nextEnd } from './excluded-versions.ts'

test('a group version stays excluded for some time after its end', () => {
  const began = excludedAfter(NOTHING_EXCLUDED, new Set(['a.io/v1', 'b.io/v1']), 1000)
  assert.ok(isExcluded(began, 'a.io', 'v1'))
  assert.ok(!isExcluded(began, 'a.io', 'v2'))
  assert.equal(nextEnd(began, 1000), undefined)
  const ended = excludedAfter(began, new Set(['b.io/v1']), 2000)
  assert.ok(isExcluded(ended, 'a.io', 'v1'))
  assert.equal(nextEnd(ended, 3000), GRACE_MS - 1000)
  const later = excludedAfter(ended, new Set(['b.io/v1']), 2000 + GRACE_MS)
  assert.ok(!isExcluded(later, 'a.io', 'v1'))
  assert.ok(isExcluded(later, 'b.io', 'v1'))
  assert.equal(nextEnd(later, 2000 + GRACE_MS), undefined)
})
