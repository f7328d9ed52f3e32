import assert from 'node:assert/strict'
import test from 'node:test'
import { nextSpec } from './leader-election.ts'

const at = (second: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, second))

test('a lease says who has it since when, until when, and how often that has changed', () => {
  const first = nextSpec(undefined, { holder: 'a', leaseMs: 5_500, now: at(0) })
  assert.deepEqual(first, {
    holderIdentity: 'a',
    leaseDurationSeconds: 6,
    acquireTime: '2026-01-01T00:00:00.000000Z',
    renewTime: '2026-01-01T00:00:00.000000Z',
    leaseTransitions: 0,
  })
  const renewed = nextSpec(first, { holder: 'a', leaseMs: 5_500, now: at(2) })
  assert.deepEqual(renewed, { ...first, renewTime: '2026-01-01T00:00:02.000000Z' })
  const taken = nextSpec(renewed, { holder: 'b', leaseMs: 5_500, now: at(9) })
  const time = '2026-01-01T00:00:09.000000Z'
  assert.deepEqual(taken, { ...first, holderIdentity: 'b', acquireTime: time, renewTime: time, leaseTransitions: 1 })
})

test('a released lease is acquired as from another holder', () => {
  const released = { holderIdentity: '', leaseDurationSeconds: 1, leaseTransitions: 3, strategy: 'kept' }
  const { leaseTransitions, holderIdentity, strategy } = nextSpec(released, { holder: 'a', leaseMs: 1_000, now: at(0) })
  assert.deepEqual([leaseTransitions, holderIdentity, strategy], [4, 'a', 'kept'])
})
