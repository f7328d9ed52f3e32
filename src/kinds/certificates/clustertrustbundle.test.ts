import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import { cells, check } from '../../../test/kits/kinds/kinds.ts'
import { certificate } from '../../../test/kits/x509.ts'
import { encodePem } from '../../lib/pem.ts'
import { ClusterTrustBundle } from './clustertrustbundle.ts'

const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const authority = (notAfter: string) => encodePem('CERTIFICATE', certificate(pair, { ca: true, notAfter: new Date(notAfter) }))
const [A, B] = [authority('2030-01-01T00:00:00Z'), authority('2031-01-01T00:00:00Z')]
const LEAF = encodePem('CERTIFICATE', certificate(pair))

const bundle = (trustBundle: string, signerName = '', name = 'x') => ({ metadata: { name }, spec: { trustBundle, signerName } })
const errors = (text: string) =>
  check(ClusterTrustBundle, bundle(text)).map(e => e.replace('spec.trustBundle: Invalid value: "<value omitted>": ', ''))

test('a bundle holds authorities, with any text between them', () => {
  assert.deepEqual(errors(`one\n${A}two\n${B}three`), [])
  assert.deepEqual(errors(''), ['at least one trust anchor must be provided'])
  assert.deepEqual(errors('garbage'), ['at least one trust anchor must be provided'])
  assert.deepEqual(errors(A + LEAF), ['entry 1 does not have the CA bit set'])
})

test('every invalid block is reported, duplicates only if all are valid', () => {
  const headed = A.replace('-----\n', '-----\nname: value\n\n')
  const nonsense = encodePem('CERTIFICATE', Buffer.from('nonsense'))
  const doubled = encodePem('CERTIFICATE', Buffer.concat([certificate(pair, { ca: true }), certificate(pair, { ca: true })]))
  assert.deepEqual(errors(headed + encodePem('PRIVATE KEY', Buffer.from('x')) + nonsense + doubled + A + A), [
    'entry 0 has PEM block headers',
    'entry 1 has bad block type: PRIVATE KEY',
    'entry 2 does not parse as X.509',
    'entry 3 does not parse as X.509',
  ])
  assert.deepEqual(errors(A + B + A + A), ['duplicate trust anchor (indices [0 2 3])'])
})

test('a bundle has a size limit', () => {
  assert.deepEqual(errors(A + ' '.repeat(1024 * 1024)), ['spec.trustBundle: Too long: may not be more than 1048576 bytes'])
})

test('the name begins with the signer, and only with it', () => {
  const named = (name: string, signer: string) => check(ClusterTrustBundle, bundle(A, signer, name))
  assert.deepEqual(named('example.com:s:one', 'example.com/s'), [])
  assert.deepEqual(named('one', 'example.com/s'), [
    'metadata.name: Invalid value: "one": ClusterTrustBundle for signerName example.com/s must be named with prefix example.com:s:',
  ])
  assert.deepEqual(named('example.com:s:one', ''), [
    'metadata.name: Invalid value: "example.com:s:one": ClusterTrustBundle without signer name must not have ":" in its name',
  ])
  assert.match(
    named('example.com:s:One', 'example.com/s')[0]!,
    /^metadata\.name: Invalid value: "example.com:s:One": a lowercase RFC 1123 subdomain/,
  )
  assert.deepEqual(
    check(ClusterTrustBundle, {
      ...bundle(A, 'example.com/s', 'example.com:s:a'),
      metadata: { generateName: 'example.com:s:a-', name: 'example.com:s:a-1' },
    }),
    [],
  )
  assert.equal(named('short:x', 'short').length, 1)
})

test('the signer cannot change, and an unchanged bundle is not parsed again', () => {
  const old = { ...bundle('unreadable'), metadata: { name: 'x', resourceVersion: '1' } }
  assert.deepEqual(check(ClusterTrustBundle, bundle('unreadable'), { old }), [])
  assert.deepEqual(check(ClusterTrustBundle, bundle('unreadable', 'a.b/c', 'x'), { old }), [
    'metadata.name: Invalid value: "x": ClusterTrustBundle for signerName a.b/c must be named with prefix a.b:c:',
    'spec.signerName: Invalid value: "a.b/c": field is immutable',
  ])
})

test('a row shows the signer', () => {
  assert.deepEqual(cells(ClusterTrustBundle, bundle(A)), { SignerName: '<none>' })
  assert.deepEqual(cells(ClusterTrustBundle, bundle(A, 'a.b/c')), { SignerName: 'a.b/c' })
})
