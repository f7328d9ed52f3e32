// Tricks with tokens: forged, borrowed, outlived and misdirected ones are refused.
import assert from 'node:assert/strict'
import { createHmac, createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { anonymous, ask, connection, eventually, patient, type Scope, startInProcess, type Target, temporaryDirectory } from '../kit.ts'

const WHO = '/apis/authentication.k8s.io/v1/selfsubjectreviews'
const REVIEWS = '/apis/authentication.k8s.io/v1/tokenreviews'
const CORE = '/api/v1/namespaces/default'
const ISSUER = 'https://kubernetes.default.svc.cluster.local'

/** The key of the server: with it, tests sign tokens that only the server could. */
const server = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const stranger = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const spki = (key: KeyObject, format: 'pem' | 'der') => key.export({ type: 'spki', format } as never) as string | Buffer

const encode = (value: unknown) => Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url')
const es256 = (input: string, key: KeyObject) =>
  sign('sha256', Buffer.from(input), { key, dsaEncoding: 'ieee-p1363' }).toString('base64url')
const signed = (header: unknown, claims: unknown, key = server.privateKey) => {
  const input = `${encode(header)}.${encode(claims)}`
  return `${input}.${es256(input, key)}`
}
const shared = (header: object, claims: object, secret: string | Buffer) => {
  const input = `${encode(header)}.${encode(claims)}`
  return `${input}.${createHmac('sha256', secret).update(input).digest('base64url')}`
}

type World = Target & {
  readonly post: (path: string, body: object) => Promise<any>
  readonly remove: (path: string) => Promise<void>
  readonly tokenOf: (account: string, spec?: object) => Promise<string>
  /** The user that the server authenticates by a token; the status if it rejects the token. */
  readonly whoIs: (token: string, headers?: Record<string, string>) => Promise<string | number>
}

async function openWorld(t: Scope): Promise<World> {
  const file = join(temporaryDirectory(t), 'key.pem')
  writeFileSync(file, server.privateKey.export({ type: 'pkcs8', format: 'pem' }))
  const running = await startInProcess(t, {
    serviceAccountSigningKeyFile: file,
    enableBootstrapTokenAuth: true,
    controllers: ['serviceaccount-token-controller'],
  })
  const [agent, strangers] = [connection(t), connection(t)]
  const send = async (method: string, path: string, body?: object) => {
    const answer = await ask(running, path, { method, agent, ...(body && { body }) })
    assert.ok(answer.status < 300, `${method} ${path}: ${answer.text}`)
    return answer.json
  }
  const post = (path: string, body: object) => send('POST', path, body)
  await post(`${CORE}/serviceaccounts`, { metadata: { name: 'robot' } })
  return {
    ...running,
    post,
    remove: path => send('DELETE', path),
    tokenOf: async (account, spec = {}) => (await post(`${CORE}/serviceaccounts/${account}/token`, { spec })).status.token,
    async whoIs(token, headers = { authorization: `Bearer ${token}` }) {
      const { status, json } = await ask(running, WHO, { ...anonymous, agent: strangers, method: 'POST', body: {}, headers })
      return status === 201 ? json.status.userInfo.username : status
    },
  }
}

const partsOf = (token: string) => token.split('.') as [string, string, string]
const decoded = (part: string) => JSON.parse(Buffer.from(part, 'base64url').toString())

type Forgery = readonly [name: string, token: (given: Given) => string]
type Given = { readonly token: string; readonly header: any; readonly claims: any; readonly jwks: any }

const FORGERIES: readonly Forgery[] = [
  ...['none', 'None', 'NONE', 'nOnE', ''].map(
    alg => [`the algorithm ${JSON.stringify(alg)}`, ({ claims }) => `${encode({ alg })}.${encode(claims)}.`] as Forgery,
  ),
  ['no algorithm at all', ({ claims }) => `${encode({})}.${encode(claims)}.`],
  [
    'the algorithm none with a good signature',
    ({ token, header, claims }) => `${encode({ ...header, alg: 'none' })}.${encode(claims)}.${partsOf(token)[2]}`,
  ],
  [
    'the public key in PEM as a shared secret',
    ({ header, claims }) => shared({ ...header, alg: 'HS256' }, claims, spki(server.publicKey, 'pem')),
  ],
  [
    'the public key in DER as a shared secret',
    ({ header, claims }) => shared({ ...header, alg: 'HS256' }, claims, spki(server.publicKey, 'der')),
  ],
  [
    'the published keys as a shared secret',
    ({ header, claims, jwks }) => shared({ ...header, alg: 'HS256' }, claims, JSON.stringify(jwks)),
  ],
  [
    'an empty shared secret and the key id of an empty file',
    ({ claims }) => shared({ alg: 'HS256', kid: '../../../../dev/null' }, claims, ''),
  ],
  ['the signature of a stranger', ({ header, claims }) => signed(header, claims, stranger.privateKey)],
  ['the signature of a stranger without a key id', ({ claims }) => signed({ alg: 'ES256' }, claims, stranger.privateKey)],
  ['a key id of another type', ({ claims }) => signed({ alg: 'ES256', kid: ['x'] }, claims, stranger.privateKey)],
  ['a key id that nobody has', ({ claims }) => signed({ alg: 'ES256', kid: 'other' }, claims)],
  ['a key id of a prototype', ({ claims }) => signed({ alg: 'ES256', kid: '__proto__' }, claims)],
  [
    'the key in the header',
    ({ claims }) => signed({ alg: 'ES256', jwk: stranger.publicKey.export({ format: 'jwk' }) }, claims, stranger.privateKey),
  ],
  [
    'the address of a key in the header',
    ({ claims }) => signed({ alg: 'ES256', jku: 'https://127.0.0.1:1/keys', x5u: 'https://127.0.0.1:1/cert' }, claims, stranger.privateKey),
  ],
  [
    'a certificate in the header',
    ({ claims }) =>
      signed({ alg: 'ES256', x5c: [(spki(stranger.publicKey, 'der') as Buffer).toString('base64')] }, claims, stranger.privateKey),
  ],
  ['a signature of zeros', ({ header, claims }) => `${encode(header)}.${encode(claims)}.${Buffer.alloc(64).toString('base64url')}`],
  [
    'a signature in DER',
    ({ header, claims }) =>
      `${encode(header)}.${encode(claims)}.${sign('sha256', Buffer.from(`${encode(header)}.${encode(claims)}`), server.privateKey).toString('base64url')}`,
  ],
  ['an empty signature', ({ token }) => `${partsOf(token).slice(0, 2).join('.')}.`],
  ['a signature that is cut', ({ token }) => token.slice(0, -6)],
  [
    'a signature of other claims',
    ({ token, claims }) => `${partsOf(token)[0]}.${encode({ ...claims, sub: 'system:admin' })}.${partsOf(token)[2]}`,
  ],
  [
    'another header with the same signature',
    ({ token }) => `${encode({ alg: 'ES256', typ: 'JWT' })}.${partsOf(token)[1]}.${partsOf(token)[2]}`,
  ],
  ['four parts', ({ token }) => `${token}.${partsOf(token)[2]}`],
  ['five parts, as an encrypted token', ({ token }) => `${token}.x.y`],
  ['a blank inside', ({ token }) => token.replace('.', '. ')],
  ['a token of 33 KiB', ({ token }) => `${token}${'A'.repeat(33 * 1024)}`],
  // From here on signed with the key of the server: tokens that it would have to be fooled into signing.
  ['an extension that must be understood', ({ header, claims }) => signed({ ...header, crit: ['exp'], exp: 1 }, claims)],
  ['claims that are not encoded', ({ header, claims }) => signed({ ...header, crit: ['b64'], b64: false }, claims)],
  ['another issuer', ({ header, claims }) => signed(header, { ...claims, iss: 'https://elsewhere' })],
  ['the issuer in capitals', ({ header, claims }) => signed(header, { ...claims, iss: ISSUER.toUpperCase() })],
  ['the issuer with a slash', ({ header, claims }) => signed(header, { ...claims, iss: `${ISSUER}/` })],
  ['several issuers', ({ header, claims }) => signed(header, { ...claims, iss: [ISSUER] })],
  ['no issuer', ({ header, claims: { iss: _, ...claims } }) => signed(header, claims)],
  ['another audience', ({ header, claims }) => signed(header, { ...claims, aud: ['vault'] })],
  ['an audience that begins like the right one', ({ header, claims }) => signed(header, { ...claims, aud: [`${ISSUER}.example.com`] })],
  ['a token that has expired', ({ header, claims }) => signed(header, { ...claims, exp: claims.iat - 3600 })],
  ['an expiry that is a text', ({ header, claims }) => signed(header, { ...claims, exp: 'never' })],
  ['an expiry of long ago in a text', ({ header, claims }) => signed(header, { ...claims, exp: '1' })],
  ['a token that is not valid yet', ({ header, claims }) => signed(header, { ...claims, nbf: claims.iat + 3600 })],
  ['a token that is issued in the future', ({ header, claims }) => signed(header, { ...claims, iat: claims.iat + 3600 })],
  [
    'a subject alone',
    ({ header, claims: { iss, aud, exp } }) => signed(header, { iss, aud, exp, sub: 'system:serviceaccount:kube-system:default' }),
  ],
  [
    'an account that is not there',
    ({ header, claims }) =>
      signed(header, { ...claims, 'kubernetes.io': { ...claims['kubernetes.io'], serviceaccount: { name: 'ghost', uid: 'u' } } }),
  ],
  [
    'another uid of the account',
    ({ header, claims }) =>
      signed(header, { ...claims, 'kubernetes.io': { ...claims['kubernetes.io'], serviceaccount: { name: 'robot', uid: 'u' } } }),
  ],
  [
    'an account without its uid',
    ({ header, claims }) =>
      signed(header, { ...claims, 'kubernetes.io': { ...claims['kubernetes.io'], serviceaccount: { name: 'robot' } } }),
  ],
  [
    'a pod that is not there',
    ({ header, claims }) =>
      signed(header, { ...claims, 'kubernetes.io': { ...claims['kubernetes.io'], pod: { name: 'ghost', uid: 'u' } } }),
  ],
  [
    'a namespace with a colon',
    ({ header, claims }) => signed(header, { ...claims, 'kubernetes.io': { ...claims['kubernetes.io'], namespace: 'default:robot' } }),
  ],
  ['a claim that is a list', ({ header, claims }) => signed(header, { ...claims, 'kubernetes.io': [] })],
  ['claims that are a list', ({ header, claims }) => signed(header, [claims])],
  ['the older claims without a secret', ({ header }) => signed(header, legacy({ secret: 'ghost' }))],
  [
    'the older claims of another account',
    ({ header }) => signed(header, { ...legacy({}), sub: 'system:serviceaccount:kube-system:default' }),
  ],
]

const legacy = ({ secret = 'older', account = 'robot', uid = 'u' }) => ({
  iss: 'kubernetes/serviceaccount',
  sub: `system:serviceaccount:default:${account}`,
  'kubernetes.io/serviceaccount/namespace': 'default',
  'kubernetes.io/serviceaccount/secret.name': secret,
  'kubernetes.io/serviceaccount/service-account.name': account,
  'kubernetes.io/serviceaccount/service-account.uid': uid,
})

test('a forged token makes nobody of its bearer', patient, async t => {
  const world = await openWorld(t)
  const token = await world.tokenOf('robot')
  const [header, claims] = partsOf(token).slice(0, 2).map(decoded) as [any, any]
  const { json: jwks } = await ask(world, '/openid/v1/jwks')
  assert.deepEqual(
    createPublicKey({ key: jwks.keys[0], format: 'jwk' }).export({ format: 'jwk' }),
    server.publicKey.export({ format: 'jwk' }),
  )
  assert.equal(await world.whoIs(signed(header, claims)), 'system:serviceaccount:default:robot', 'the tests sign as the server does')
  for (const [name, forge] of FORGERIES)
    await t.test(name, async () => assert.equal(await world.whoIs(forge({ token, header, claims, jwks })), 401))
})

test('a token is found in one place and in one way', patient, async t => {
  const world = await openWorld(t)
  const token = await world.tokenOf('robot')
  const robot = 'system:serviceaccount:default:robot'
  const rows: readonly [string, Record<string, string>, string | number][] = [
    ['another scheme', { authorization: `Basic ${token}` }, 403],
    ['no scheme', { authorization: token }, 403],
    ['two blanks after the scheme', { authorization: `Bearer  ${token}` }, 403],
    ['another header', { 'x-authorization': `Bearer ${token}`, 'proxy-authorization': `Bearer ${token}` }, 403],
    ['a cookie', { cookie: `authorization=Bearer ${token}; token=${token}` }, 403],
    ['the scheme in other letters', { authorization: `bEARER ${token}` }, robot],
    ['more behind the token', { authorization: `Bearer ${token} x` }, robot],
  ]
  for (const [name, headers, expected] of rows) await t.test(name, async () => assert.equal(await world.whoIs('', headers), expected))
  for (const query of [`access_token=${token}`, `token=${token}`, `authorization=Bearer%20${token}`])
    await t.test(`the query ${query.slice(0, 12)}`, async () => {
      const { status } = await ask(world, `${WHO}?${query}`, { ...anonymous, method: 'POST', body: {} })
      assert.equal(status, 403)
    })
})

/** A token, a change to its bound object, and the required result. */
type Fate = readonly [name: string, prepare: (world: World) => Promise<string>, happens: (world: World) => Promise<unknown>]

const pod = (name: string, account = 'robot') => ({
  metadata: { name },
  spec: { serviceAccountName: account, containers: [{ name: 'c', image: 'i' }] },
})
const boundTo = (kind: string, name: string) => ({ boundObjectRef: { apiVersion: 'v1', kind, name } })
const bootstrap = (id: string, more: Record<string, string> = {}, type = 'bootstrap.kubernetes.io/token') => ({
  metadata: { name: `bootstrap-token-${id}` },
  type,
  stringData: { 'token-id': id, 'token-secret': '0123456789abcdef', 'usage-bootstrap-authentication': 'true', ...more },
})
const SECRETS = '/api/v1/namespaces/kube-system/secrets'
async function olderToken(world: World, name: string): Promise<string> {
  const annotations = { 'kubernetes.io/service-account.name': 'robot' }
  await world.post(`${CORE}/secrets`, { metadata: { name, annotations }, type: 'kubernetes.io/service-account-token' })
  const data = await eventually('the token', async () => (await ask(world, `${CORE}/secrets/${name}`)).json.data?.token)
  return Buffer.from(data, 'base64').toString()
}
const patch = (world: World, path: string, body: object) =>
  ask(world, path, { method: 'PATCH', body, headers: { 'content-type': 'application/merge-patch+json' } })

const FATES: readonly Fate[] = [
  [
    'the pod of a token is made again under its name',
    async world => {
      await world.post(`${CORE}/pods`, pod('again'))
      return world.tokenOf('robot', boundTo('Pod', 'again'))
    },
    async world => {
      await world.remove(`${CORE}/pods/again?gracePeriodSeconds=0`)
      await world.post(`${CORE}/pods`, pod('again'))
    },
  ],
  [
    'the secret of a token is made again under its name',
    async world => {
      await world.post(`${CORE}/secrets`, { metadata: { name: 'again' } })
      return world.tokenOf('robot', boundTo('Secret', 'again'))
    },
    async world => {
      await world.remove(`${CORE}/secrets/again`)
      await world.post(`${CORE}/secrets`, { metadata: { name: 'again' } })
    },
  ],
  [
    'the node of a token is made again under its name',
    async world => {
      await world.post('/api/v1/nodes', { metadata: { name: 'again' } })
      return world.tokenOf('robot', boundTo('Node', 'again'))
    },
    async world => {
      await world.remove('/api/v1/nodes/again')
      await world.post('/api/v1/nodes', { metadata: { name: 'again' } })
    },
  ],
  [
    'the account of a token is made again under its name',
    async world => {
      await world.post(`${CORE}/serviceaccounts`, { metadata: { name: 'again' } })
      return world.tokenOf('again')
    },
    async world => {
      await world.remove(`${CORE}/serviceaccounts/again`)
      await world.post(`${CORE}/serviceaccounts`, { metadata: { name: 'again' } })
    },
  ],
  ['the secret of an older token is deleted', world => olderToken(world, 'older-1'), world => world.remove(`${CORE}/secrets/older-1`)],
  [
    'an older token is exchanged in its secret',
    world => olderToken(world, 'older-2'),
    world => patch(world, `${CORE}/secrets/older-2`, { stringData: { token: 'x' } }),
  ],
  [
    'an older token is marked as no longer valid',
    world => olderToken(world, 'older-3'),
    world =>
      patch(world, `${CORE}/secrets/older-3`, { metadata: { labels: { 'kubernetes.io/legacy-token-invalid-since': '2020-01-01' } } }),
  ],
  [
    'a bootstrap token is deleted',
    async world => {
      await world.post(SECRETS, bootstrap('aaaaa1'))
      return 'aaaaa1.0123456789abcdef'
    },
    world => world.remove(`${SECRETS}/bootstrap-token-aaaaa1`),
  ],
  [
    'a bootstrap token expires',
    async world => {
      await world.post(SECRETS, bootstrap('aaaaa2'))
      return 'aaaaa2.0123456789abcdef'
    },
    world => patch(world, `${SECRETS}/bootstrap-token-aaaaa2`, { stringData: { expiration: '2020-01-01T00:00:00Z' } }),
  ],
  [
    'a bootstrap token is no longer for authentication',
    async world => {
      await world.post(SECRETS, bootstrap('aaaaa3'))
      return 'aaaaa3.0123456789abcdef'
    },
    world => patch(world, `${SECRETS}/bootstrap-token-aaaaa3`, { stringData: { 'usage-bootstrap-authentication': 'TRUE' } }),
  ],
]

test('a token ends with what it is bound to, also where that is made again', patient, async t => {
  const world = await openWorld(t)
  for (const [name, prepare, happens] of FATES)
    await t.test(name, async () => {
      const token = await prepare(world)
      assert.equal(typeof (await world.whoIs(token)), 'string', 'it is believed at first')
      await happens(world)
      assert.equal(await world.whoIs(token), 401)
    })
})

test('a bootstrap token is the one of its secret, in the right namespace, of the right type', patient, async t => {
  const world = await openWorld(t)
  const rows: readonly (readonly [name: string, collection: string, secret: object, token: string])[] = [
    ['another secret part', SECRETS, bootstrap('bbbbb1'), 'bbbbb1.0123456789abcdee'],
    ['the secret part in capitals', SECRETS, bootstrap('bbbbb2'), 'bbbbb2.0123456789ABCDEF'],
    ['a secret in another namespace', `${CORE}/secrets`, bootstrap('bbbbb3'), 'bbbbb3.0123456789abcdef'],
    ['a secret of another type', SECRETS, bootstrap('bbbbb4', {}, 'Opaque'), 'bbbbb4.0123456789abcdef'],
    ['an id of another token', SECRETS, bootstrap('bbbbb5', { 'token-id': 'cccccc' }), 'bbbbb5.0123456789abcdef'],
    [
      'a group that is not for bootstrapping',
      SECRETS,
      bootstrap('bbbbb6', { 'auth-extra-groups': 'system:masters' }),
      'bbbbb6.0123456789abcdef',
    ],
    [
      'one group that is not for bootstrapping',
      SECRETS,
      bootstrap('bbbbb7', { 'auth-extra-groups': 'system:bootstrappers:a,system:masters' }),
      'bbbbb7.0123456789abcdef',
    ],
    ['an expiry that cannot be read', SECRETS, bootstrap('bbbbb8', { expiration: 'tomorrow' }), 'bbbbb8.0123456789abcdef'],
    ['more behind the token', SECRETS, bootstrap('bbbbb9'), 'bbbbb9.0123456789abcdef.'],
    ['an empty secret part', SECRETS, bootstrap('bbbb10', { 'token-secret': '' }), 'bbbb10.'],
  ]
  for (const [name, collection, secret, token] of rows)
    await t.test(name, async () => {
      await ask(world, collection, { method: 'POST', body: secret })
      assert.equal(await world.whoIs(token), 401)
    })
})

test('a token is asked for and reviewed for its own account and audience alone', patient, async (t: TestContext) => {
  const world = await openWorld(t)
  await world.post(`${CORE}/serviceaccounts`, { metadata: { name: 'other' } })
  await world.post(`${CORE}/pods`, pod('of-other', 'other'))
  const asked = async (account: string, spec: object) =>
    (await ask(world, `${CORE}/serviceaccounts/${account}/token`, { method: 'POST', body: { spec } })).status
  const rows: readonly (readonly [name: string, () => Promise<unknown>, expected: unknown])[] = [
    ['a token bound to the pod of another account', () => asked('robot', boundTo('Pod', 'of-other')), 400],
    ['a token bound to a pod that is not there', () => asked('robot', boundTo('Pod', 'ghost')), 404],
    [
      'a token bound to another uid',
      () => asked('other', { boundObjectRef: { ...boundTo('Pod', 'of-other').boundObjectRef, uid: 'x' } }),
      409,
    ],
    ['a token bound to a kind that tokens are not bound to', () => asked('robot', boundTo('ConfigMap', 'x')), 400],
    ['a token for a minute', () => asked('robot', { expirationSeconds: 60 }), 422],
    ['a token for less than no time', () => asked('robot', { expirationSeconds: -1 }), 422],
    [
      'a token for one audience reviewed for another',
      async () =>
        (await world.post(REVIEWS, { spec: { token: await world.tokenOf('robot', { audiences: ['vault'] }), audiences: ['api'] } })).status
          .authenticated ?? false,
      false,
    ],
    ['a token for one audience sent to the server', async () => world.whoIs(await world.tokenOf('robot', { audiences: ['vault'] })), 401],
  ]
  for (const [name, attempt, expected] of rows) await t.test(name, async () => assert.equal(await attempt(), expected))
})
