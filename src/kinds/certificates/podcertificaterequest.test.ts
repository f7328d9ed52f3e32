import assert from 'node:assert/strict'
import { constants, generateKeyPairSync, type KeyPairKeyObjectResult, sign } from 'node:crypto'
import { test } from 'node:test'
import { cells, check, checkSubresource, NOW, withDefaults } from '../../../test/kits/kinds/kinds.ts'
import { type CertificateOptions, certificate, certificateRequest } from '../../../test/kits/x509.ts'
import { encodePem } from '../../lib/pem.ts'
import * as der from '../../lib/x509/der-writer.ts'
import { PodCertificateRequest } from './podcertificaterequest.ts'

const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const stubOf = (...args: Parameters<typeof certificateRequest>) => certificateRequest(...args).toString('base64')
const SPEC = {
  signerName: 'example.com/s',
  podName: 'p',
  podUID: 'p-uid',
  serviceAccountName: 'default',
  serviceAccountUID: 's-uid',
  nodeName: 'n',
  nodeUID: 'n-uid',
  stubPKCS10Request: stubOf(pair),
}
const asking = (more: object = {}) => ({ spec: { ...SPEC, ...more } })
const errors = (more: object) => check(PodCertificateRequest, asking(more))
const condition = (type: string, status = 'True') => ({
  type,
  status,
  reason: 'R',
  message: '',
  lastTransitionTime: '2026-07-01T12:00:00Z',
})
const ending = (now: object, before: object = {}) =>
  checkSubresource(PodCertificateRequest, 'status', { ...asking(), status: now }, { ...asking(), status: before })

const at = (minutes: number) => new Date(NOW.getTime() + minutes * 60_000)
const text = (moment: Date) => moment.toISOString().replace('.000', '')
const chainOf = (options: CertificateOptions = {}, keys = pair) =>
  encodePem('CERTIFICATE', certificate(keys, { notBefore: NOW, notAfter: at(120), ...options }))
const issued = (more: object = {}) => ({
  conditions: [condition('Issued')],
  certificateChain: chainOf(),
  notBefore: text(NOW),
  beginRefreshAt: text(at(60)),
  notAfter: text(at(120)),
  ...more,
})

test('an ordinary request passes and lasts a day unless it says otherwise', () => {
  assert.deepEqual(errors({}), [])
  assert.equal(withDefaults(PodCertificateRequest, asking()).spec.maxExpirationSeconds, 86400)
})

test('pod, service account and node are named, with their UIDs', () => {
  const found = errors({ podName: '', podUID: '', serviceAccountName: 'A', nodeUID: 'x'.repeat(129), signerName: '' })
  assert.equal(found[0], 'spec.signerName: Required value')
  assert.match(found[1]!, /^spec\.podName: Invalid value: "": a lowercase RFC 1123 subdomain/)
  assert.equal(found[2], 'spec.podUID: Invalid value: "": must not be empty')
  assert.match(found[3]!, /^spec\.serviceAccountName: Invalid value: "A": /)
  assert.equal(found[4], 'spec.nodeUID: Too long: may not be more than 128 bytes')
  assert.equal(found.length, 5)
})

test('certificates last from an hour to 91 days, those of Kubernetes a day', () => {
  const range = 'spec.maxExpirationSeconds: Invalid value: '
  assert.deepEqual(errors({ maxExpirationSeconds: 3599 }), [`${range}3599: must be in the range [3600, 7862400]`])
  assert.deepEqual(errors({ maxExpirationSeconds: 7862401 }), [`${range}7862401: must be in the range [3600, 7862400]`])
  assert.deepEqual(errors({ signerName: 'kubernetes.io/x', maxExpirationSeconds: 86401 }), [
    `${range}86401: must be in the range [3600, 86400]`,
  ])
})

test('annotations for the signer have keys with a domain', () => {
  assert.deepEqual(errors({ unverifiedUserAnnotations: { 'Example.com/Key': 'any value' } }), [])
  assert.deepEqual(errors({ unverifiedUserAnnotations: { plain: 'v' } }), [
    'spec.unverifiedUserAnnotations: Invalid value: "plain": must be a domain-prefixed key (such as "acme.io/foo")',
  ])
  assert.deepEqual(errors({ unverifiedUserAnnotations: { 'a.b/c': 'x'.repeat(256 * 1024) } }), [
    'spec.unverifiedUserAnnotations: Too long: may not be more than 262144 bytes',
  ])
})

