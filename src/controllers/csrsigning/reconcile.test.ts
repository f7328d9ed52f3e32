import assert from 'node:assert/strict'
import { generateKeyPairSync, X509Certificate } from 'node:crypto'
import { test } from 'node:test'
import { encodedRequest, type RequestOptions } from '../../../test/kits/x509.ts'
import { authorityOf } from '../../lib/x509/authority.ts'
import { readCertificate } from '../../lib/x509/certificate.ts'
import { issueAuthority } from '../../lib/x509/issue.ts'
import { lifetime, signedStatus } from './reconcile.ts'
import { SIGNERS, type SigningRequest } from './signers.ts'
import { usagesOf } from './usages.ts'

const now = Date.parse('2026-07-01T12:00:00Z')
const YEAR_MS = 365 * 24 * 3600_000
const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const authority = authorityOf(issueAuthority('test', { notBefore: new Date(now - 1000), notAfter: new Date(now + 10 * YEAR_MS) }))
const APPROVED = { type: 'Approved', status: 'True', reason: 'r', message: 'm' }
const CLIENT = ['digital signature', 'key encipherment', 'client auth']
const SERVING = ['digital signature', 'key encipherment', 'server auth']
const NODE: RequestOptions = { commonName: 'system:node:n', organizations: ['system:nodes'] }
const ADDRESS: RequestOptions = { ...NODE, names: { addresses: [Buffer.from([10, 0, 0, 1])] } }

const request = (signerName: string, usages: readonly string[], options: RequestOptions = {}, more: object = {}) =>
  ({
    metadata: { name: 'r' },
    spec: { request: encodedRequest(pair, options), signerName, usages, ...more },
    status: { conditions: [APPROVED] },
  }) as unknown as SigningRequest
const sign = (asked: SigningRequest, parts: object = {}) =>
  signedStatus(asked, { authorityFor: () => authority, durationMs: YEAR_MS, now, ...parts })
const issued = (asked: SigningRequest, parts: object = {}) => {
  const status = sign(asked, parts)
  assert.ok(status?.certificate, JSON.stringify(status?.conditions))
  return new X509Certificate(Buffer.from(status.certificate, 'base64'))
}
const failure = (signerName: string, usages: readonly string[], options: RequestOptions = {}) => {
  const status = sign(request(signerName, usages, options))!
  assert.equal(status.certificate, undefined)
  const [approved, failed] = status.conditions!
  assert.equal(approved, APPROVED)
  assert.deepEqual([failed!.type, failed!.status, failed!.reason], ['Failed', 'True', 'SignerValidationFailure'])
  assert.equal(failed!.lastUpdateTime, '2026-07-01T12:00:00Z')
  return failed!.message
}

test('requests that are not approved, or denied, failed, issued or of other signers, are ignored', () => {
  const good = request(SIGNERS.client, CLIENT)
  const having = (...conditions: object[]) => ({ ...good, status: { conditions } }) as unknown as SigningRequest
  assert.ok(sign(good))
  assert.equal(sign(having()), undefined)
  assert.equal(sign(having({ type: 'Denied', status: 'True' })), undefined)
  assert.equal(sign(having(APPROVED, { type: 'Failed', status: 'True' })), undefined)
  assert.equal(sign({ ...good, status: { conditions: [APPROVED], certificate: 'eA==' } } as never), undefined)
  assert.equal(sign(request('example.com/mine', CLIENT)), undefined)
  assert.equal(sign(request('kubernetes.io/other', CLIENT)), undefined)
  assert.equal(sign(good, { authorityFor: () => undefined }), undefined)
})

test('clients of the API server are certified for that and nothing else', () => {
  const cert = issued(request(SIGNERS.client, CLIENT, { commonName: 'jane', organizations: ['dev'] }))
  assert.equal(cert.subject, 'O=dev\nCN=jane')
  assert.deepEqual(cert.keyUsage, ['1.3.6.1.5.5.7.3.2'])
  assert.ok(cert.publicKey.equals(pair.publicKey))
  assert.equal(failure(SIGNERS.client, ['digital signature']), 'missing required usage for client certificate: client auth')
  assert.equal(failure(SIGNERS.client, ['client auth', 'server auth']), 'invalid usage for client certificate: server auth')
})

