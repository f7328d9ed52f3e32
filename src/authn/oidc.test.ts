import assert from 'node:assert/strict'
import { createHmac, createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { OidcAuthenticator, type OidcSettings } from './oidc.ts'

const ISSUER = 'https://id.example'
const NOW = 1_800_000_000
const keyOne = generateKeyPairSync('rsa', { modulusLength: 2048 })
const keyTwo = generateKeyPairSync('rsa', { modulusLength: 2048 })
// Read again: to export a JWK of a key just generated may deadlock (`lib/x509/new-key.ts`).
const readAgain = (key: KeyObject) => createPublicKey(key.export({ type: 'spki', format: 'pem' }))
const jwk = (key: KeyObject, kid: string, more: object = {}) => ({ ...readAgain(key).export({ format: 'jwk' }), kid, use: 'sig', ...more })
const encode = (value: unknown) => Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url')

function token(
  claims: object,
  { header = { alg: 'RS256', kid: 'one' }, key = keyOne.privateKey }: { header?: object; key?: KeyObject } = {},
) {
  const input = `${encode(header)}.${encode({ iss: ISSUER, aud: 'app', sub: 'jane', exp: NOW + 600, ...claims })}`
  return `${input}.${sign('sha256', Buffer.from(input), key).toString('base64url')}`
}

/** A provider that can be changed, and a log of its requests. */
function provider(more: Partial<OidcSettings> = {}) {
  const state = {
    now: NOW,
    keys: [jwk(keyOne.publicKey, 'one')] as object[],
    cacheControl: '',
    issuer: ISSUER,
    status: 200,
    asked: [] as string[],
  }
  const settings: OidcSettings = {
    issuer: ISSUER,
    clientIds: ['app'],
    usernameClaim: 'sub',
    usernamePrefix: '',
    groupsClaim: 'groups',
    groupsPrefix: 'id:',
    requiredClaims: new Map(),
    signingAlgorithms: ['RS256'],
    ...more,
  }
  const authenticator = new OidcAuthenticator({
    settings,
    audiences: ['api'],
    now: () => state.now * 1000,
    async fetch(url) {
      state.asked.push(url)
      if (state.status === 0) throw new Error('connect ECONNREFUSED')
      const document = url.endsWith('/keys') ? { keys: state.keys } : { issuer: state.issuer, jwks_uri: `${ISSUER}/keys` }
      return { status: state.status, cacheControl: state.cacheControl, text: JSON.stringify(document) }
    },
  })
  const ask = async (text: string, audiences = ['api']) => {
    const found = await authenticator.authenticate(text, audiences)
    return found.outcome === 'user' ? found.user : found.outcome === 'invalid' ? found.reason : found.outcome
  }
  return { state, ask, authenticator }
}

test('claims give user name and groups', async () => {
  const { ask, state } = provider({ usernamePrefix: 'oidc:' })
  assert.deepEqual(await ask(token({ groups: ['a', 'b'], jti: 'j1' })), {
    name: 'oidc:jane',
    groups: ['id:a', 'id:b'],
    extra: { 'authentication.kubernetes.io/credential-id': ['JTI=j1'] },
  })
  assert.deepEqual(await ask(token({ groups: 'one' })), { name: 'oidc:jane', groups: ['id:one'] })
  assert.deepEqual(await ask(token({})), { name: 'oidc:jane', groups: [] })
  assert.deepEqual(state.asked, [`${ISSUER}/.well-known/openid-configuration`, `${ISSUER}/keys`], 'asked once, when first needed')
})

test('tokens of other issuers are ignored, without a request to the provider', async () => {
  const { ask, state } = provider()
  for (const other of ['x', 'a.b.c', token({ iss: 'https://other' }), JSON.stringify({ iss: ISSUER })])
    assert.equal(await ask(other), 'none')
  assert.equal(await ask(token({}), ['vault']), 'none')
  assert.deepEqual(state.asked, [])
})

test('the error names what is wrong with a token', async () => {
  const { ask } = provider({ requiredClaims: new Map([['team', 'red']]) })
  const good = { team: 'red' }
  const cases: [object, string][] = [
    [{ ...good, aud: ['other', 'more'] }, 'oidc: verify token: oidc: expected audience "app" got ["other" "more"]'],
    [{ ...good, exp: NOW - 1 }, 'oidc: verify token: oidc: token is expired (Token Expiry: 2027-01-15 07:59:59 +0000 UTC)'],
    [{ ...good, exp: undefined }, 'oidc: verify token: oidc: token is expired (Token Expiry: 1970-01-01 00:00:00 +0000 UTC)'],
    [
      { ...good, nbf: NOW + 61 },
      'oidc: verify token: oidc: current time 2027-01-15 08:00:00 +0000 UTC before the nbf (not before) time: 2027-01-15 08:01:01 +0000 UTC',
    ],
    [{ ...good, sub: 1 }, 'oidc: parse username claims "sub": json: cannot unmarshal number into Go value of type string'],
    [{ ...good, sub: undefined }, 'oidc: parse username claims "sub": claim not present'],
    [{ ...good, groups: [1] }, 'oidc: parse groups claim "groups": json: cannot unmarshal number into Go value of type string'],
    [{}, 'oidc: required claim team not present in ID token'],
    [{ team: 'blue' }, 'oidc: required claim team value does not match. Got = blue, want = red'],
    [{ team: ['red'] }, 'oidc: parse claim team: json: cannot unmarshal array into Go value of type string'],
  ]
  for (const [claims, why] of cases) assert.equal(await ask(token(claims)), why)
  assert.equal(typeof (await ask(token({ ...good, nbf: NOW + 60 }))), 'object')
})

test('an e-mail address is only accepted as user name if email_verified is not false', async () => {
  const { ask } = provider({ usernameClaim: 'email' })
  assert.deepEqual(await ask(token({ email: 'j@x' })), { name: 'j@x', groups: [] })
  assert.equal(await ask(token({ email: 'j@x', email_verified: false })), 'oidc: email not verified')
  assert.equal(
    await ask(token({ email: 'j@x', email_verified: 'true' })),
    "oidc: parse 'email_verified' claim: json: cannot unmarshal string into Go value of type bool",
  )
})

test('only configured algorithms are accepted, never none or a shared secret', async () => {
  const { ask } = provider()
  const claims = encode({ iss: ISSUER, aud: 'app', sub: 'admin', exp: NOW + 600 })
  const unsupported = (alg: string) =>
    `oidc: verify token: oidc: id token signed with unsupported algorithm, expected ["RS256"] got "${alg}"`
  assert.equal(await ask(`${encode({ alg: 'none' })}.${claims}.`), unsupported('none'))
  const input = `${encode({ alg: 'HS256', kid: 'one' })}.${claims}`
  const secret = keyOne.publicKey.export({ type: 'spki', format: 'pem' }).toString()
  assert.equal(await ask(`${input}.${createHmac('sha256', secret).update(input).digest('base64url')}`), unsupported('HS256'))
  const signature = 'oidc: verify token: failed to verify signature: failed to verify id token signature'
  assert.equal(await ask(token({}, { key: keyTwo.privateKey })), signature)
  assert.equal(await ask(token({}, { header: { alg: 'RS256', kid: 'two' }, key: keyTwo.privateKey })), signature)
})

test('keys are fetched again for an unknown key id, but not for every forged token', async () => {
  const { ask, state } = provider()
  const two = (n: number) => token({ n }, { header: { alg: 'RS256', kid: 'two' }, key: keyTwo.privateKey })
  assert.equal(typeof (await ask(token({}))), 'object')
  state.keys = [jwk(keyTwo.publicKey, 'two')]
  assert.equal(typeof (await ask(two(1))), 'string', 'asked a moment ago')
  for (let n = 0; n < 50; n++) await ask(two(n))
  assert.equal(state.asked.length, 2)
  state.now += 3
  assert.equal(typeof (await ask(two(1))), 'object')
  assert.equal(state.asked.length, 3)
  state.cacheControl = 'public, max-age=60'
  state.now += 3
  state.keys = [jwk(keyOne.publicKey, 'one')]
  await ask(token({ again: 1 }))
  state.now += 50
  state.keys = [jwk(keyTwo.publicKey, 'two')]
  assert.equal(typeof (await ask(two(2))), 'string', 'the keys are to be used for a minute')
  state.now += 20
  assert.equal(typeof (await ask(two(2))), 'object')
})

test('a cached token expires with its validity and with its key', async () => {
  const { ask, state, authenticator } = provider()
  const text = token({ exp: NOW + 5 })
  assert.equal(typeof (await ask(text)), 'object')
  assert.ok(!(authenticator.authenticate(text, ['api']) instanceof Promise))
  state.now += 6
  assert.match(String(await ask(text)), /token is expired/)
  const longer = token({ exp: NOW + 5000 })
  assert.equal(typeof (await ask(longer)), 'object')
  state.keys = [jwk(keyTwo.publicKey, 'two')]
  state.now += 11
  await ask(token({ x: 1 }, { header: { alg: 'RS256', kid: 'two' }, key: keyTwo.privateKey }))
  assert.match(String(await ask(longer)), /failed to verify id token signature/)
})

test('a provider that is unreachable or answers with garbage authenticates nobody', async () => {
  const { ask, state } = provider()
  state.status = 0
  assert.equal(await ask(token({})), 'oidc: authenticator not initialized')
  assert.equal(await ask(token({})), 'oidc: authenticator not initialized')
  assert.equal(state.asked.length, 1)
  state.now += 3
  state.status = 200
  state.issuer = 'https://other'
  assert.equal(await ask(token({})), 'oidc: authenticator not initialized')
  state.now += 3
  state.issuer = ISSUER
  state.keys = [{ kty: 'oct', k: 'AAAA', kid: 'one' }, { kty: 'RSA' }, 'x' as never, jwk(keyOne.publicKey, 'one', { use: 'enc' })]
  assert.match(String(await ask(token({}))), /failed to verify id token signature/)
  state.now += 3
  state.keys = [jwk(keyOne.publicKey, 'one')]
  assert.equal(typeof (await ask(token({}))), 'object')
  state.now += 20
  state.status = 500
  assert.equal(typeof (await ask(token({ later: 1 }))), 'object', 'known keys go on')
})

test('property: claims of any type are decided without an exception', async () => {
  const { ask } = provider()
  await fc.assert(
    fc.asyncProperty(
      fc.dictionary(fc.constantFrom('sub', 'groups', 'aud', 'exp', 'nbf', 'jti', '__proto__', '_claim_names'), fc.jsonValue()),
      async claims => {
        assert.ok(['string', 'object'].includes(typeof (await ask(token(claims)))))
      },
    ),
    { numRuns: 60 },
  )
})
