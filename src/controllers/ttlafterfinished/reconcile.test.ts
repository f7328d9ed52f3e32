import assert from 'node:assert/strict'
import { test } from 'node:test'
import { remainingLife } from './reconcile.ts'

const END = '2026-07-01T12:00:00Z'
const now = Date.parse(END)
const job = (type: string, ttlSecondsAfterFinished?: number, metadata: object = {}) =>
  ({ metadata, spec: { ttlSecondsAfterFinished }, status: { conditions: [{ type, status: 'True', lastTransitionTime: END }] } }) as never

test('a job that is over is deleted after the time that it says', () => {
  assert.equal(remainingLife(job('Complete', 3), now + 1000), 2000)
  assert.equal(remainingLife(job('Failed', 3), now + 5000), 0)
  assert.equal(remainingLife(job('Complete', 0), now), 0)
})

test('other jobs stay', () => {
  assert.equal(remainingLife(job('Complete'), now), undefined)
  assert.equal(remainingLife(job('Suspended', 0), now), undefined)
  assert.equal(remainingLife(job('Complete', 0, { deletionTimestamp: END }), now), undefined)
})
