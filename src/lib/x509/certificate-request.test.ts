import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { certificateRequest, pssCertificateRequest, spkiOf } from '../../../test/kits/x509.ts'
import { readCertificateRequest } from './certificate-request.ts'
import { DerError } from './der-reader.ts'
import * as der from './der-writer.ts'

const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
const ed25519 = generateKeyPairSync('ed25519')

const problemOf = (bytes: Buffer): string | undefined => {
  try {
    return readCertificateRequest(bytes).signatureProblem()
  } catch (error) {
    assert.ok(error instanceof DerError)
    return error.message
  }
}

test('a certificate request has a key and is signed with it', () => {
  for (const [type, pair] of Object.entries({ ec, rsa, ed25519 })) {
    const request = readCertificateRequest(certificateRequest(pair))
    assert.equal(request.publicKey?.type, type)
    assert.deepEqual(request.publicKeyInfo, spkiOf(pair.publicKey))
    assert.equal(request.signatureProblem(), undefined)
  }
})

test('organizations of a subject are read in every string type', () => {
  for (const alphabet of ['utf8', 'bmp'] as const) {
    const request = readCertificateRequest(certificateRequest(ec, { organizations: ['devs', 'system:masters'], alphabet }))
    assert.deepEqual(request.organizations(), ['devs', 'system:masters'])
  }
  assert.deepEqual(readCertificateRequest(certificateRequest(ec)).organizations(), [])
})

test('a signature by another key is an error that names the algorithm', () => {
  const forged = (pair: typeof ec, other: typeof ec) => problemOf(certificateRequest(pair, { signer: other.privateKey }))
  assert.equal(forged(ec, generateKeyPairSync('ec', { namedCurve: 'P-256' })), 'x509: ECDSA verification failure')
  assert.equal(forged(ed25519, generateKeyPairSync('ed25519')), 'x509: Ed25519 verification failure')
  assert.equal(forged(rsa, generateKeyPairSync('rsa', { modulusLength: 2048 })), 'crypto/rsa: verification error')
  assert.equal(forged(ec, rsa), 'x509: signature algorithm specifies an RSA public key, but have public key of type *ecdsa.PublicKey')
})

test('RSA may sign with PSS, with a salt as long as the hash', () => {
  assert.equal(problemOf(pssCertificateRequest(rsa)), undefined)
  assert.equal(problemOf(pssCertificateRequest(rsa, { salt: 20 })), 'x509: cannot verify signature: algorithm unimplemented')
})

test('keys of unknown algorithms can be read but not checked, those of unknown curves not even read', () => {
  const unknown = generateKeyPairSync('x25519')
  const request = certificateRequest({ publicKey: unknown.publicKey, privateKey: ec.privateKey })
  assert.equal(readCertificateRequest(request).publicKey, undefined)
  assert.equal(problemOf(request), 'x509: cannot verify signature: algorithm unimplemented')
  assert.equal(problemOf(certificateRequest(generateKeyPairSync('ec', { namedCurve: 'secp256k1' }))), 'x509: unsupported elliptic curve')
})

test('invalid certificate requests have the error message of Go', () => {
  const request = certificateRequest(ec)
  assert.equal(problemOf(Buffer.alloc(0)), 'asn1: syntax error: sequence truncated')
  assert.equal(problemOf(Buffer.from([0x30])), 'asn1: syntax error: truncated tag or length')
  assert.equal(problemOf(request.subarray(0, 50)), 'asn1: syntax error: data truncated')
  assert.equal(problemOf(Buffer.concat([request, Buffer.from([0])])), 'asn1: syntax error: trailing data')
  assert.equal(problemOf(Buffer.from([0x30, 0x80])), 'asn1: syntax error: indefinite length found (not DER)')
  assert.equal(problemOf(Buffer.from([0x30, 0x81, 0x01, 0])), 'asn1: structure error: non-minimal length')
  assert.match(
    problemOf(der.utf8('x'))!,
    /^asn1: structure error: tags don't match \(16 vs \{class:0 tag:12 length:1 isCompound:false\}\) \{optional:false .*\} certificateRequest @2$/,
  )
})

test('property: any bytes are a request or a DerError', () => {
  const request = certificateRequest(ec)
  fc.assert(
    fc.property(fc.nat(request.length - 1), fc.nat(255), (at, byte) => {
      const broken = Buffer.from(request)
      broken[at] = byte
      problemOf(broken)
    }),
    { numRuns: 300 },
  )
  fc.assert(fc.property(fc.uint8Array({ maxLength: 64 }), bytes => void problemOf(Buffer.from(bytes))))
})
