import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Credential, credentialProblem, nextCredential, type PodRequest } from './credential.ts'

const now = Date.parse('2026-07-01T12:00:00Z')
const MINUTE_MS = 60_000
const request = (type?: string, reason = 'R') =>
  ({
    metadata: { namespace: 'ns', name: 'req-1' },
    status: {
      conditions: type ? [{ type, status: 'True', reason, message: 'why' }] : [],
      ...(type === 'Issued' && { beginRefreshAt: '2026-07-01T12:40:00Z', notAfter: '2026-07-01T13:00:00Z' }),
    },
  }) as unknown as PodRequest
const step = (credential: Credential | undefined, found?: PodRequest, at = now) =>
  nextCredential(credential, { request: found, now: at, jitterMs: 2 * MINUTE_MS })
const HELD = { refreshAt: now + 42 * MINUTE_MS, notAfter: now + 60 * MINUTE_MS }
const REQUESTED: Credential = { state: 'requested', request: 'req-1' }

test('a certificate is requested, and the volume waits for it', () => {
  assert.deepEqual(step(undefined), { credential: undefined, isDue: true, events: [], nextAt: Infinity })
  assert.deepEqual(step(REQUESTED, request()), { credential: REQUESTED, isDue: false, events: [], nextAt: Infinity })
  for (const waiting of [undefined, REQUESTED]) assert.equal(credentialProblem(waiting), 'credential bundle is not issued yet')
})

test('a certificate is kept until some time after the signer wants it renewed', () => {
  const { credential, nextAt } = step(REQUESTED, request('Issued'))
  assert.deepEqual([credential, nextAt], [{ state: 'issued', held: HELD }, HELD.refreshAt])
  assert.equal(credentialProblem(credential), undefined)
  assert.equal(step(credential, undefined, HELD.refreshAt - 1).isDue, false)
  assert.equal(step(credential, undefined, HELD.refreshAt).isDue, true)
})

test('while a renewal is pending the previous certificate is used, with events when it is overdue and when it has expired', () => {
  const renewing: Credential = { state: 'requested', request: 'req-2', held: HELD }
  assert.equal(credentialProblem(renewing), undefined)
  const early = step(renewing, request(), HELD.refreshAt + 1)
  assert.deepEqual([early.events, early.nextAt], [[], HELD.refreshAt + 10 * MINUTE_MS + 1])
  const late = step(early.credential, request(), HELD.refreshAt + 11 * MINUTE_MS)
  assert.deepEqual(late.events, [{ type: 'Warning', reason: 'CertificateOverdueForRefresh', message: 'PodCertificate refresh overdue' }])
  assert.equal(late.nextAt, HELD.notAfter + 1)
  const over = step(late.credential, request(), HELD.notAfter + 1)
  assert.deepEqual(over.events, [{ type: 'Warning', reason: 'CertificateExpired', message: 'PodCertificate expired' }])
  assert.deepEqual(step(over.credential, request(), HELD.notAfter + 2).events, [])
  assert.deepEqual(step(over.credential, request('Issued')).credential, { state: 'issued', held: HELD })
})

test('what is denied or fails stays so, and the volume says it', () => {
  const denied = step(REQUESTED, request('Denied', 'NoSuchPod'))
  assert.deepEqual(denied.events, [
    { type: 'Warning', reason: 'Denied', message: 'PodCertificateRequest ns/req-1 was denied, reason="NoSuchPod", message="why"' },
  ])
  assert.equal(credentialProblem(denied.credential), 'PodCertificateRequest was permanently denied: reason="NoSuchPod" message="why"')
  assert.deepEqual(step(denied.credential), { credential: denied.credential, isDue: false, events: [], nextAt: Infinity })
  const failed = step({ ...REQUESTED, held: HELD } as Credential, request('Failed'))
  assert.deepEqual(failed.events[0]!.message, 'PodCertificateRequest ns/req-1 failed, reason="R", message="why"')
  assert.equal(credentialProblem(failed.credential), 'PodCertificateRequest was permanently failed: reason="R" message="why"')
})

test('a deleted request is created again, and the previous certificate is used meanwhile', () => {
  assert.deepEqual(step(REQUESTED), { credential: undefined, isDue: true, events: [], nextAt: Infinity })
  assert.deepEqual(step({ ...REQUESTED, held: HELD } as Credential).credential, { state: 'issued', held: HELD })
})
