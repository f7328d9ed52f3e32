// Authentication over real connections: tokens of service accounts and of an OpenID provider, reviews, and impersonation.
import assert from 'node:assert/strict'
import { createHash, createHmac, generateKeyPairSync, sign, X509Certificate } from 'node:crypto'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { AuthenticationV1Api, CoreV1Api, KubeConfig } from '@kubernetes/client-node'
import { createLocalJWKSet, jwtVerify } from 'jose'
import { issueAuthority, issueClient } from '../src/lib/x509/issue.ts'
import {
  anonymous,
  ask,
  connection,
  eventually,
  freshServer,
  patient,
  run,
  type ServedHere,
  serveHere,
  startProcess,
  type Target,
  temporaryDirectory,
} from './kit.ts'
import { openProvider } from './kits/access.ts'
import { testWith } from './programs.ts'

const ACCOUNTS = '/api/v1/namespaces/default/serviceaccounts'
const PODS = '/api/v1/namespaces/default/pods'
const WHO = '/apis/authentication.k8s.io/v1/selfsubjectreviews'
const REVIEWS = '/apis/authentication.k8s.io/v1/tokenreviews'
const validity = { notBefore: new Date(Date.now() - 3_600_000), notAfter: new Date(Date.now() + 3_600_000) }

const post = (server: Target, path: string, body: object, more: object = {}) => ask(server, path, { method: 'POST', body, ...more })
const bearing = (token: string) => ({ ...anonymous, headers: { authorization: `Bearer ${token}` } })

async function whoami(server: Target, token: string): Promise<any> {
  const { status, json } = await post(server, WHO, {}, bearing(token))
  return status === 201 ? json.status.userInfo : `${status} ${json.message}`
}

async function tokenFor(server: Target, account: string, spec: object = {}): Promise<string> {
  const { status, json, text } = await post(server, `${ACCOUNTS}/${account}/token`, { spec })
  assert.equal(status, 201, text)
  return json.status.token
}

function writeFile(t: TestContext, name: string, text: string): string {
  const file = join(temporaryDirectory(t), name)
  writeFileSync(file, text)
  return file
}

test('client libraries request tokens and are authenticated with them as the right user', patient, async t => {
  const server = await serveHere(t)
  const config = new KubeConfig()
  config.loadFromFile(server.kubeconfig)
  const core = config.makeApiClient(CoreV1Api)
  await core.createNamespacedServiceAccount({ namespace: 'default', body: { metadata: { name: 'robot' } } })
  const asked = { spec: { audiences: [], expirationSeconds: 1200 } }
  const answer = await core.createNamespacedServiceAccountToken({ namespace: 'default', name: 'robot', body: asked as never })
  const { token, expirationTimestamp } = answer.status!
  assert.ok(expirationTimestamp.getTime() > Date.now() + 1_000_000)
  const robot = new KubeConfig()
  robot.loadFromString(readFileSync(server.kubeconfig, 'utf8'))
  robot.users = [{ name: 'keelson', token }] as never
  const { status } = await robot.makeApiClient(AuthenticationV1Api).createSelfSubjectReview({ body: {} })
  assert.equal(status!.userInfo!.username, 'system:serviceaccount:default:robot')
  assert.deepEqual(status!.userInfo!.groups, ['system:serviceaccounts', 'system:serviceaccounts:default', 'system:authenticated'])
  const review = await config.makeApiClient(AuthenticationV1Api).createTokenReview({ body: { spec: { token } } })
  assert.equal(review.status!.authenticated, true)
  assert.equal(review.status!.user!.username, 'system:serviceaccount:default:robot')
})