test('kubelets are certified as clients if they are nodes and have no other names', () => {
  const { kubeletClient } = SIGNERS
  assert.deepEqual(issued(request(kubeletClient, CLIENT, NODE)).keyUsage, ['1.3.6.1.5.5.7.3.2'])
  assert.ok(issued(request(kubeletClient, ['client auth', 'digital signature'], NODE)))
  const mismatch = 'usages did not match [client auth digital signature key encipherment]'
  assert.equal(failure(kubeletClient, ['client auth'], NODE), mismatch)
  assert.equal(failure(kubeletClient, SERVING, NODE), mismatch)
  assert.equal(failure(kubeletClient, CLIENT), 'subject organization is not system:nodes')
  const two = { ...NODE, organizations: ['system:nodes', 'system:masters'] }
  assert.equal(failure(kubeletClient, CLIENT, two), 'subject organization is not system:nodes')
  assert.equal(failure(kubeletClient, CLIENT, { ...NODE, commonName: 'n' }), 'subject common name does not begin with system:node:')
  const named = (names: object) => failure(kubeletClient, CLIENT, { ...NODE, names })
  assert.equal(named({ dnsNames: ['a'] }), 'DNS subjectAltNames are not allowed')
  assert.equal(named({ emailAddresses: ['a@b'] }), 'Email subjectAltNames are not allowed')
  assert.equal(named({ addresses: [Buffer.alloc(4)] }), 'IP subjectAltNames are not allowed')
  assert.equal(named({ uris: ['a:b'] }), 'URI subjectAltNames are not allowed')
})

test('kubelets are certified as servers if they are nodes with a name or address', () => {
  const { kubeletServing } = SIGNERS
  const cert = issued(request(kubeletServing, SERVING, ADDRESS))
  assert.deepEqual(cert.keyUsage, ['1.3.6.1.5.5.7.3.1'])
  assert.equal(cert.subjectAltName, 'IP Address:10.0.0.1')
  assert.equal(failure(kubeletServing, SERVING, NODE), 'DNS or IP subjectAltName is required')
  assert.equal(failure(kubeletServing, CLIENT, ADDRESS), 'usages did not match [digital signature key encipherment server auth]')
  assert.equal(failure(kubeletServing, SERVING, { ...ADDRESS, commonName: 'x' }), 'subject common name does not begin with system:node:')
  const named = (names: object) => failure(kubeletServing, SERVING, { ...ADDRESS, names: { ...ADDRESS.names, ...names } })
  assert.equal(named({ emailAddresses: ['a@b'] }), 'Email subjectAltNames are not allowed')
  assert.equal(named({ uris: ['a:b'] }), 'URI subjectAltNames are not allowed')
})

test('the signer of old requests certifies whatever they ask for, but no authorities', () => {
  const cert = issued(request(SIGNERS.legacy, ['cert sign', 'any', 'server auth', 'client auth'], ADDRESS))
  assert.deepEqual(cert.keyUsage, ['2.5.29.37.0', '1.3.6.1.5.5.7.3.1', '1.3.6.1.5.5.7.3.2'])
  assert.equal(cert.ca, false)
})

test('certificates last as long as is asked for, ten minutes at least, and never longer than the signer or its authority allows', () => {
  assert.equal(lifetime(undefined, YEAR_MS), YEAR_MS)
  assert.equal(lifetime(3600, YEAR_MS), 3600_000)
  assert.equal(lifetime(2_000_000_000, YEAR_MS), YEAR_MS)
  assert.equal(lifetime(1, YEAR_MS), 600_000)
  const times = (expirationSeconds: number | undefined, parts: object = {}) => {
    const { notBefore, notAfter } = readCertificate(issued(request(SIGNERS.client, CLIENT, {}, { expirationSeconds }), parts).raw)
    return [notBefore.getTime() - now, notAfter.getTime() - now].map(ms => ms / 60_000)
  }
  assert.deepEqual(times(3600), [-5, 60])
  assert.deepEqual(times(8 * 3600), [-5, 8 * 60 - 5])
  assert.deepEqual(times(undefined), [-5, 365 * 24 * 60 - 5])
  assert.deepEqual(times(undefined, { durationMs: 3600_000 }), [-5, 60])
  const ending = (ms: number) => ({ authorityFor: () => ({ ...authority, notAfter: new Date(now + ms) }) })
  assert.deepEqual(times(3600, ending(60_000)), [-5, 1])
  assert.throws(() => sign(request(SIGNERS.client, CLIENT), ending(-1)), /refusing to sign a certificate that expired in the past/)
})

test('usages have their counterparts in certificates, in the order of Go', () => {
  assert.deepEqual(usagesOf(['client auth', 'signing', 'digital signature', 's/mime', 'email protection', 'any']), {
    keyUsages: ['digitalSignature'],
    purposes: ['2.5.29.37.0', '1.3.6.1.5.5.7.3.2', '1.3.6.1.5.5.7.3.4'],
  })
})
