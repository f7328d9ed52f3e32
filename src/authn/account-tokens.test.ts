import assert from 'node:assert/strict'
import { createHmac, createPrivateKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import type { AnyObject } from '../schema/object-meta.ts'
import { AccountTokens } from './account-tokens.ts'
import { signToken } from './json-web-token.ts'
import { TokenChain } from './token.ts'
import { keySet, readVerificationKeys, signingKey, verificationKey } from './verification-keys.ts'

const NOW = 1_800_000_000
const ISSUER = 'https://issuer.example'
const request = new AbortController()
const key = signingKey(generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey)
const otherKey = signingKey(generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey)

/** A bench with one account, and a clock that can be set. */
function bench({ mayBindWebhooks = true } = {}) {
  const objects = new Map<string, AnyObject>()
  const put = (plural: string, namespace: string, name: string, more: object = {}) =>
    objects.set(`${plural}/${namespace}/${name}`, {
      kind: '',
      apiVersion: 'v1',
      ...more,
      metadata: { name, namespace, uid: `${name}-uid`, ...(more as any).metadata },
    })
  const state = { now: NOW, used: [] as string[] }
  let ids = 0
  const tokens = new AccountTokens({
    issuers: [ISSUER, 'https://former.example'],
    sign: claims => signToken(claims, key),
    keys: { current: [key] },
    audiences: ['api'],
    find: (plural, namespace, name) => objects.get(`${plural}/${namespace}/${name}`),
    now: () => state.now * 1000,
    newId: () => `id-${++ids}`,
    mayBindWebhooks,
    onLegacyUse: ({ metadata }) => state.used.push(metadata.name!),
  })
  put('serviceaccounts', 'ns', 'a')
  const issue = (bound: object = {}, more: { seconds?: number; audiences?: string[] } = {}) =>
    tokens.issue({
      subject: 'system:serviceaccount:ns:a',
      audiences: ['api'],
      issued: state.now,
      seconds: 3600,
      bound: { namespace: 'ns', serviceaccount: { name: 'a', uid: 'a-uid' }, ...bound },
      ...more,
    })
  const ask = async (token: string, audiences = ['api']) => {
    const found = await tokens.authenticate(token, audiences)
    return found.outcome === 'user' ? found.user : found.outcome === 'invalid' ? found.reason : found.outcome
  }
  return { objects, put, state, tokens, issue, ask }
}

const encode = (value: unknown) => Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url')
/** A token of any header and claims, signed with a key of ours or of an attacker. */
function forge(header: object, claims: unknown, privateKey: KeyObject | undefined = key.privateKey): string {
  const input = `${encode(header)}.${encode(claims)}`
  const signature = privateKey ? sign('sha256', Buffer.from(input), { key: privateKey, dsaEncoding: 'ieee-p1363' }) : Buffer.alloc(0)
  return `${input}.${signature.toString('base64url')}`
}
const claimsOf = (token: string) => JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString())

test('an issued token has the header, the claims and their order of kube-apiserver', async () => {
  const { issue } = bench()
  const token = await issue({ pod: { name: 'p', uid: 'p-uid' }, warnafter: NOW + 3607 })
  const [header = '', claims = ''] = token.split('.').map(part => Buffer.from(part, 'base64url').toString())
  assert.equal(header, `{"alg":"ES256","kid":"${key.id}"}`)
  assert.equal(
    claims,
    `{"aud":["api"],"exp":${NOW + 3600},"iat":${NOW},"iss":"${ISSUER}","jti":"id-1",` +
      `"kubernetes.io":{"namespace":"ns","pod":{"name":"p","uid":"p-uid"},"serviceaccount":{"name":"a","uid":"a-uid"},"warnafter":${NOW + 3607}},` +
      `"nbf":${NOW},"sub":"system:serviceaccount:ns:a"}`,
  )
})

test('a token identifies its service account, with the objects it is bound to', async () => {
  const { issue, ask, put } = bench()
  put('pods', 'ns', 'p')
  const node = { name: 'n', uid: 'n-uid' }
  assert.deepEqual(await ask(await issue({ pod: { name: 'p', uid: 'p-uid' }, node })), {
    name: 'system:serviceaccount:ns:a',
    uid: 'a-uid',
    groups: ['system:serviceaccounts', 'system:serviceaccounts:ns'],
    extra: {
      'authentication.kubernetes.io/pod-name': ['p'],
      'authentication.kubernetes.io/pod-uid': ['p-uid'],
      'authentication.kubernetes.io/credential-id': ['JTI=id-1'],
      'authentication.kubernetes.io/node-name': ['n'],
      'authentication.kubernetes.io/node-uid': ['n-uid'],
    },
  })
})

