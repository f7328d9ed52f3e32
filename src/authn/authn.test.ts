import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { User } from '../schema/kind.ts'
import { type Authenticator, Authenticators } from './authenticator.ts'
import { CertificateAuthenticator, type ClientCertificate } from './certificate.ts'
import { BearerAuthenticator, bearerToken, TokenChain } from './token.ts'
import { parseTokenFile, TokenFile } from './token-file.ts'

const request = new AbortController()
const certificate: ClientCertificate = { trusted: true, commonName: 'jane', organizations: ['devs'], notBefore: 1000, notAfter: 2000 }
const ask = (authenticator: Authenticator, more: { certificate?: ClientCertificate; authorization?: string }) =>
  authenticator.authenticate({ certificate: undefined, authorization: undefined, ...more }, request)
const tokens = (text: string) =>
  new BearerAuthenticator(new TokenChain([new TokenFile(parseTokenFile(text, 'tokens.csv'), ['api'])]), ['api'])

test('a certificate is a user while it holds', async () => {
  let now = 1500
  const authenticator = new CertificateAuthenticator(() => now)
  assert.deepEqual(await ask(authenticator, { certificate }), { outcome: 'user', user: { name: 'jane', groups: ['devs'] } })
  now = 2001
  assert.equal((await ask(authenticator, { certificate })).outcome, 'invalid')
  now = 999
  assert.equal((await ask(authenticator, { certificate })).outcome, 'invalid')
})

test('a certificate nobody vouches for, or without a name, is no user', async () => {
  const authenticator = new CertificateAuthenticator(() => 1500)
  assert.equal((await ask(authenticator, { certificate: { ...certificate, trusted: false } })).outcome, 'invalid')
  assert.equal((await ask(authenticator, { certificate: { ...certificate, commonName: '' } })).outcome, 'none')
  assert.equal((await ask(authenticator, {})).outcome, 'none')
})

test('bearer tokens are read as the reference reads them', () => {
  assert.equal(bearerToken('Bearer abc'), 'abc')
  assert.equal(bearerToken('bearer abc more'), 'abc')
  for (const none of [undefined, '', 'Bearer', 'Bearer ', 'Basic abc', 'abc']) assert.equal(bearerToken(none), undefined)
})

test('a token file names users, uids and groups', async () => {
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

test('a malformed token file is refused by line, without its tokens', () => {
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

test('the first to know the user decides, and every known user is authenticated', async () => {
  const chain = new Authenticators([new CertificateAuthenticator(() => 1500), tokens('t1,bob,u1\n')], { anonymous: true })
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

test('without anonymous access no credentials are no user', async () => {
  assert.equal((await ask(new Authenticators([], { anonymous: false }), {})).outcome, 'none')
})

test('nobody can claim to be authenticated twice', async () => {
  const user: User = { name: 'x', groups: ['system:authenticated'] }
  const chain = new Authenticators([{ authenticate: () => ({ outcome: 'user', user }) }], { anonymous: true })
  const found = await ask(chain, {})
  assert.deepEqual(found.outcome === 'user' && found.user.groups, ['system:authenticated'])
})
