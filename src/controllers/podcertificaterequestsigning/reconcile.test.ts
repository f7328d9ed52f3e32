import assert from 'node:assert/strict'
import { generateKeyPairSync, X509Certificate } from 'node:crypto'
import { test } from 'node:test'
import { authorityOf } from '../../lib/x509/authority.ts'
import { stubRequest } from '../../lib/x509/certificate-request.ts'
import { ATTRIBUTE } from '../../lib/x509/distinguished-name.ts'
import { issueAuthority } from '../../lib/x509/issue.ts'
import { decidedStatus, isWaiting, type PodRequest, type PodSigningParts } from './reconcile.ts'

const now = Date.parse('2026-07-01T12:00:00.700Z')
const DAY_MS = 24 * 3600_000
const pair = generateKeyPairSync('ed25519')
const authority = authorityOf(issueAuthority('test', { notBefore: new Date(now - 1000), notAfter: new Date(now + 1000 * DAY_MS) }))
const request = (spec: object = {}, status: object = {}) =>
  ({
    metadata: { namespace: 'ns', name: 'r' },
    spec: {
      signerName: 'kubernetes.io/kube-apiserver-client-pod',
      podName: 'p',
      podUID: 'pu',
      serviceAccountName: 'robot',
      serviceAccountUID: 'su',
      nodeName: 'n',
      nodeUID: 'nu',
      maxExpirationSeconds: 3600,
      stubPKCS10Request: stubRequest(pair).toString('base64'),
      ...spec,
    },
    status,
  }) as unknown as PodRequest
const parts = {
  authority,
  pod: { metadata: { uid: 'pu' }, spec: { nodeName: 'n', serviceAccountName: 'robot' } },
  account: { metadata: { uid: 'su' } },
  now,
} as unknown as PodSigningParts
const decide = (spec: object = {}, more: object = {}) => decidedStatus(request(spec), { ...parts, ...more })
const reason = (spec: object, more: object = {}) => {
  const { conditions, ...rest } = decide(spec, more)
  assert.deepEqual(rest, {})
  assert.deepEqual([conditions!.length, conditions![0]!.type, conditions![0]!.status], [1, 'Denied', 'True'])
  return `${conditions![0]!.reason}: ${conditions![0]!.message}`
}

test('the certificate is that of the service account of the pod, for a client and for as long as is asked for', () => {
  const { conditions, certificateChain, ...times } = decide()
  assert.deepEqual([conditions!.length, conditions![0]!.type, conditions![0]!.status], [1, 'Issued', 'True'])
  assert.deepEqual(times, { notBefore: '2026-07-01T11:58:00Z', beginRefreshAt: '2026-07-01T12:38:00Z', notAfter: '2026-07-01T12:58:00Z' })
  const cert = new X509Certificate(certificateChain!)
  assert.equal(
    cert.subject,
    `O=system:serviceaccounts + O=system:serviceaccounts:ns\nOU=system:pod:p:pu\nCN=system:serviceaccount:ns:robot\n${ATTRIBUTE.userUid}=su`,
  )
  assert.deepEqual(cert.keyUsage, ['1.3.6.1.5.5.7.3.2'])
  assert.ok(cert.publicKey.equals(pair.publicKey))
  assert.equal(Date.parse(cert.validTo), Date.parse(times.notAfter!))
})

test('it lasts a day at most, and not longer than the authority', () => {
  const hours = (spec: object, more: object = {}) => {
    const { notBefore, notAfter } = decide(spec, more)
    return (Date.parse(notAfter!) - Date.parse(notBefore!)) / 3600_000
  }
  assert.equal(hours({ maxExpirationSeconds: 91 * 86400 }), 24)
  assert.equal(hours({ maxExpirationSeconds: 86400 }), 24)
  const ending = { authority: { ...authority, notAfter: new Date('2026-07-01T13:58:00Z') } }
  assert.equal(hours({ maxExpirationSeconds: 86400 }, ending), 2)
  const soon = { authority: { ...authority, notAfter: new Date('2026-07-01T12:30:00Z') } }
  assert.throws(() => decide({}, soon), /ends too soon/)
})

test('a request that is not true is denied', () => {
  assert.equal(reason({}, { pod: undefined }), 'InvalidPod: The pod does not exist')
  assert.equal(reason({ podUID: 'other' }), 'InvalidPod: The pod does not exist')
  assert.equal(reason({ nodeName: 'other' }), 'InvalidPod: The pod does not run on the node')
  assert.equal(reason({ serviceAccountName: 'admin' }), 'InvalidPod: The pod does not run as the service account')
  assert.equal(reason({ serviceAccountUID: 'other' }), 'InvalidPod: The service account does not exist')
  assert.match(reason({ unverifiedUserAnnotations: { 'example.com/x': 'y' } }), /^InvalidUnverifiedUserAnnotations: .* example\.com\/x$/)
})

test('requests to other signers, and decided ones, are ignored', () => {
  assert.ok(isWaiting(request()))
  assert.ok(!isWaiting(request({ signerName: 'example.com/mine' })))
  assert.ok(!isWaiting(request({}, { conditions: [{ type: 'Denied', status: 'True' }] })))
})
