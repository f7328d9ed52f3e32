import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import { certificate } from '../../../test/kits/x509.ts'
import { encodePem } from '../../lib/pem.ts'
import type { SigningRequest } from '../csrsigning/signers.ts'
import { remainingLife } from './reconcile.ts'

const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const MADE = '2026-07-01T12:00:00Z'
const now = Date.parse(MADE)
const MINUTE_MS = 60_000
const pem = (notAfter: Date) => Buffer.from(encodePem('CERTIFICATE', certificate(pair, { notAfter }))).toString('base64')
const minutes = (status: object, after = 0) => {
  const request = { metadata: { creationTimestamp: MADE }, status } as unknown as SigningRequest
  const ms = remainingLife(request, now + after * MINUTE_MS)
  return ms === undefined ? undefined : ms / MINUTE_MS
}
const having = (type: string, lastUpdateTime: string | undefined = MADE) => ({ type, status: 'True', lastUpdateTime })

test('pending requests and approved ones that are not issued are kept for a day', () => {
  assert.equal(minutes({}), 24 * 60)
  assert.equal(minutes({}, 25 * 60), 0)
  assert.equal(minutes({ conditions: [having('Approved')] }, 60), 23 * 60)
})

test('those that were issued or denied, or have failed, are kept for an hour', () => {
  assert.equal(minutes({ conditions: [having('Approved')], certificate: pem(new Date('2027-01-01')) }), 60)
  assert.equal(minutes({ conditions: [having('Denied')] }, 20), 40)
  assert.equal(minutes({ conditions: [having('Approved'), having('Failed')] }, 59), 1)
  assert.equal(minutes({ conditions: [having('Denied')] }, 61), 0)
})

test('an issued request is deleted when its certificate has expired', () => {
  assert.equal(minutes({ conditions: [having('Approved')], certificate: pem(new Date(now + 10 * MINUTE_MS)) }), 10)
  assert.equal(minutes({ conditions: [having('Approved')], certificate: Buffer.from('x').toString('base64') }), 60)
})

test('conditions of others, and those without a time, keep it', () => {
  assert.equal(minutes({ conditions: [having('Own')] }), undefined)
  assert.equal(minutes({ conditions: [{ type: 'Denied', status: 'True' }] }), undefined)
})
