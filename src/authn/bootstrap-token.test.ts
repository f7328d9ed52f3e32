import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { BootstrapTokens } from './bootstrap-token.ts'

const NOW = Date.parse('2026-07-01T12:00:00Z')
const TOKEN = 'abcdef.0123456789abcdef'
const DATA = { 'token-id': 'abcdef', 'token-secret': '0123456789abcdef', 'usage-bootstrap-authentication': 'true' }

function userOf(data: Record<string, string> = {}, { token = TOKEN, secret = {}, wanted = ['api'] } = {}) {
  const encoded = Object.entries({ ...DATA, ...data }).map(([key, value]) => [key, Buffer.from(value).toString('base64')])
  const stored: any = { metadata: {}, type: 'bootstrap.kubernetes.io/token', data: Object.fromEntries(encoded), ...secret }
  const find = (namespace: string, name: string) => (`${namespace}/${name}` === 'kube-system/bootstrap-token-abcdef' ? stored : undefined)
  const found = new BootstrapTokens({ find, audiences: ['api'], now: () => NOW }).authenticate(token, wanted)
  return found.outcome === 'user' ? `${found.user.name} ${found.user.groups.join(' ')}` : found.outcome
}

test('a bootstrap token authenticates as its own user, with its extra groups', () => {
  assert.equal(userOf(), 'system:bootstrap:abcdef system:bootstrappers')
  const groups = 'system:bootstrappers:kubeadm:default-node-token,system:bootstrappers:a'
  assert.equal(
    userOf({ 'auth-extra-groups': groups }),
    'system:bootstrap:abcdef system:bootstrappers system:bootstrappers:a system:bootstrappers:kubeadm:default-node-token',
  )
})

test('a token without usage for authentication, expired, or with invalid groups is rejected', () => {
  assert.equal(userOf({ 'usage-bootstrap-authentication': 'false' }), 'none')
  assert.equal(userOf({ 'token-secret': 'another' }), 'none')
  assert.equal(userOf({ 'token-id': 'fedcba' }), 'none')
  assert.equal(userOf({ 'auth-extra-groups': 'system:masters' }), 'none')
  assert.equal(userOf({ 'auth-extra-groups': 'system:bootstrappers:A' }), 'none')
  assert.equal(userOf({ expiration: '2026-07-01T12:00:00Z' }), 'none')
  assert.equal(userOf({ expiration: 'tomorrow' }), 'none')
  assert.equal(userOf({ expiration: '2026-07-01T12:00:01Z' }), 'system:bootstrap:abcdef system:bootstrappers')
  assert.equal(userOf({}, { secret: { type: 'Opaque' } }), 'none')
  assert.equal(userOf({}, { secret: { metadata: { deletionTimestamp: 'x' } } }), 'none')
  assert.equal(userOf({}, { secret: { data: undefined } }), 'none')
  assert.equal(userOf({}, { wanted: ['other'] }), 'none')
  assert.equal(userOf({}, { token: 'zzzzzz.0123456789abcdef' }), 'none')
})

test('property: other texts are no tokens of this kind', () => {
  fc.assert(fc.property(fc.string(), token => assert.equal(userOf({}, { token }), token === TOKEN ? userOf() : 'none')))
})
