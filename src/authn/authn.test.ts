import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { User } from '../schema/user.ts'
import type { ClientCertificate } from './authenticator.ts'
import { type Authenticator, Authenticators } from './authenticator.ts'
import { CertificateAuthenticator } from './client-certificate.ts'
import { BearerAuthenticator, bearerToken, TokenChain } from './token.ts'
import { parseTokenFile, TokenFile } from './token-file.ts'

const request = new AbortController()
const certificate: ClientCertificate = {
  trusted: true,
  commonName: 'jane',
  organizations: ['devs'],
  uids: [],
  sha256: 'ab12',
  notBefore: 1000,
  notAfter: 2000,
}
const extra = { 'authentication.kubernetes.io/credential-id': ['X509SHA256=ab12'] }
const ask = (authenticator: Authenticator, more: { certificate?: ClientCertificate; authorization?: string }) =>
  authenticator.authenticate({ certificate: undefined, authorization: undefined, ...more }, request)
const tokens = (text: string) =>
  new BearerAuthenticator(new TokenChain([new TokenFile(parseTokenFile(text, 'tokens.csv'), ['api'])]), ['api'])

test('a client certificate identifies a user while it is valid', async () => {
  let now = 1500
  const authenticator = new CertificateAuthenticator({ now: () => now, find: () => undefined })
  assert.deepEqual(await ask(authenticator, { certificate }), { outcome: 'user', user: { name: 'jane', groups: ['devs'], extra } })
  now = 2001
  assert.equal((await ask(authenticator, { certificate })).outcome, 'invalid')
  now = 999
  assert.equal((await ask(authenticator, { certificate })).outcome, 'invalid')
})

test('a client certificate carries at most one uid, which is not empty', async () => {
  const authenticator = new CertificateAuthenticator({ now: () => 1500, find: () => undefined })
  const withUids = (...uids: string[]) => ask(authenticator, { certificate: { ...certificate, uids } })
  assert.deepEqual(await withUids('u-1'), { outcome: 'user', user: { name: 'jane', groups: ['devs'], uid: 'u-1', extra } })
  assert.deepEqual(await withUids(''), { outcome: 'invalid', reason: 'UID cannot be an empty string' })
  assert.deepEqual(await withUids('a', 'b'), { outcome: 'invalid', reason: 'expected 1 UID, but found multiple: [a b]' })
  const plain = new CertificateAuthenticator({ now: () => 1500, find: () => undefined, hasUids: false })
  for (const uids of [['u-1'], [''], ['a', 'b']])
    assert.deepEqual(await ask(plain, { certificate: { ...certificate, uids } }), {
      outcome: 'user',
      user: { name: 'jane', groups: ['devs'], extra },
    })
})

test('a client certificate that is not trusted, or without a common name, identifies nobody', async () => {
  const authenticator = new CertificateAuthenticator({ now: () => 1500, find: () => undefined })
  assert.equal((await ask(authenticator, { certificate: { ...certificate, trusted: false } })).outcome, 'invalid')
  assert.equal((await ask(authenticator, { certificate: { ...certificate, commonName: '' } })).outcome, 'none')
  assert.equal((await ask(authenticator, {})).outcome, 'none')
})

test('bearer tokens are read from the Authorization header as kube-apiserver does', () => {
  assert.equal(bearerToken('Bearer abc'), 'abc')
  assert.equal(bearerToken('bearer abc more'), 'abc')
  for (const none of [undefined, '', 'Bearer', 'Bearer ', 'Basic abc', 'abc']) assert.equal(bearerToken(none), undefined)
})

test('a token file lists users, uids and groups', async () => {
  const file = tokens('# people\nt1,jane,u1,"devs,ops"\r\n\n t2,bob,u2\n"t""3",eve,,\n')
  const userOf = async (token: string) => {
    const found = await ask(file, { authorization: `Bearer ${token}` })
    return found.outcome === 'user' ? found.user : found.outcome
  }
  assert.deepEqual(await userOf('t1'), { name: 'jane', uid: 'u1', groups: ['devs', 'ops'] })
  assert.deepEqual(await userOf('t2'), { name: 'bob', uid: 'u2', groups: [] })
  assert.deepEqual(await userOf('t"3'), { name: 'eve', groups: [] })
  assert.equal(await userOf('t'), 'invalid')
  assert.equal(await userOf('__proto__'), 'invalid')
})

test('errors in a token file name the line and never show a token', () => {
  const cases: [string, RegExp][] = [
    ['good,jane,u1\nsecret,bob\n', /^tokens\.csv:2: a token needs at least 3 columns \(token, user name, user uid\), found 2$/],
    [',jane,u1\n', /^tokens\.csv:1: the token is empty$/],
    ['secret,,u1\n', /^tokens\.csv:1: the user name is empty$/],
    ['secret,a,1\nsecret,b,2\n', /^tokens\.csv:2: the token appears a second time$/],
    ['secret,a,1,"devs\n', /^tokens\.csv:1: a quoted field is not closed$/],
    ['secret,a,1,"devs"x\n', /^tokens\.csv:1: a comma is missing after a quoted field$/],
    ['se"cret,a,1\n', /^tokens\.csv:1: a quote stands inside a field/],
  ]
  for (const [text, message] of cases)
    assert.throws(
      () => parseTokenFile(text, 'tokens.csv'),
      (error: Error) => message.test(error.message) && !error.message.includes('secret'),
    )
})

test('the first authenticator that identifies a user decides, and adds system:authenticated', async () => {
  const chain = new Authenticators([new CertificateAuthenticator({ now: () => 1500, find: () => undefined }), tokens('t1,bob,u1\n')], {
    anonymous: true,
  })
  const nameOf = async (more: Parameters<typeof ask>[1]) => {
    const found = await ask(chain, more)
    return found.outcome === 'user' ? `${found.user.name} ${found.user.groups}` : found.outcome
  }
  assert.equal(await nameOf({ certificate, authorization: 'Bearer t1' }), 'jane devs,system:authenticated')
  assert.equal(await nameOf({ authorization: 'Bearer t1' }), 'bob system:authenticated')
  assert.equal(await nameOf({ certificate: { ...certificate, trusted: false }, authorization: 'Bearer t1' }), 'bob system:authenticated')
  assert.equal(await nameOf({}), 'system:anonymous system:unauthenticated')
  assert.equal(await nameOf({ authorization: 'Bearer nope' }), 'invalid')
  assert.equal(await nameOf({ certificate: { ...certificate, trusted: false } }), 'invalid')
})

test('without anonymous access a request without credentials has no user', async () => {
  assert.equal((await ask(new Authenticators([], { anonymous: false }), {})).outcome, 'none')
})

test('system:authenticated is not added twice, nor to users that are anonymous or unauthenticated', async () => {
  const users: User[] = [
    { name: 'x', groups: ['system:authenticated'] },
    { name: 'x', groups: ['system:unauthenticated'] },
    { name: 'system:anonymous', groups: [] },
  ]
  for (const user of users) {
    const chain = new Authenticators([{ authenticate: () => ({ outcome: 'user', user }) }], { anonymous: true })
    assert.deepEqual(await ask(chain, {}), { outcome: 'user', user })
  }
})
