import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { integer, oid } from './der-writer.ts'
import { issueAuthority, issueClient, issueServer } from './issue.ts'

const validity = { notBefore: new Date('2026-01-01T00:00:00Z'), notAfter: new Date('2060-01-01T00:00:00Z') }
const authority = issueAuthority('Größe & Söhne', validity)
const ca = new X509Certificate(authority.cert)
const read = (pair: { cert: string }) => new X509Certificate(pair.cert)

test('a certificate authority is self-signed and may sign certificates', () => {
  assert.equal(ca.ca, true)
  assert.equal(ca.subject, 'CN=Größe & Söhne')
  assert.ok(ca.checkIssued(ca) && ca.verify(ca.publicKey))
  assert.equal(Date.parse(ca.validTo), validity.notAfter.getTime(), 'dates after 2049 have another form')
})

test('a server has its names and addresses', () => {
  const names = ['localhost', 'kubernetes.default.svc', '127.0.0.1', '::1', 'fe80::1:2', '::ffff:10.1.2.3', '2001:db8:1:2:3:4:5:6']
  const server = read(issueServer(authority, 'server', { names, ...validity }))
  assert.ok(server.checkIssued(ca) && server.verify(ca.publicKey))
  assert.equal(server.ca, false)
  assert.equal(server.checkHost('kubernetes.default.svc'), 'kubernetes.default.svc')
  assert.equal(server.checkHost('elsewhere'), undefined)
  for (const address of ['127.0.0.1', '::1', 'fe80::1:2', '::ffff:a01:203', '2001:db8:1:2:3:4:5:6'])
    assert.equal(server.checkIP(address), address)
})

test('a client has a name and groups', () => {
  const client = read(issueClient(authority, { commonName: 'jane', organizations: ['system:masters', 'devs'] }, validity))
  assert.ok(client.checkIssued(ca) && client.verify(ca.publicKey))
  assert.equal(client.subject, 'O=system:masters\nO=devs\nCN=jane')
  assert.deepEqual(client.keyUsage, ['1.3.6.1.5.5.7.3.2'])
})

test('no two serial numbers are the same, and keys fit their certificates', () => {
  const pairs = Array.from({ length: 20 }, () => issueClient(authority, { commonName: 'x' }, validity))
  assert.equal(new Set(pairs.map(p => read(p).serialNumber)).size, 20)
})

test('integers keep their value and stay positive', () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 1, maxLength: 20 }), bytes => {
      const content = integer(bytes).subarray(2)
      assert.ok((content[0]! & 0x80) === 0)
      assert.equal(BigInt(`0x${content.toString('hex')}`), BigInt(`0x${Buffer.from(bytes).toString('hex')}`))
    }),
  )
})

test('object identifiers are written in base 128', () => {
  assert.equal(oid('1.2.840.10045.4.3.2').toString('hex'), '06082a8648ce3d040302')
})