test('the stub is a signed request of a strong key', () => {
  const stub = (stubPKCS10Request: string) => errors({ stubPKCS10Request }).map(e => e.replace('spec.stubPKCS10Request: ', ''))
  assert.deepEqual(stub(''), ['spec: Invalid value: exactly one of (stubPKCS10Request) or (pkixPublicKey, proofOfPossession) must be set'])
  assert.deepEqual(stub('bm9wZQ=='), ['Invalid value: must be a valid PKCS#10 CSR'])
  assert.deepEqual(stub(Buffer.alloc(10 * 1024 + 1).toString('base64')), ['Too long: may not be more than 10240 bytes'])
  assert.deepEqual(stub(stubOf(pair, { signer: generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey })), [
    'Invalid value: invalid signature',
  ])
  assert.deepEqual(stub(stubOf(generateKeyPairSync('ec', { namedCurve: 'P-224' }))), [
    'Invalid value: "curve P-224": elliptic public keys must use curve P256, P384, or P521',
  ])
  assert.deepEqual(stub(stubOf(generateKeyPairSync('rsa', { modulusLength: 2048 }))), [
    'Invalid value: "2048-bit modulus": RSA keys must have modulus size 3072 or 4096',
  ])
  assert.deepEqual(stub(stubOf({ publicKey: generateKeyPairSync('x25519').publicKey, privateKey: pair.privateKey })), [
    'Invalid value: unknown public key type; supported types are Ed25519, ECDSA, and RSA',
  ])
  assert.deepEqual(stub(stubOf(generateKeyPairSync('ed25519'))), [])
})

const infoOf = ({ publicKey }: { publicKey: KeyPairKeyObjectResult['publicKey'] }) => publicKey.export({ type: 'spki', format: 'der' })
const signatureOf = (
  { privateKey }: KeyPairKeyObjectResult,
  hash: string | null = 'sha256',
  saltLength = constants.RSA_PSS_SALTLEN_MAX_SIGN,
) => sign(hash, Buffer.from(SPEC.podUID), { key: privateKey, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength })
const plainSignatureOf = ({ privateKey }: KeyPairKeyObjectResult, hash: string | null = 'sha256') =>
  sign(hash, Buffer.from(SPEC.podUID), privateKey)
const proven = (info: Buffer, proof: Buffer) => ({
  stubPKCS10Request: null,
  pkixPublicKey: info.toString('base64'),
  proofOfPossession: proof.toString('base64'),
})

test('a key may be shown beside a signature of the UID of the pod, in the scheme of its type', () => {
  const [rsa, weak, ed] = [
    generateKeyPairSync('rsa', { modulusLength: 3072 }),
    generateKeyPairSync('rsa', { modulusLength: 2048 }),
    generateKeyPairSync('ed25519'),
  ]
  const of = (info: Buffer, proof: Buffer) =>
    errors(proven(info, proof)).map(e => e.replace(/"[\w+/]{30,}=*"/, '"…"').replace(/^spec\.pkixPublicKey: Invalid value: /, ''))
  const unproven = ['spec.proofOfPossession: Invalid value: could not verify proof-of-possession signature']
  for (const salt of [constants.RSA_PSS_SALTLEN_MAX_SIGN, constants.RSA_PSS_SALTLEN_DIGEST, 0])
    assert.deepEqual(of(infoOf(rsa), signatureOf(rsa, 'sha256', salt)), [])
  assert.deepEqual(of(infoOf(rsa), plainSignatureOf(rsa)), unproven)
  assert.deepEqual(of(infoOf(weak), signatureOf(weak)), ['"2048-bit modulus": RSA keys must have modulus size 3072 or 4096'])
  for (const namedCurve of ['P-256', 'P-384', 'P-521']) {
    const ec = generateKeyPairSync('ec', { namedCurve })
    assert.deepEqual(of(infoOf(ec), plainSignatureOf(ec)), [])
    assert.deepEqual(of(infoOf(ec), plainSignatureOf(ec, 'sha384')), unproven)
  }
  const small = generateKeyPairSync('ec', { namedCurve: 'P-224' })
  assert.deepEqual(of(infoOf(small), plainSignatureOf(small)), ['"curve P-224": elliptic public keys must use curve P256 or P384'])
  assert.deepEqual(of(infoOf(ed), plainSignatureOf(ed, null)), [])
  assert.deepEqual(of(infoOf(ed), Buffer.alloc(64)), unproven)
  const unknown = ['"…": unknown public key type; supported types are Ed25519, ECDSA, and RSA']
  assert.deepEqual(of(infoOf(generateKeyPairSync('x25519')), Buffer.alloc(64)), unknown)
  const invalid = ['"…": must be a valid PKIX-serialized public key']
  assert.deepEqual(of(infoOf(generateKeyPairSync('ed448')), Buffer.alloc(64)), invalid)
  assert.deepEqual(of(Buffer.concat([infoOf(ed), Buffer.alloc(1)]), plainSignatureOf(ed, null)), invalid)
  const long = Buffer.alloc(10 * 1024 + 1)
  assert.deepEqual(of(long, Buffer.alloc(64)), ['spec.pkixPublicKey: Too long: may not be more than 10240 bytes'])
  assert.deepEqual(of(infoOf(ed), long), ['spec.proofOfPossession: Too long: may not be more than 10240 bytes'])
})

