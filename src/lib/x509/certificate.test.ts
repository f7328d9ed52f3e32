import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { certificate, spkiOf } from '../../../test/kits/x509.ts'
import { readCertificate, readCertificates } from './certificate.ts'
import { DerError } from './der-reader.ts'
import * as der from './der-writer.ts'

const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const malformed = (error: unknown) => error instanceof DerError && error.message === 'x509: malformed certificate'

test('validity, key and names are read', () => {
  const [notBefore, notAfter] = [new Date('2026-07-01T12:00:00Z'), new Date('2126-07-01T12:00:00Z')]
  const names = [
    der.implicit(2, Buffer.from('a.example.com')),
    der.implicit(1, Buffer.from('j@example.com')),
    der.implicit(2, Buffer.from('')),
  ]
  const read = readCertificate(certificate(pair, { notBefore, notAfter, names }))
  assert.deepEqual({ notBefore: read.notBefore, notAfter: read.notAfter }, { notBefore, notAfter })
  assert.deepEqual(read.publicKeyInfo, spkiOf(pair.publicKey))
  assert.deepEqual([read.isAuthority, read.subjectKeyId], [false, undefined])
  assert.deepEqual([read.dnsNames, read.emailAddresses], [['a.example.com', ''], ['j@example.com']])
})

test('only the CA bit makes a certificate authority', () => {
  const isAuthority = (ca?: boolean) => readCertificate(certificate(pair, ca === undefined ? {} : { ca })).isAuthority
  assert.deepEqual([isAuthority(true), isAuthority(false), isAuthority()], [true, false, false])
})

test('certificates may follow one another, where several are wanted', () => {
  const two = Buffer.concat([certificate(pair), certificate(pair, { ca: true })])
  assert.deepEqual(
    readCertificates(two).map(c => c.isAuthority),
    [false, true],
  )
  assert.deepEqual(readCertificates(Buffer.alloc(0)), [])
  assert.throws(() => readCertificate(two), /x509: trailing data/)
})

test('property: any bytes are a certificate or a DerError', () => {
  const good = certificate(pair, { ca: true })
  for (const bad of [Buffer.alloc(0), Buffer.from('-----BEGIN'), good.subarray(1), good.subarray(0, -1)])
    assert.throws(() => readCertificate(bad), malformed)
  fc.assert(
    fc.property(fc.nat(good.length - 1), fc.nat(255), (at, byte) => {
      const broken = Buffer.from(good)
      broken[at] = byte
      try {
        readCertificate(broken)
      } catch (error) {
        assert.ok(error instanceof DerError)
      }
    }),
    { numRuns: 300 },
  )
})
