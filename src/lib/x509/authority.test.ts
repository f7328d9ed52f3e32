import assert from 'node:assert/strict'
import { generateKeyPairSync, type KeyObject, X509Certificate } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { certificate, certificateRequest, extension, type KeyPair } from '../../../test/kits/x509.ts'
import { encodePem } from '../pem.ts'
import { authorityOf, certify } from './authority.ts'
import { readCertificate } from './certificate.ts'
import { readCertificateRequest } from './certificate-request.ts'
import { DerError, readWhole, TAG } from './der-reader.ts'
import * as der from './der-writer.ts'
import { ATTRIBUTE, readName, requestedName, writeName } from './distinguished-name.ts'
import { keyUsage } from './write-certificate.ts'

const KEYS: Readonly<Record<string, KeyPair>> = {
  'P-256': generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  'P-384': generateKeyPairSync('ec', { namedCurve: 'P-384' }),
  'P-521': generateKeyPairSync('ec', { namedCurve: 'P-521' }),
  rsa: generateKeyPairSync('rsa', { modulusLength: 2048 }),
  ed25519: generateKeyPairSync('ed25519'),
}
const pemOf = (key: KeyObject) => key.export({ type: 'pkcs8', format: 'pem' }).toString()
const authorityWith = (pair: KeyPair) =>
  authorityOf({ cert: encodePem('CERTIFICATE', certificate(pair, { ca: true })), key: pemOf(pair.privateKey) })
const validity = { notBefore: new Date('2026-07-01T12:00:00Z'), notAfter: new Date('2026-07-02T12:00:00Z') }
const usual = { subject: new Map([[ATTRIBUTE.commonName, ['jane']]]), keyUsages: ['digitalSignature'] as const, purposes: [], validity }

test('authorities with keys of every type certify keys of every type', () => {
  for (const [type, own] of Object.entries(KEYS))
    for (const [certified, pair] of Object.entries(KEYS)) {
      const authority = authorityWith(own)
      const { publicKeyInfo } = readCertificateRequest(certificateRequest(pair))
      const issued = new X509Certificate(certify(authority, { ...usual, publicKeyInfo }))
      assert.ok(issued.verify(own.publicKey), `${type} for ${certified}`)
      assert.ok(issued.checkIssued(new X509Certificate(authority.cert)))
      assert.ok(issued.publicKey.equals(pair.publicKey))
      assert.equal(issued.ca, false)
    }
})

test('a certificate has the subject, names, usages and times that were asked for', () => {
  const pair = KEYS['P-256']!
  const names = {
    dnsNames: ['a.example.com'],
    emailAddresses: ['j@example.com'],
    addresses: [Buffer.from([10, 1, 2, 3]), Buffer.from('00000000000000000000ffff0a010203', 'hex'), Buffer.alloc(16, 1)],
    uris: ['spiffe://example.com/x'],
  }
  const request = readCertificateRequest(certificateRequest(pair, { commonName: 'jöe', organizations: ['ops', 'dev'], names }))
  const pem = certify(authorityWith(pair), {
    ...usual,
    subject: requestedName(request.subject),
    names: request.names,
    publicKeyInfo: request.publicKeyInfo,
    purposes: ['1.3.6.1.5.5.7.3.2'],
  })
  const issued = new X509Certificate(pem)
  // The values of an attribute are one set, in the order of their bytes.
  assert.equal(issued.subject, 'O=dev + O=ops\nCN=jöe')
  assert.equal(
    issued.subjectAltName,
    'DNS:a.example.com, email:j@example.com, IP Address:10.1.2.3, IP Address:10.1.2.3, IP Address:101:101:101:101:101:101:101:101, URI:spiffe://example.com/x',
  )
  assert.deepEqual(issued.keyUsage, ['1.3.6.1.5.5.7.3.2'])
  const { notBefore, notAfter } = readCertificate(issued.raw)
  assert.deepEqual({ notBefore, notAfter }, validity)
})