test('a key is shown in exactly one way', () => {
  const both = ['spec: Invalid value: exactly one of (stubPKCS10Request) or (pkixPublicKey, proofOfPossession) must be set']
  const { pkixPublicKey, proofOfPossession } = proven(infoOf(pair), plainSignatureOf(pair))
  assert.deepEqual(errors({ pkixPublicKey, proofOfPossession }), both)
  assert.deepEqual(errors({ pkixPublicKey, stubPKCS10Request: null }), both)
  assert.deepEqual(errors({ proofOfPossession, stubPKCS10Request: null }), both)
  assert.deepEqual(errors({ pkixPublicKey: '', proofOfPossession: '' }), [])
})

test('a certificate for a key that was shown beside a signature is for that key', () => {
  const spec = { ...SPEC, ...proven(infoOf(pair), plainSignatureOf(pair)) }
  const ended = (certificateChain: string) =>
    checkSubresource(PodCertificateRequest, 'status', { spec, status: issued({ certificateChain }) }, { spec, status: {} })
  assert.deepEqual(ended(chainOf()), [])
  assert.match(ended(chainOf({}, generateKeyPairSync('ec', { namedCurve: 'P-256' })))[0]!, /not issued to the requested public key$/)
})

test('nothing of the spec changes', () => {
  const [error, ...more] = check(PodCertificateRequest, asking({ podName: 'q' }), { old: asking() })
  assert.match(error!, /^spec: Invalid value: \{"SignerName":"example.com\/s","PodName":"q",.*\}: field is immutable$/)
  assert.deepEqual(more, [])
  assert.deepEqual(check(PodCertificateRequest, asking(), { old: asking() }), [])
  // Bytes that are empty are as absent ones.
  assert.deepEqual(check(PodCertificateRequest, asking({ pkixPublicKey: '' }), { old: asking({ pkixPublicKey: null }) }), [])
})

test('a request ends once: issued, denied or failed', () => {
  assert.deepEqual(ending({ conditions: [condition('Denied')] }), [])
  assert.deepEqual(ending({ conditions: [condition('Failed')] }), [])
  assert.deepEqual(ending({ conditions: [condition('Own')] }), [
    'status.conditions.[0].type: Unsupported value: "Own": supported values: "Issued", "Denied", "Failed"',
  ])
  assert.deepEqual(ending({ conditions: [condition('Denied'), condition('Failed', 'False')] }), [
    'status.conditions.[1].type: Invalid value: "Failed": There may be at most one condition with type "Issued", "Denied", or "Failed"',
    'status.conditions.[1].status: Unsupported value: "False": supported values: "True"',
  ])
  assert.deepEqual(ending({ conditions: [{ ...condition('Denied'), reason: '' }] }), ['status.conditions[0].reason: Required value'])
  assert.deepEqual(ending({ conditions: [condition('Failed')] }, { conditions: [condition('Denied')] }), [
    'status: Invalid value: immutable after PodCertificateRequest is issued, denied, or failed',
  ])
  assert.deepEqual(ending({ conditions: [condition('Denied')], certificateChain: 'x' }), [
    'status: Invalid value: non-condition status fields must be empty when denying or failing the PodCertificateRequest',
  ])
  assert.deepEqual(ending({ certificateChain: 'x' }), [
    'status: Invalid value: status is immutable unless transitioning to "Issued", "Denied", or "Failed"',
  ])
  assert.deepEqual(ending({}), [])
})

