// Authentication: the admin's certificate, known certificates and listed tokens; everyone else sees health and version, wherever the server
// listens.
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { issueAuthority, issueClient, issueServer, type KeyPair } from '../src/lib/x509/issue.ts'
import { type Answer, anonymous, ask, CONFIG_MAPS, configMap, patient, type ServedHere, serveHere, temporaryDirectory } from './kit.ts'

const TOKEN = 'open-sesame-4f1d'
const OPEN_PATHS = ['/healthz', '/livez', '/readyz', '/readyz?verbose', '/version', '/version/']
const CLOSED_PATHS = [
  '/',
  '/api',
  '/apis',
  '/api/v1',
  '/api/v1/namespaces',
  CONFIG_MAPS,
  `${CONFIG_MAPS}?watch=true`,
  '/apis/apps/v1/daemonsets',
  '/openapi/v2',
  '/openapi/v3',
  '/metrics',
  '/versions',
  '/healthzz',
  '/healthz/ping',
  '/livez/ping',
  '/readyz/ping',
  '/unheardof',
  '/apis/unheard.of/v1/things',
]
/** Ways to say one path and mean another. */
const TRICKS = [
  '/healthz/../api',
  '/healthz/%2e%2e/metrics',
  '/healthz/..%2fapi/v1/namespaces',
  '/%76ersion/../metrics',
  '//version//../api',
  '/version;/../api',
  '/version/..;/metrics',
  '/healthz\\..\\metrics',
]

const validity = { notBefore: new Date(Date.now() - 3_600_000), notAfter: new Date(Date.now() + 3_600_000) }

function writeFile(t: TestContext, name: string, text: string): string {
  const file = join(temporaryDirectory(t), name)
  writeFileSync(file, text)
  return file
}

function assertStatus({ status, json, text, headers }: Answer, code: number, reason: string): void {
  assert.equal(status, code, text)
  assert.equal(headers['content-type'], 'application/json')
  assert.deepEqual([json.kind, json.apiVersion, json.status, json.reason, json.code], ['Status', 'v1', 'Failure', reason, code])
}

