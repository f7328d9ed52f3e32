// Steps of an election, and the choice among candidates.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { microTimestampOf } from '../../lib/time.ts'
import { type Candidate, isGone, nextStep } from './reconcile.ts'

const NOW = Date.parse('2026-01-01T00:00:00Z')
const at = (seconds: number) => microTimestampOf(NOW + seconds * 1000)
const candidate = (name: string, spec: Partial<Candidate['spec']> = {}, created = 0): Candidate => ({
  metadata: { name, creationTimestamp: at(created) },
  spec: { binaryVersion: '1.37.0', emulationVersion: '1.36.0', strategy: 'OldestEmulationVersion', renewTime: at(0), ...spec },
})
const step = (candidates: Candidate[], lease?: object) => nextStep({ candidates, lease, now: NOW })
const elected = (...candidates: Candidate[]) => step(candidates)

test('the oldest emulated version wins, then the oldest version, then the first', () => {
  const elects = (holder: string) => ({ type: 'elect', strategy: 'OldestEmulationVersion', holder })
  assert.deepEqual(elected(candidate('a'), candidate('b', { emulationVersion: '1.35.2' })), elects('b'))
  assert.deepEqual(elected(candidate('a'), candidate('b', { binaryVersion: '1.36.1' })), elects('b'))
  assert.deepEqual(elected(candidate('a', {}, -1), candidate('b', {}, -2)), elects('b'))
})

test('candidates are asked first, have five seconds to answer, and are passed over without an answer', () => {
  const quiet = { renewTime: at(-60) }
  assert.deepEqual(step([candidate('a', quiet), candidate('b')]), { type: 'ping', candidates: [candidate('a', quiet)] })
  const asked = { ...quiet, pingTime: at(-2) }
  assert.deepEqual(step([candidate('a', asked), candidate('b')]), { type: 'look again' })
  const late = { ...quiet, pingTime: at(-6), emulationVersion: '1.34.0' }
  assert.deepEqual(step([candidate('a', late), candidate('b')]), { type: 'elect', strategy: 'OldestEmulationVersion', holder: 'b' })
  assert.deepEqual(step([candidate('a', late)]), { type: 'nothing' })
})

test('a leader stays while it renews and no candidate is better', () => {
  const lease = { holderIdentity: 'a', renewTime: at(-1), leaseDurationSeconds: 5 }
  assert.deepEqual(step([candidate('a')], lease), { type: 'look again' })
  assert.equal(step([candidate('a'), candidate('b', { emulationVersion: '1.35.0' })], lease).type, 'elect')
  assert.equal(step([candidate('b')], { ...lease, renewTime: at(-6) }).type, 'elect')
  assert.equal(step([candidate('b')], { ...lease, holderIdentity: '' }).type, 'elect')
})

test('the newest version decides about the strategy, and strategies of others are left to them', () => {
  const strategy = 'example.com/other'
  assert.deepEqual(elected(candidate('a'), candidate('b', { binaryVersion: '1.38.0', strategy })), {
    type: 'elect',
    strategy,
    holder: undefined,
  })
  assert.deepEqual(elected(candidate('a'), candidate('b', { strategy })), {
    type: 'disagreement',
    message: `candidates "a", "b" at same binary version but received differing strategies OldestEmulationVersion, ${strategy}`,
  })
})

test('a candidate is gone half an hour after its last answer', () => {
  assert.equal(isGone(candidate('a', { renewTime: at(-1799) }), NOW), false)
  assert.equal(isGone(candidate('a', { renewTime: at(-1801) }), NOW), true)
})