test('what is issued is a chain for the key that was shown', () => {
  const chain = (certificateChain: string) =>
    ending(issued({ certificateChain })).map(e => e.replace(/^status\.certificateChain: Invalid value: ".*": /, ''))
  assert.deepEqual(ending(issued()), [])
  assert.deepEqual(chain(chainOf() + chainOf({ ca: true })), [])
  assert.deepEqual(chain(''), ['issued certificate chain must contain at least one certificate'])
  assert.deepEqual(chain(encodePem('OTHER', Buffer.from('x'))), [
    'issued certificate chain must consist entirely of CERTIFICATE PEM blocks',
  ])
  assert.deepEqual(chain(encodePem('CERTIFICATE', Buffer.from('x'))), ['leaf certificate does not parse as valid X.509'])
  assert.deepEqual(chain(chainOf({}, generateKeyPairSync('ec', { namedCurve: 'P-256' }))), [
    'leaf certificate was not issued to the requested public key',
  ])
  assert.deepEqual(chain(chainOf() + encodePem('OTHER', Buffer.from('x'))), [
    'issued certificate chain must consist entirely of CERTFICATE PEM blocks',
  ])
  assert.deepEqual(chain(chainOf() + encodePem('CERTIFICATE', Buffer.from('x'))), [
    'intermediate certificate does not parse as valid X.509',
  ])
  assert.deepEqual(chain('x'.repeat(100 * 1024 + 1)), ['status.certificateChain: Too long: may not be more than 102400 bytes'])
})

test('names in what is issued are not dangerous ones', () => {
  const names = ['', 'a..b', '.a', 'fine.example.com'].map(n => der.implicit(2, Buffer.from(n)))
  const emails = ['j@example.com', 'nobody'].map(n => der.implicit(1, Buffer.from(n)))
  const wrong = 'status.certificateChain: Invalid value: '
  assert.deepEqual(ending(issued({ certificateChain: chainOf({ names: [...names, ...emails] }) })), [
    `${wrong}"": leaf certificate should not contain empty DNSName`,
    `${wrong}"a..b": leaf certificate's DNSName should not contain '..'`,
    `${wrong}".a": leaf certificate's DNSName should not start or end with '.'`,
    `${wrong}"nobody": leaf certificate should not contain invalid EmailAddress`,
  ])
})

test('times are set, match the certificate, and leave time for the refresh', () => {
  const { notBefore: _, notAfter: __, beginRefreshAt: ___, ...timeless } = issued()
  const present = 'Required value: must be present and'
  assert.deepEqual(ending(timeless), [
    `status.notBefore: ${present} consistent with the issued certificate`,
    `status.notAfter: ${present} consistent with the issued certificate`,
    `status.beginRefreshAt: ${present} in the range [notbefore+10min, notafter-10min]`,
  ])
  const refused = (more: object, message: RegExp) => {
    const found = ending(issued(more))
    assert.equal(found.length, 1)
    assert.match(found[0]!, message)
  }
  refused(
    { notBefore: text(at(1)) },
    /^status\.notBefore: Invalid value: "2026-07-01T12:01:00Z": must be set to the NotBefore time encoded/,
  )
  refused({ notAfter: text(at(1)) }, /^status\.notAfter: .*: must be set to the NotAfter time encoded in the leaf certificate$/)
  refused(
    { certificateChain: chainOf({ notBefore: at(-5) }), notBefore: text(at(-5)) },
    /^status\.notBefore: .*: must be set to within 5 minutes of kube-apiserver's current time$/,
  )
  refused(
    { certificateChain: chainOf({ notAfter: at(59) }), notAfter: text(at(59)) },
    /^status\.certificateChain: Invalid value: 3540000000000: leaf certificate lifetime must be >= 1 hour$/,
  )
  refused(
    { certificateChain: chainOf({ notAfter: at(1441) }), notAfter: text(at(1441)) },
    /lifetime must be <= spec\.maxExpirationSeconds \(86400\)$/,
  )
  refused({ beginRefreshAt: text(at(9)) }, /^status\.beginRefreshAt: .*: must be at least 10 minutes after status\.notBefore$/)
  refused({ beginRefreshAt: text(at(111)) }, /^status\.beginRefreshAt: .*: must be at least 10 minutes before status\.notAfter$/)
})

test('a row shows for whom and how far it is', () => {
  assert.deepEqual(cells(PodCertificateRequest, asking({ unverifiedUserAnnotations: { 'a.b/c': 'd' } })), {
    PodName: 'p',
    ServiceAccountName: 'default',
    NodeName: 'n',
    SignerName: 'example.com/s',
    State: 'Pending',
    UnverifiedUserAnnotations: 'a.b/c=d',
  })
  assert.equal(cells(PodCertificateRequest, { ...asking(), status: { conditions: [condition('Denied')] } })['State'], 'Denied')
})