test('a verified token is decided synchronously and gives the same User object', async () => {
  const { issue, tokens } = bench()
  const token = await issue()
  const first = await tokens.authenticate(token, ['api'])
  const second = tokens.authenticate(token, ['api'])
  assert.ok(!(second instanceof Promise))
  assert.ok(first.outcome === 'user' && second.outcome === 'user' && first.user === second.user)
})

test('the validity of a token is checked with one minute of leeway', async () => {
  const { issue, ask, state } = bench()
  const token = await issue()
  state.now = NOW + 3660
  assert.equal(typeof (await ask(token)), 'object')
  state.now = NOW + 3661
  assert.equal(await ask(token), 'service account token has expired')
  state.now = NOW - 61
  assert.equal(await ask(token), 'service account token is not valid yet')
  state.now = NOW
  const early = forge({ alg: 'ES256', kid: key.id }, { ...claimsOf(token), nbf: NOW, iat: NOW + 100 })
  assert.equal(await ask(early), 'service account token is issued in the future')
})

test('a token becomes invalid with its account, pod, secret or node, also when it was verified before', async () => {
  for (const [kind, plural, namespace] of [
    ['pod', 'pods', 'ns'],
    ['secret', 'secrets', 'ns'],
    ['node', 'nodes', ''],
  ] as const) {
    const { issue, ask, put, objects, state } = bench()
    put(plural, namespace, 'x')
    const token = await issue({ [kind]: { name: 'x', uid: 'x-uid' } })
    assert.equal(typeof (await ask(token)), 'object')
    put(plural, namespace, 'x', { metadata: { uid: 'another' } })
    assert.equal(await ask(token), `${kind} UID (another) does not match service account ${kind} ref claim (x-uid)`)
    put(plural, namespace, 'x', { metadata: { deletionTimestamp: new Date(NOW * 1000).toISOString() } })
    assert.equal(typeof (await ask(token)), 'object')
    state.now = NOW + 61
    assert.equal(await ask(token), 'service account token has been invalidated')
    objects.delete(`${plural}/${namespace}/x`)
    assert.equal(await ask(token), 'service account token has been invalidated')
  }
  const { issue, ask, put, objects } = bench()
  const token = await issue()
  assert.equal(typeof (await ask(token)), 'object')
  put('serviceaccounts', 'ns', 'a', { metadata: { uid: 'another' } })
  assert.equal(await ask(token), 'service account UID (another) does not match claim (a-uid)')
  objects.clear()
  assert.equal(await ask(token), 'serviceaccounts "a" not found')
})

test('a token for a webhook names its configuration and API group, and becomes invalid with the configuration', async () => {
  const attestations = { admissionReviewAPIGroups: ['apps'] }
  for (const kind of ['ValidatingWebhookConfiguration', 'MutatingWebhookConfiguration']) {
    const claim = kind.toLowerCase()
    const { issue, ask, put, objects, state } = bench()
    put(`${claim}s`, '', 'x')
    const bound = { [claim]: { name: 'x', uid: 'x-uid' } }
    const token = await issue({ ...bound, attestations })
    assert.deepEqual(((await ask(token)) as { extra: unknown }).extra, {
      'authentication.kubernetes.io/credential-id': ['JTI=id-1'],
      [`authentication.kubernetes.io/${claim}-name`]: ['x'],
      [`authentication.kubernetes.io/${claim}-uid`]: ['x-uid'],
      'attestation.authentication.kubernetes.io/admissionReviewAPIGroups': ['apps'],
    })
    assert.equal(await ask(await issue(bound)), 'bound object was a webhook config, but "admissionReviewAPIGroups" attestation is missing')
    put(`${claim}s`, '', 'x', { metadata: { uid: 'another' } })
    assert.equal(await ask(token), `${kind} UID (another) does not match service account validating ref claim (x-uid)`)
    put(`${claim}s`, '', 'x', { metadata: { deletionTimestamp: new Date(NOW * 1000).toISOString() } })
    assert.equal(typeof (await ask(token)), 'object')
    state.now = NOW + 61
    assert.equal(await ask(token), 'service account token has been invalidated')
    objects.delete(`${claim}s//x`)
    assert.equal(await ask(token), 'service account token has been invalidated')
  }
  const { issue, ask, put } = bench({ mayBindWebhooks: false })
  put('mutatingwebhookconfigurations', '', 'x')
  assert.equal(
    await ask(await issue({ mutatingwebhookconfiguration: { name: 'x', uid: 'x-uid' }, attestations })),
    'feature gate "APIServerWebhookAuthenticationToken" is disabled, but token is webhook bound',
  )
  const unbound = (await ask(await issue({ attestations }))) as { extra: unknown }
  assert.deepEqual(unbound.extra, { 'authentication.kubernetes.io/credential-id': ['JTI=id-2'] }, 'attestations alone mean nothing')
})