test('the key of the issuer is named as its own certificate names it', () => {
  const pair = KEYS['P-256']!
  assert.equal(authorityWith(pair).keyId, undefined)
  const { publicKeyInfo } = readCertificateRequest(certificateRequest(pair))
  const anonymous = certify({ ...authorityWith(pair), keyId: undefined }, { ...usual, publicKeyInfo })
  const named = certify({ ...authorityWith(pair), keyId: Buffer.from('abcd', 'hex') }, { ...usual, publicKeyInfo })
  const shows = (pem: string) => new X509Certificate(pem).raw.includes(Buffer.from('8002abcd', 'hex'))
  assert.deepEqual([shows(anonymous), shows(named)], [false, true])
})

test('of a subject, a signer takes over what Go knows, and no uid', () => {
  const name = new Map([
    [ATTRIBUTE.userUid, ['root']],
    [ATTRIBUTE.commonName, ['first', 'last']],
    ['1.2.3.4', ['x']],
    [ATTRIBUTE.organization, ['b', 'a']],
    [ATTRIBUTE.country, ['CH']],
    [ATTRIBUTE.serialNumber, ['']],
  ])
  assert.deepEqual(
    [...requestedName(name)],
    [
      [ATTRIBUTE.country, ['CH']],
      [ATTRIBUTE.organization, ['b', 'a']],
      [ATTRIBUTE.commonName, ['last']],
    ],
  )
})

test('property: a name is read as it was written', () => {
  const values = fc.uniqueArray(fc.string({ unit: 'grapheme', maxLength: 20 }), { minLength: 1, maxLength: 3 })
  fc.assert(
    fc.property(values, values, (organizations, names) => {
      const name = new Map([
        [ATTRIBUTE.organization, organizations],
        [ATTRIBUTE.commonName, names],
      ])
      const read = readName(readWhole(writeName(name), TAG.sequence, 'name'))
      for (const [id, written] of name) assert.deepEqual([...read.get(id)!].sort(), [...written].sort())
    }),
  )
})

test('usages of keys are bits, and those at the end that are not set are left out', () => {
  assert.equal(keyUsage('digitalSignature').toString('hex'), '03020780')
  assert.equal(keyUsage('digitalSignature', 'keyEncipherment').toString('hex'), '030205a0')
  assert.equal(keyUsage('digitalSignature', 'certSign', 'crlSign').toString('hex'), '03020186')
  assert.equal(keyUsage('decipherOnly').toString('hex'), '0303070080')
})

test('names that a request asks for are checked as Go checks them', () => {
  const pair = KEYS['P-256']!
  const problemOf = (...extensions: Buffer[]) => {
    try {
      readCertificateRequest(certificateRequest(pair, { extensions }))
      return undefined
    } catch (error) {
      assert.ok(error instanceof DerError)
      return error.message
    }
  }
  const named = (...names: Buffer[]) => extension('2.5.29.17', der.sequence(...names))
  assert.equal(problemOf(named(der.implicit(7, Buffer.from([1, 2, 3])))), 'x509: cannot parse IP address of length 3')
  assert.equal(problemOf(named(der.implicit(2, Buffer.from('é', 'utf8')))), 'x509: SAN dNSName is malformed')
  assert.equal(problemOf(named(der.implicit(1, Buffer.from('é', 'utf8')))), 'x509: SAN rfc822Name is malformed')
  assert.equal(problemOf(named(der.implicit(6, Buffer.from('http://a..b/')))), 'x509: cannot parse URI "http://a..b/": invalid domain')
  assert.equal(problemOf(extension('2.5.29.17', Buffer.from([1]))), 'x509: invalid subject alternative names')
  const one = named(der.implicit(2, Buffer.from('a')))
  assert.equal(problemOf(one, one), 'x509: certificate request contains duplicate requested extensions')
  assert.equal(problemOf(one, extension('1.2.3', Buffer.alloc(0))), undefined)
})