test('a token is invalid as soon as its account, pod or secret is deleted', patient, async t => {
  const server = await freshServer(t)
  await post(server, ACCOUNTS, { metadata: { name: 'a' } })
  const plain = await tokenFor(server, 'a')
  const pod = { metadata: { name: 'p' }, spec: { serviceAccountName: 'a', containers: [{ name: 'c', image: 'i' }] } }
  const made = (await post(server, PODS, pod)).json
  const [volume] = made.spec.volumes
  assert.match(volume.name, /^kube-api-access-/)
  assert.equal(volume.projected.sources[0].serviceAccountToken.expirationSeconds, 3607)
  await post(server, '/api/v1/namespaces/default/secrets', { metadata: { name: 's' } })
  const bound = await tokenFor(server, 'a', { boundObjectRef: { kind: 'Pod', apiVersion: 'v1', name: 'p' } })
  const kept = await tokenFor(server, 'a', { boundObjectRef: { kind: 'Secret', apiVersion: 'v1', name: 's' } })
  assert.deepEqual((await whoami(server, bound)).extra['authentication.kubernetes.io/pod-name'], ['p'])
  assert.equal((await whoami(server, kept)).username, 'system:serviceaccount:default:a')
  await ask(server, `${PODS}/p?gracePeriodSeconds=0`, { method: 'DELETE' })
  assert.equal(await whoami(server, bound), '401 Unauthorized')
  await ask(server, '/api/v1/namespaces/default/secrets/s', { method: 'DELETE' })
  assert.equal(await whoami(server, kept), '401 Unauthorized')
  assert.equal((await whoami(server, plain)).username, 'system:serviceaccount:default:a')
  await ask(server, `${ACCOUNTS}/a`, { method: 'DELETE' })
  await post(server, ACCOUNTS, { metadata: { name: 'a' } })
  assert.equal(await whoami(server, plain), '401 Unauthorized')
  const { error } = (await post(server, REVIEWS, { spec: { token: plain } })).json.status
  assert.match(error, /^\[invalid bearer token, service account UID \(.+\) does not match claim \(.+\)\]$/)
})

test('others can verify a token with what the server publishes', patient, async t => {
  const server = await freshServer(t)
  const token = await tokenFor(server, 'default', { audiences: ['vault'] })
  const { json: configuration, headers } = await ask(server, '/.well-known/openid-configuration')
  assert.equal(headers['cache-control'], 'public, max-age=3600')
  assert.equal(configuration.issuer, 'https://kubernetes.default.svc.cluster.local')
  const keys = await ask(server, new URL(configuration.jwks_uri).pathname)
  assert.equal(keys.headers['content-type'], 'application/jwk-set+json')
  const { payload } = await jwtVerify(token, createLocalJWKSet(keys.json), { issuer: configuration.issuer, audience: 'vault' })
  assert.equal(payload.sub, 'system:serviceaccount:default:default')
  assert.equal(await whoami(server, token), '401 Unauthorized')
  const { json } = await post(server, REVIEWS, { spec: { token, audiences: ['vault', 'other'] } })
  assert.deepEqual([json.status.authenticated, json.status.audiences], [true, ['vault']])
})

test('the key is kept beside the others, for its owner alone; tokens outlive the server', patient, async t => {
  const first = await serveHere(t)
  const token = await tokenFor(first, 'default')
  assert.equal(statSync(join(first.dataDir, 'pki/service-accounts.pem')).mode & 0o777, 0o600)
  await first.stop()
  const second = await serveHere(t, { dataDir: first.dataDir })
  assert.equal((await whoami(second, token)).username, 'system:serviceaccount:default:default')
})