test('a token is valid for its audiences only', async () => {
  const { issue, ask, tokens } = bench()
  const token = await issue({}, { audiences: ['vault', 'api'] })
  assert.equal(await ask(token, ['x']), 'token audiences ["vault" "api"] is invalid for the target audiences ["x"]')
  assert.deepEqual(await tokens.authenticate(token, ['x', 'api', 'vault']).valueOf(), {
    outcome: 'user',
    user: await ask(token),
    audiences: ['api', 'vault'],
  })
  const { aud: _, ...unmeant } = claimsOf(token)
  assert.equal(typeof (await ask(forge({ alg: 'ES256', kid: key.id }, unmeant))), 'object')
})

test('tokens that are malformed or of another issuer are not accepted', async () => {
  const { issue, ask } = bench()
  const token = await issue()
  const claims = claimsOf(token)
  const header = { alg: 'ES256', kid: key.id }
  const publicPem = key.key.export({ type: 'spki', format: 'pem' }).toString()
  const confused = `${encode({ alg: 'HS256', kid: key.id })}.${encode(claims)}`
  const mac = createHmac('sha256', publicPem).update(confused).digest('base64url')
  const crypto = 'go-jose/go-jose: error in cryptographic primitive'
  const cases: [string, string, string][] = [
    ['alg none', forge({ alg: 'none' }, claims, undefined), 'go-jose/go-jose: unknown/unsupported algorithm'],
    ['alg none with our kid', forge({ alg: 'none', kid: key.id }, claims, undefined), 'go-jose/go-jose: unknown/unsupported algorithm'],
    ['alg None', forge({ alg: 'None', kid: key.id }, claims, undefined), 'go-jose/go-jose: unknown/unsupported algorithm'],
    ['HS256 with the public key', `${confused}.${mac}`, 'go-jose/go-jose: unknown/unsupported algorithm'],
    ['a key of an attacker', forge(header, claims, otherKey.privateKey), crypto],
    [
      'the id of a key of an attacker',
      forge({ alg: 'ES256', kid: otherKey.id }, claims, otherKey.privateKey),
      'invalid signature, no keys found',
    ],
    ['a key in the header', forge({ alg: 'ES256', jwk: otherKey.key.export({ format: 'jwk' }) }, claims, otherKey.privateKey), crypto],
    ['a critical extension', forge({ ...header, crit: ['x'], x: 1 }, claims), crypto],
    ['another issuer', forge(header, { ...claims, iss: 'https://other' }), 'none'],
    ['no issuer', forge(header, { ...claims, iss: undefined }), 'none'],
    ['an issuer that is no text', forge(header, { ...claims, iss: [ISSUER] }), 'none'],
    ['claims that are a list', forge(header, [claims]), 'none'],
    ['claims that are no JSON', forge(header, '{"iss":'), 'none'],
    ['two parts', token.split('.').slice(0, 2).join('.'), 'none'],
    ['four parts', `${token}.x`, 'none'],
    ['JSON serialisation', JSON.stringify({ payload: encode(claims), signatures: [] }), 'none'],
    ['changed claims', [token.split('.')[0], encode({ ...claims, sub: 'admin' }), token.split('.')[2]].join('.'), crypto],
    ['a cut signature', token.slice(0, -10), crypto],
    ['nothing', '', 'none'],
  ]
  for (const [what, bad, why] of cases) assert.equal(await ask(bad), why, what)
  assert.equal(typeof (await ask(forge({ alg: 'ES256' }, claims))), 'object', 'without a kid every key is tried')
})

test('property: a changed token is rejected, and the error shows none of it', async () => {
  const { issue, ask } = bench()
  const token = await issue()
  await fc.assert(
    fc.asyncProperty(fc.nat(token.length - 1), fc.constantFrom(...'AZaz09-_.%"{ '), async (at, char) => {
      fc.pre(token[at] !== char)
      const changed = token.slice(0, at) + char + token.slice(at + 1)
      const found = await ask(changed)
      // The last character of a signature has bits that say nothing.
      const isSame = Buffer.from(changed.split('.')[2] ?? '', 'base64url').equals(Buffer.from(token.split('.')[2]!, 'base64url'))
      if (typeof found === 'object') assert.ok(isSame && changed.split('.').slice(0, 2).join() === token.split('.').slice(0, 2).join())
      else assert.ok(!found.includes(token.slice(0, 12)))
    }),
    { numRuns: 150 },
  )
})

