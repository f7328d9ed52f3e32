import assert from 'node:assert/strict'
import { test } from 'node:test'
import { issueAuthority } from '../../lib/x509/issue.ts'
import { combinedTrust, type Trust } from './authentication-trust.ts'

const NOW = new Date('2026-07-01T12:00:00Z')
const authority = (name: string, until: string) =>
  issueAuthority(name, { notBefore: new Date('2026-01-01T00:00:00Z'), notAfter: new Date(until) }).cert
const [ours, theirs, former] = [
  authority('a', '2027-01-01T00:00:00Z'),
  authority('b', '2027-01-01T00:00:00Z'),
  authority('c', '2026-07-01T11:00:00Z'),
]
const trust = (more: Partial<Trust> = {}): Trust => ({ clientCa: ours, proxyCa: '', proxies: {}, ...more })
const certificates = (text = '') => text.match(/BEGIN CERTIFICATE/g)?.length ?? 0

test('authorities of several servers add up, each once, without those that have expired', () => {
  const alone = combinedTrust({}, trust(), { now: NOW })
  assert.deepEqual(Object.keys(alone), ['client-ca-file'])
  assert.equal(certificates(alone['client-ca-file']), 1)
  assert.deepEqual(combinedTrust(alone, trust(), { now: NOW }), alone)
  const all = combinedTrust({ 'client-ca-file': theirs + former + ours }, trust({ clientCa: ours + ours }), { now: NOW })
  assert.equal(certificates(all['client-ca-file']), 2)
  assert.ok(all['client-ca-file']!.startsWith(theirs.trim()))
  assert.deepEqual(combinedTrust({}, trust({ clientCa: '' }), { now: NOW }), {})
})

test('proxies are published where there is an authority for them, with all names that any server accepts', () => {
  const proxies = {
    'requestheader-username-headers': ['X-Remote-User'],
    'requestheader-uid-headers': [],
    'requestheader-allowed-names': [],
  }
  assert.deepEqual(Object.keys(combinedTrust({}, trust({ proxies }), { now: NOW })), ['client-ca-file'])
  const first = combinedTrust({}, trust({ clientCa: '', proxyCa: theirs, proxies }), { now: NOW })
  assert.deepEqual(first, {
    'requestheader-client-ca-file': first['requestheader-client-ca-file']!,
    'requestheader-username-headers': '["X-Remote-User"]',
    'requestheader-allowed-names': '[]',
  })
  const stored = {
    ...first,
    'requestheader-username-headers': '["X-User","X-Remote-User"]',
    'requestheader-uid-headers': '["X-Remote-Uid"]',
  }
  const second = combinedTrust(stored, trust({ proxies }), { now: NOW })
  assert.equal(second['requestheader-username-headers'], '["X-User","X-Remote-User"]')
  assert.equal(second['requestheader-uid-headers'], '["X-Remote-Uid"]')
  assert.throws(() => combinedTrust({ ...first, 'requestheader-allowed-names': '[' }, trust({ proxies }), { now: NOW }))
})
