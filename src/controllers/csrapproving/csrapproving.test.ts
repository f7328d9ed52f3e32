import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import { encodedRequest, type RequestOptions } from '../../../test/kits/x509.ts'
import type { SigningRequest } from '../csrsigning/signers.ts'
import { approvedStatus, recognitionsOf } from './reconcile.ts'

const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const NODE: RequestOptions = { commonName: 'system:node:n', organizations: ['system:nodes'] }
const request = (spec: object = {}, status: object = {}, options: RequestOptions = NODE) =>
  ({
    metadata: { name: 'r' },
    spec: {
      request: encodedRequest(pair, options),
      signerName: 'kubernetes.io/kube-apiserver-client-kubelet',
      usages: ['digital signature', 'client auth'],
      username: 'system:bootstrap:abcdef',
      ...spec,
    },
    status,
  }) as unknown as SigningRequest
const rights = (asked: SigningRequest) => recognitionsOf(asked).map(({ subresource }) => subresource)

test('a kubelet may have a certificate by the right to ask for nodes, or for itself', () => {
  assert.deepEqual(rights(request()), ['nodeclient'])
  assert.deepEqual(rights(request({ username: 'system:node:n' })), ['selfnodeclient', 'nodeclient'])
})

test('nothing else is approved without being asked', () => {
  assert.deepEqual(rights(request({ signerName: 'kubernetes.io/kube-apiserver-client' })), [])
  assert.deepEqual(rights(request({ signerName: 'kubernetes.io/kubelet-serving', usages: ['digital signature', 'server auth'] })), [])
  assert.deepEqual(rights(request({ usages: ['client auth'] })), [])
  assert.deepEqual(rights(request({}, {}, { ...NODE, organizations: [] })), [])
  assert.deepEqual(rights(request({}, { conditions: [{ type: 'Denied', status: 'True' }] })), [])
  assert.deepEqual(rights(request({}, { conditions: [{ type: 'Approved', status: 'True' }] })), [])
})

test('the approval says why', () => {
  const [recognition] = recognitionsOf(request())
  assert.deepEqual(approvedStatus(request(), recognition!.message).conditions, [
    {
      type: 'Approved',
      status: 'True',
      reason: 'AutoApproved',
      message: 'Auto approving kubelet client certificate after SubjectAccessReview.',
    },
  ])
})