test('property: claims of any type are rejected without an exception', async () => {
  const { ask } = bench()
  await fc.assert(
    fc.asyncProperty(fc.jsonValue(), fc.jsonValue(), fc.jsonValue(), async (bound, sub, exp) => {
      const found = await ask(forge({ alg: 'ES256', kid: key.id }, { iss: ISSUER, aud: 'api', 'kubernetes.io': bound, sub, exp }))
      assert.equal(typeof found, 'string')
    }),
    { numRuns: 100 },
  )
  const deep = `{"iss":"${ISSUER}","aud":"api","kubernetes.io":${'['.repeat(4000)}${']'.repeat(4000)}}`
  assert.equal(typeof (await ask(forge({ alg: 'ES256', kid: key.id }, deep))), 'string')
})

test('very long tokens are rejected without parsing', async () => {
  const { tokens } = bench()
  const chain = new TokenChain([tokens])
  const found = chain.authenticate(`${'a'.repeat(40_000)}.${'b'.repeat(10)}.c`, ['api'], request)
  assert.deepEqual(found, { outcome: 'invalid', reason: 'invalid bearer token' })
})

test('the errors of several authenticators are joined without duplicates', async () => {
  const { tokens, issue, state } = bench()
  const token = await issue()
  state.now = NOW + 10_000
  const chain = new TokenChain([tokens, tokens])
  const found = await chain.authenticate(token, ['api'], request)
  assert.deepEqual(found, { outcome: 'invalid', reason: '[invalid bearer token, service account token has expired]' })
  assert.deepEqual(await chain.authenticate('x', ['api'], request), { outcome: 'invalid', reason: 'invalid bearer token' })
})

test('legacy tokens are valid as long as their secret contains them', async () => {
  const { tokens, ask, put, objects, state } = bench()
  const account = objects.get('serviceaccounts/ns/a')!
  put('secrets', 'ns', 's')
  const token = await tokens.issueLegacy(account, objects.get('secrets/ns/s')!)
  const keep = (data: object, metadata: object = {}) => put('secrets', 'ns', 's', { data, metadata })
  assert.equal(await ask(token), "Token does not match server's copy")
  keep({ token: Buffer.from(token).toString('base64') })
  assert.deepEqual(await ask(token), {
    name: 'system:serviceaccount:ns:a',
    uid: 'a-uid',
    groups: ['system:serviceaccounts', 'system:serviceaccounts:ns'],
  })
  assert.deepEqual(state.used, ['s'])
  assert.match(String(await ask(token, ['other'])), /^token audiences \["api"\] is invalid for the target audiences \["other"\]$/)
  keep({ token: Buffer.from(token).toString('base64') }, { labels: { 'kubernetes.io/legacy-token-invalid-since': '2026-01-01' } })
  assert.match(String(await ask(token)), /^the token in secret ns\/s for service account ns\/a has been marked invalid\. /)
  keep({ token: Buffer.from(token).toString('base64') }, { deletionTimestamp: '2026-01-01T00:00:00Z' })
  assert.equal(await ask(token), 'Token has been invalidated')
  objects.delete('secrets/ns/s')
  assert.equal(await ask(token), 'Token has been invalidated')
})

test('keys are published as a JWK set, and read from every kind of PEM block', () => {
  const set = keySet([key]) as { keys: any[] }
  assert.deepEqual(Object.keys(JSON.parse(JSON.stringify(set.keys[0]))), ['use', 'kty', 'kid', 'crv', 'alg', 'x', 'y'])
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const pem = [
    rsa.publicKey.export({ type: 'pkcs1', format: 'pem' }),
    key.privateKey.export({ type: 'sec1', format: 'pem' }),
    otherKey.key.export({ type: 'spki', format: 'pem' }),
  ].join('')
  assert.deepEqual(
    readVerificationKeys(pem).map(({ id, algorithm }) => [id, algorithm]),
    [
      [verificationKey(rsa.publicKey).id, 'RS256'],
      [key.id, 'ES256'],
      [otherKey.id, 'ES256'],
    ],
  )
  assert.throws(() => readVerificationKeys('nothing'), /does not contain any valid/)
  assert.throws(() => verificationKey(generateKeyPairSync('ed25519').publicKey), /must be RSA, or ECDSA/)
  assert.throws(() => verificationKey(generateKeyPairSync('rsa', { modulusLength: 1024 }).publicKey), /at least 2048 bits/)
  assert.equal(createPrivateKey(key.privateKey.export({ type: 'pkcs8', format: 'pem' })).type, 'private')
})

test('a token that should have been replaced is recorded with its age', async () => {
  const { issue, tokens, state } = bench()
  const token = await issue({ warnafter: NOW + 100 }, { seconds: 10_000 })
  const notes: string[] = []
  const use = () => tokens.authenticate(token, ['api'], { annotate: (key, value) => void notes.push(`${key}: ${value}`) })
  await use()
  assert.deepEqual(notes, [])
  state.now = NOW + 107
  await use()
  assert.deepEqual(notes, ['authentication.k8s.io/stale-token: subject: system:serviceaccount:ns:a, seconds after warning threshold: 7'])
})