test('keys, issuers and audiences can be configured', patient, async t => {
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const former = generateKeyPairSync('ec', { namedCurve: 'P-384' })
  const pem = (key: typeof rsa.privateKey) => key.export({ type: key.type === 'private' ? 'pkcs8' : 'spki', format: 'pem' }).toString()
  const flags = [
    '--service-account-signing-key-file',
    writeFile(t, 'sa.key', pem(rsa.privateKey)),
    '--service-account-key-file',
    writeFile(t, 'former.pub', pem(former.publicKey)),
    '--service-account-issuer=https://cluster.example',
    '--service-account-issuer=https://former.example',
    '--api-audiences=api,kube',
  ]
  const server = await serveHere(t, { flags })
  const token = await tokenFor(server, 'default')
  const [header, claims] = token
    .split('.')
    .slice(0, 2)
    .map(part => JSON.parse(Buffer.from(part, 'base64url').toString()))
  assert.deepEqual([header.alg, claims.iss, claims.aud], ['RS256', 'https://cluster.example', ['api', 'kube']])
  assert.equal((await whoami(server, token)).username, 'system:serviceaccount:default:default')
  const input = [{ alg: 'ES384' }, { ...claims, iss: 'https://former.example', aud: 'kube' }]
    .map(part => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.')
  const signature = sign('sha384', Buffer.from(input), { key: former.privateKey, dsaEncoding: 'ieee-p1363' }).toString('base64url')
  assert.equal((await whoami(server, `${input}.${signature}`)).username, 'system:serviceaccount:default:default')
  const { json } = await ask(server, '/openid/v1/jwks')
  assert.deepEqual(
    json.keys.map((key: any) => [key.kty, key.alg]),
    [
      ['RSA', 'RS256'],
      ['EC', 'ES384'],
    ],
  )
})

test('forged tokens are refused, and nothing of any token is written down', patient, async t => {
  const server = await startProcess(t, { flags: ['--log-level', 'debug'] })
  const token = await tokenFor(server, 'default')
  const [head = '', body = '', signature = ''] = token.split('.')
  const claims = JSON.parse(Buffer.from(body, 'base64url').toString())
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const { kid } = JSON.parse(Buffer.from(head, 'base64url').toString())
  const jwks = JSON.stringify((await ask(server, '/openid/v1/jwks')).json)
  const confused = `${encode({ alg: 'HS256', kid })}.${encode({ ...claims, sub: 'system:admin' })}`
  const forged = [
    `${encode({ alg: 'none' })}.${body}.`,
    `${encode({ alg: 'none', kid })}.${body}.${signature}`,
    `${confused}.${createHmac('sha256', jwks).update(confused).digest('base64url')}`,
    `${head}.${encode({ ...claims, sub: 'system:serviceaccount:kube-system:default' })}.${signature}`,
    `${encode({ alg: 'ES256', kid: 'other' })}.${body}.${signature}`,
    `${head}.${body}.${signature.slice(0, -4)}`,
    `${head}.${body}`,
    `${head}.${body}.${signature}.${signature}`,
    `${head}.${encode({ iss: claims.iss, 'kubernetes.io': JSON.parse('['.repeat(500) + ']'.repeat(500)) })}.${signature}`,
    'x'.repeat(8000),
  ]
  for (const bad of forged) assert.equal(await whoami(server, bad), '401 Unauthorized', bad.slice(0, 40))
  await post(server, REVIEWS, { spec: { token: forged[0] } })
  const huge = await post(server, REVIEWS, { spec: { token: `${head}.${'A'.repeat(1_000_000)}.${signature}` } })
  assert.equal(huge.json.status.error, 'invalid bearer token')
  await post(server, `${REVIEWS}?fieldValidation=Strict`, { spec: { token, unheard: 1 } })
  assert.equal((await whoami(server, token)).username, 'system:serviceaccount:default:default')
  const { text } = await ask(server, '/metrics')
  for (const secret of [signature, body.slice(0, 60), signature.slice(0, 20), body.slice(-40)])
    assert.ok(!server.stderr().includes(secret) && !text.includes(secret))
})

testWith('kubectl', 'kubectl acts as others, as far as it may', patient, async (t, program) => {
  const server = await serveHere(t)
  const kubectl = (...args: string[]) => run(program, ['--kubeconfig', server.kubeconfig, '--cache-dir', temporaryDirectory(t), ...args])
  const masters = await kubectl('get', 'namespaces', '--as', 'bob', '--as-group', 'system:masters', '-o', 'name')
  assert.match(masters.stdout, /^namespace\/default$/m)
  const nobody = await kubectl('get', 'secrets', '--as', 'bob')
  assert.equal(nobody.code, 1)
  assert.match(nobody.stderr, /secrets is forbidden: User "bob" cannot list resource "secrets" in API group "" in the namespace "default"/)
  const token = await tokenFor(server, 'default')
  const as = async (headers: Record<string, string>) =>
    (await post(server, WHO, {}, { ...anonymous, headers: { authorization: `Bearer ${token}`, ...headers } })).json
  const refused = await as({ 'impersonate-user': 'admin', 'impersonate-group': 'system:masters' })
  assert.deepEqual([refused.code, refused.reason], [403, 'Forbidden'])
  assert.match(refused.message, /User "system:serviceaccount:default:default" cannot impersonate/)
  const { message, code } = (await post(server, WHO, {}, { headers: { 'impersonate-group': 'a' } })).json
  assert.equal(code, 400)
  assert.match(message, /^requested &user\.DefaultInfo\{.*\} without impersonating a user name$/)
})

test('repeated groups arrive as separate values over both protocols', patient, async t => {
  const server = await freshServer(t)
  const { connect } = await import('node:http2')
  const session = connect(server.url, server.credentials)
  t.after(() => session.close())
  const stream = session.request({
    ':method': 'POST',
    ':path': WHO,
    'content-type': 'application/json',
    'impersonate-user': 'bob',
    'impersonate-group': ['a, b', 'c'],
    'impersonate-extra-acme.com%2fteam': 'red',
  })
  let text = ''
  stream.setEncoding('utf8').on('data', chunk => (text += chunk))
  stream.end('{}')
  await new Promise(resolve => stream.on('end', resolve))
  const { userInfo } = JSON.parse(text).status
  assert.deepEqual(userInfo, { username: 'bob', groups: ['a, b', 'c', 'system:authenticated'], extra: { 'acme.com/team': ['red'] } })
  const headers = { 'impersonate-user': 'bob', 'impersonate-group': ['a, b', 'c'] } as never
  const { json } = await post(server, WHO, {}, { headers })
  assert.deepEqual(json.status.userInfo.groups, ['a, b', 'c', 'system:authenticated'])
})

test('every namespace has its account and the authority; pods need theirs, where the controller runs', patient, async t => {
  const server = await serveHere(t, { flags: ['--controllers=*'] })
  await post(server, '/api/v1/namespaces', { metadata: { name: 'fresh' } })
  const pod = { metadata: { name: 'p' }, spec: { containers: [{ name: 'c', image: 'i' }] } }
  const { json } = await post(server, '/api/v1/namespaces/fresh/pods', pod)
  assert.equal(json.spec.serviceAccountName, 'default')
  const map = '/api/v1/namespaces/fresh/configmaps/kube-root-ca.crt'
  const found = await eventually('the map of the authority', async () => {
    const answer = await ask(server, map)
    return answer.status === 200 ? answer : undefined
  })
  assert.equal(found.json.data['ca.crt'], server.credentials.ca)
  const refused = await post(server, '/api/v1/namespaces/fresh/pods', {
    ...pod,
    metadata: { name: 'q' },
    spec: { ...pod.spec, serviceAccountName: 'x' },
  })
  assert.equal(refused.json.message, 'pods "q" is forbidden: error looking up service account fresh/x: serviceaccount "x" not found')
  for (const flags of [['--controllers=none'], ['--disable-admission-plugins=ServiceAccount']]) {
    const bare = await serveHere(t, { flags })
    const made = await post(bare, PODS, { ...pod, spec: { ...pod.spec, serviceAccountName: 'x' } })
    assert.deepEqual([made.status, made.json.spec.volumes], [201, undefined], flags[0])
  }
  const strict = await serveHere(t, { flags: ['--controllers=none', '--enable-admission-plugins=ServiceAccount'] })
  const { status } = await post(strict, PODS, { ...pod, spec: { ...pod.spec, serviceAccountName: 'x' } })
  assert.equal(status, 403)
})

test('a token secret gets a token that is valid as long as the secret exists', patient, async t => {
  const server = await freshServer(t)
  const secrets = '/api/v1/namespaces/default/secrets'
  const annotations = { 'kubernetes.io/service-account.name': 'default' }
  await post(server, secrets, { metadata: { name: 's', annotations }, type: 'kubernetes.io/service-account-token' })
  const data = await eventually('the token in the secret', async () => (await ask(server, `${secrets}/s`)).json.data)
  const token = Buffer.from(data.token, 'base64').toString()
  assert.equal(Buffer.from(data['ca.crt'], 'base64').toString(), server.credentials.ca)
  assert.equal((await whoami(server, token)).username, 'system:serviceaccount:default:default')
  await eventually(
    'the note of its use',
    async () => (await ask(server, `${secrets}/s`)).json.metadata.labels?.['kubernetes.io/legacy-token-last-used'],
  )
  await ask(server, `${secrets}/s`, { method: 'DELETE' })
  assert.equal(await whoami(server, token), '401 Unauthorized')
})

test('authorities of clients are read again when their file changes', patient, async t => {
  const [former, later] = ['former', 'later'].map(name => issueAuthority(name, validity)) as [any, any]
  const file = writeFile(t, 'ca.pem', former.cert)
  const server = await serveHere(t, { flags: ['--client-ca-file', file] })
  const jane = issueClient(later, { commonName: 'jane' }, validity)
  const asJane = () => post(server, WHO, {}, { ...jane, agent: false })
  assert.equal((await asJane()).status, 401)
  const joe = issueClient(former, { commonName: 'joe' }, validity)
  const kept = { ...joe, agent: connection(t) }
  assert.equal((await post(server, WHO, {}, kept)).status, 201)
  writeFileSync(file, 'half a fi')
  writeFileSync(file, later.cert)
  const { json } = await eventually('the new authority', async () => {
    const answer = await asJane()
    return answer.status === 201 ? answer : undefined
  })
  assert.equal(json.status.userInfo.username, 'jane')
  assert.equal((await post(server, WHO, {}, kept)).status, 401)
  assert.equal((await post(server, WHO, {}, joe)).status, 401)
  assert.equal((await post(server, WHO, {})).json.status.userInfo.username, 'kubernetes-admin')
})

test('the certificate of the generated kubeconfig is kubernetes-admin, without a uid and with its credential id', patient, async t => {
  const server = await serveHere(t)
  const sha256 = createHash('sha256').update(new X509Certificate(server.credentials.cert).raw).digest('hex')
  assert.deepEqual((await post(server, WHO, {})).json.status.userInfo, {
    username: 'kubernetes-admin',
    groups: ['system:masters', 'system:authenticated'],
    extra: { 'authentication.kubernetes.io/credential-id': [`X509SHA256=${sha256}`] },
  })
})

test('ID tokens of a provider are accepted', patient, async t => {
  const { issuer, ca, token } = await openProvider(t)
  const flags = [`--oidc-issuer-url=${issuer}`, '--oidc-client-id=keelson', '--oidc-groups-claim=groups', '--oidc-groups-prefix=id:']
  const server: ServedHere = await serveHere(t, { flags: [...flags, '--oidc-ca-file', writeFile(t, 'id.pem', ca)] })
  assert.deepEqual(await whoami(server, token({ groups: ['ops'] })), {
    username: `${issuer}#jane`,
    groups: ['id:ops', 'system:authenticated'],
  })
  assert.equal(await whoami(server, token({ aud: 'other' })), '401 Unauthorized')
  assert.equal(await whoami(server, token({ exp: 1 })), '401 Unauthorized')
  const account = await tokenFor(server, 'default')
  assert.equal((await whoami(server, account)).username, 'system:serviceaccount:default:default')
  // The labels are hashes of the host, of the issuer and of its document.
  const { text } = await ask(server, '/metrics')
  const fetches = 'apiserver_authentication_jwt_authenticator_jwks_fetch_last'
  const issuerHash = `jwt_issuer_hash="sha256:${createHash('sha256').update(issuer).digest('hex')}"`
  assert.match(
    text,
    new RegExp(`^${fetches}_timestamp_seconds\\{apiserver_id_hash="[^"]+",${issuerHash},result="success"\\} [\\d.e+]+$`, 'm'),
  )
  assert.match(text, new RegExp(`^${fetches}_key_set_info\\{apiserver_id_hash="[^"]+",${issuerHash},hash="sha256:[0-9a-f]{64}"\\} 1$`, 'm'))
  const stranger = await serveHere(t, { flags: [...flags, '--feature-gates=StructuredAuthenticationConfigurationJWKSMetrics=false'] })
  const { json } = await post(stranger, REVIEWS, { spec: { token: token({}) } })
  assert.equal(json.status.error, '[invalid bearer token, oidc: authenticator not initialized]')
})
