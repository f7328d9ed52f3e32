import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cells, check, contextWith } from '../../../test/kits/kinds/kinds.ts'
import { Lease } from './lease.ts'

const ctx = contextWith({ gates: ['CoordinatedLeaderElection'] })

test('times and counts make sense', () => {
  assert.deepEqual(check(Lease, { spec: { leaseDurationSeconds: 0, leaseTransitions: -1 } }), [
    'spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0',
    'spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0',
  ])
  assert.deepEqual(check(Lease, { spec: { leaseDurationSeconds: 15, leaseTransitions: 0 } }), [])
})

test('a preferred holder needs a supported strategy', () => {
  assert.deepEqual(check(Lease, { spec: { preferredHolder: 'a' } }, { ctx }), [
    'spec.preferredHolder: Forbidden: may only be specified if `strategy` is defined',
  ])
  assert.deepEqual(check(Lease, { spec: { strategy: 'Any' } }, { ctx }), [
    'spec.strategy.strategy: Unsupported value: "Any": supported values: "OldestEmulationVersion"',
  ])
  assert.deepEqual(check(Lease, { spec: { strategy: 'example.com/mine', preferredHolder: 'a' } }, { ctx }), [])
  assert.match(
    check(Lease, { spec: { strategy: 'a/b/c' } }, { ctx })[0]!,
    /^spec\.strategy\.strategy: Invalid value: "a\/b\/c": a valid label key/,
  )
})

test('without the feature, strategies are dropped', () => {
  assert.deepEqual(check(Lease, { spec: { strategy: 'Any', preferredHolder: 'a' } }), [])
})

test('its table shows the holder', () => {
  assert.deepEqual(cells(Lease, { spec: { holderIdentity: 'me' } }), { Holder: 'me', Age: '<unknown>' })
})