async function assertClosed(server: ServedHere): Promise<void> {
  for (const path of OPEN_PATHS) assert.equal((await ask(server, path, anonymous)).status, 200, path)
  for (const path of CLOSED_PATHS) {
    const answer = await ask(server, path, anonymous)
    assertStatus(answer, 403, 'Forbidden')
  }
  for (const path of TRICKS) {
    const { status, text } = await ask(server, path, anonymous)
    assert.ok(status >= 300 && status < 500, `${path}: ${status} ${text}`)
    assert.doesNotMatch(text, /"items"|"versions"|^# TYPE/m)
  }
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE'])
    for (const path of ['/healthz', '/version', CONFIG_MAPS, `${CONFIG_MAPS}/x`]) {
      const { status } = await ask(server, path, { ...anonymous, method, body: configMap('planted') })
      assert.equal(status, 403, `${method} ${path}`)
    }
  const names = (await ask(server, CONFIG_MAPS)).json.items.map(({ metadata }: { metadata: { name: string } }) => metadata.name)
  assert.ok(!names.includes('planted') && !names.includes('x'), names)
}

test('without credentials only health and version can be read', patient, async t => {
  const server = await serveHere(t)
  await assertClosed(server)
  assert.equal((await ask(server, '/healthz', anonymous)).text, 'ok')
})

test('rejections have the texts of kube-apiserver', patient, async t => {
  const server = await serveHere(t)
  const message = async (path: string, method = 'GET') => (await ask(server, path, { ...anonymous, method })).json.message
  assert.equal(await message('/metrics'), 'forbidden: User "system:anonymous" cannot get path "/metrics"')
  assert.equal(
    await message(`${CONFIG_MAPS}/x`, 'DELETE'),
    'configmaps "x" is forbidden: User "system:anonymous" cannot delete resource "configmaps" in API group "" in the namespace "default"',
  )
  assert.equal(
    await message('/apis/networking.k8s.io/v1/servicecidrs'),
    'servicecidrs.networking.k8s.io is forbidden: User "system:anonymous" cannot list resource "servicecidrs" in API group "networking.k8s.io" at the cluster scope',
  )
  const refused = await ask(server, '/api', { ...anonymous, headers: { authorization: 'Bearer wrong' } })
  assertStatus(refused, 401, 'Unauthorized')
})

test('tokens of the file are accepted; wrong ones are rejected even where anonymous requests are allowed', patient, async t => {
  const tokens = writeFile(t, 'tokens.csv', `${TOKEN},jane,u1,"devs,ops"\n# nobody,uses,this\n"other,token",joe,u2\n`)
  const server = await serveHere(t, { flags: ['--token-auth-file', tokens] })
  const as = (authorization: string, path = '/api') => ask(server, path, { ...anonymous, headers: { authorization } })
  for (const good of [`Bearer ${TOKEN}`, `bearer ${TOKEN}`, 'Bearer other,token']) assert.equal((await as(good)).status, 200, good)
  for (const bad of ['Bearer wrong', `Bearer ${TOKEN}x`, `Bearer ${TOKEN.slice(0, -1)}`, `Bearer ${TOKEN.toUpperCase()}`]) {
    const refused = await as(bad)
    assertStatus(refused, 401, 'Unauthorized')
    assert.equal(refused.json.message, 'Unauthorized')
    assert.equal((await as(bad, '/healthz')).status, 401, bad)
  }
  // Credentials of an unknown type are no credentials.
  for (const other of [`Basic ${Buffer.from(`jane:${TOKEN}`).toString('base64')}`, 'Bearer', 'Bearer '])
    assertStatus(await as(other), 403, 'Forbidden')
  assert.equal((await ask(server, `/api?access_token=${TOKEN}`, anonymous)).status, 403, 'a token in the address is not looked at')
  // Authentication is not authorization.
  assertStatus(await as(`Bearer ${TOKEN}`, CONFIG_MAPS), 403, 'Forbidden')
  await assertClosed(server)
})

test('a certificate of another authority is rejected, whatever its name; that of the admin is accepted', patient, async t => {
  const server = await serveHere(t)
  const stranger = issueAuthority('keelson-ca', validity)
  const forged = issueClient(stranger, { commonName: 'kubernetes-admin', organizations: ['system:masters'] }, validity)
  for (const path of [CONFIG_MAPS, '/healthz']) assertStatus(await ask(server, path, forged), 401, 'Unauthorized')
  const { cert, key } = server.credentials
  assert.equal((await ask(server, CONFIG_MAPS, { cert, key })).status, 200)
  assert.equal((await ask(server, CONFIG_MAPS, { cert, key, headers: { authorization: 'Bearer wrong' } })).status, 200)
})

test('additional client CAs are accepted when configured, their expired certificates are not', patient, async t => {
  const authority = issueAuthority('ours', validity)
  const server = await serveHere(t, { flags: ['--client-ca-file', writeFile(t, 'ca.pem', authority.cert)] })
  const good = issueClient(authority, { commonName: 'jane' }, validity)
  assert.equal((await ask(server, '/api', good)).status, 200)
  const past = { notBefore: new Date(Date.now() - 7_200_000), notAfter: new Date(Date.now() - 3_600_000) }
  const expired = issueClient(authority, { commonName: 'jane' }, past)
  assertStatus(await ask(server, '/api', expired), 401, 'Unauthorized')
  const asServer = issueServer(authority, 'jane', { names: ['localhost'], ...validity })
  assertStatus(await ask(server, '/api', asServer), 401, 'Unauthorized')
})

test('the server uses the configured certificate, and its kubeconfig trusts it', patient, async t => {
  const authority = issueAuthority('corporate', validity)
  const own: KeyPair = issueServer(authority, 'api', { names: ['127.0.0.1'], ...validity })
  const flags = [
    '--tls-cert-file',
    writeFile(t, 'tls.crt', own.cert + authority.cert),
    '--tls-private-key-file',
    writeFile(t, 'tls.key', own.key),
  ]
  const server = await serveHere(t, { flags })
  assert.equal((await ask(server, CONFIG_MAPS)).status, 200)
  assert.equal((await ask(server, CONFIG_MAPS, { ca: authority.cert })).status, 200)
})

test('listening on all addresses grants no more access', patient, async t => {
  const server = await serveHere(t, { flags: ['--bind-address', '0.0.0.0'] })
  assert.match(server.url, /^https:\/\/127\.0\.0\.1:/)
  await assertClosed(server)
  const others = Object.values(networkInterfaces()).flatMap(addresses => addresses ?? [])
  for (const { address, family, internal } of others)
    if (family === 'IPv4' && !internal) {
      const elsewhere = { ...anonymous, host: address, checkServerIdentity: () => undefined }
      assert.equal((await ask(server, '/readyz', elsewhere)).status, 200)
      assertStatus(await ask(server, CONFIG_MAPS, elsewhere), 403, 'Forbidden')
    }
})

test('--anonymous-auth=false rejects every request without credentials, health included', patient, async t => {
  const server = await serveHere(t, { flags: ['--anonymous-auth=false'] })
  for (const path of [...OPEN_PATHS, ...CLOSED_PATHS]) assertStatus(await ask(server, path, anonymous), 401, 'Unauthorized')
  assert.equal((await ask(server, '/healthz')).status, 200)
  assert.equal((await ask(server, CONFIG_MAPS)).status, 200)
})
