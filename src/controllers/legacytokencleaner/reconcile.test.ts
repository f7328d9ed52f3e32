import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Secret } from '../../kinds/core/secret.ts'
import type { ServiceAccount } from '../../kinds/core/serviceaccount.ts'
import { decide, INVALID_SINCE, isTrackedLongEnough, LAST_USED, TOKEN_TYPE } from './reconcile.ts'

const NOW = Date.parse('2028-01-01T12:00:00Z')
type Metadata = { labels?: Record<string, string>; creationTimestamp?: string; deletionTimestamp?: string; uid?: string }

const decided = ({ uid = 'u', ...more }: Metadata = {}, { type = TOKEN_TYPE, lists = true, mounted = false } = {}) => {
  const annotations = { 'kubernetes.io/service-account.name': 'a', 'kubernetes.io/service-account.uid': uid }
  const metadata = { name: 't', namespace: 'n', creationTimestamp: '2025-01-01T00:00:00Z', annotations, ...more }
  const account = { metadata: { name: 'a', uid: 'u' }, secrets: lists ? [{ name: 't' }] : [] } as unknown as ServiceAccount
  const state = { now: NOW, account: (name: string) => (name === 'a' ? account : undefined), isMounted: () => mounted }
  return decide({ type, metadata } as unknown as Secret, state)
}

test('a generated token that nobody has used for a year becomes invalid, and is deleted a year later', () => {
  assert.equal(decided(), 'invalidate')
  assert.equal(decided({ labels: { [LAST_USED]: '2026-12-31' } }), 'invalidate')
  assert.equal(decided({ labels: { [LAST_USED]: '2027-01-01' } }), 'keep')
  assert.equal(decided({ labels: { [INVALID_SINCE]: '2027-06-01' } }), 'keep')
  assert.equal(decided({ labels: { [INVALID_SINCE]: '2026-12-31' } }), 'delete')
  assert.equal(decided({ labels: { [INVALID_SINCE]: 'soon' } }), 'invalidate')
})

test('other tokens are kept: new, deleted, mounted, made by hand, of another account, with an unreadable date', () => {
  assert.equal(decided({ creationTimestamp: '2027-06-01T00:00:00Z' }), 'keep')
  assert.equal(decided({ deletionTimestamp: '2027-12-01T00:00:00Z' }), 'keep')
  assert.equal(decided({}, { mounted: true }), 'keep')
  assert.equal(decided({}, { lists: false }), 'keep')
  assert.equal(decided({}, { type: 'Opaque' }), 'keep')
  assert.equal(decided({ uid: 'other' }), 'keep')
  assert.equal(decided({ labels: { [LAST_USED]: 'never' } }), 'keep')
})

test('nothing is decided before uses have been recorded for a year and a day', () => {
  assert.equal(isTrackedLongEnough('2026-12-31', NOW), true)
  assert.equal(isTrackedLongEnough('2027-01-01', NOW), false)
  assert.equal(isTrackedLongEnough(undefined, NOW), false)
  assert.equal(isTrackedLongEnough('yesterday', NOW), false)
})
