// Login, logout and sessions of the console, as its page uses them, without a browser.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  anonymous,
  ask,
  CONFIG_MAPS,
  configMap,
  eventually,
  patient,
  type Sent,
  serverOfFile,
  startInProcess,
  targetOf,
  Watching,
} from '../kit.ts'
import { ConsolePage, codeOf } from '../kits/console.ts'

const server = serverOfFile({ console: true })

/** A token of a service account that may read config maps. */
async function tokenOf(name: string): Promise<string> {
  const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name } }
  await ask(server, '/api/v1/namespaces/default/serviceaccounts', { method: 'POST', body: account })
  const { json } = await ask(server, `/api/v1/namespaces/default/serviceaccounts/${name}/token`, { method: 'POST', body: { spec: {} } })
  return json.status.token
}

test('a code logs its user in once; the cookie is for the console alone, out of reach of scripts and other sites', patient, async () => {
  const page = new ConsolePage(server)
  const code = await codeOf(server)
  const login = await page.logIn({ code })
  assert.equal(login.status, 200, login.text)
  assert.equal(login.json.user, 'kubernetes-admin')
  assert.ok(login.json.groups.includes('system:masters'), login.text)
  assert.ok(Date.parse(login.json.expires) > server.clock.now().getTime())
  const [cookie] = [login.headers['set-cookie'] ?? []].flat()
  assert.match(
    cookie!,
    new RegExp(`^keelson-console-${server.port}=[\\w-]{43}; Path=/console/; HttpOnly; Secure; SameSite=Strict; Max-Age=43200$`),
  )
  const { time: _, ...known } = (await page.send('/console/session')).json
  const { time: __, ...told } = login.json
  assert.deepEqual(known, told)
  assert.equal((await page.api('/api/v1/namespaces')).json.kind, 'NamespaceList')
  const again = await new ConsolePage(server).logIn({ code })
  assert.deepEqual([again.status, again.json.reason, again.headers['set-cookie']], [401, 'Unauthorized', undefined])
})

test('a code is too late after a minute', patient, async t => {
  const own = await startInProcess(t, { console: true })
  const [early, late] = [await codeOf(own), await codeOf(own)]
  await own.clock.advance('30s')
  assert.equal((await new ConsolePage(own).logIn({ code: early })).status, 200)
  await own.clock.advance('30s')
  assert.equal((await new ConsolePage(own).logIn({ code: late })).status, 401)
})

test('a code is for credentials of its own: not for a session, nobody, or an impersonated user', patient, async () => {
  const page = new ConsolePage(server)
  await page.logIn({ code: await codeOf(server) })
  assert.equal((await page.send('/console/codes', { method: 'POST' })).status, 401)
  assert.equal((await ask(server, '/console/codes', { ...anonymous, method: 'POST' })).status, 401)
  const impersonated = await ask(server, '/console/codes', { method: 'POST', headers: { 'impersonate-user': 'bob' } })
  assert.equal(impersonated.status, 400, impersonated.text)
  const foreign = { origin: 'https://elsewhere.example', 'sec-fetch-site': 'cross-site' }
  assert.equal((await ask(server, '/console/codes', { method: 'POST', headers: foreign })).status, 403)
})

test('a token logs in, has the rights of its user, and the session ends with the token', patient, async () => {
  const page = new ConsolePage(server)
  const token = await tokenOf('reader')
  const login = await page.logIn({ token })
  assert.equal(login.json.user, 'system:serviceaccount:default:reader', login.text)
  const refused = await page.api('/api/v1/namespaces/default/secrets')
  assert.equal(refused.status, 403)
  assert.match(refused.json.message, /User "system:serviceaccount:default:reader" cannot list resource "secrets"/)
  await ask(server, '/api/v1/namespaces/default/serviceaccounts/reader', { method: 'DELETE' })
  assert.equal((await page.api('/api/v1/namespaces/default/secrets')).status, 401)
  assert.equal((await page.send('/console/session')).status, 401)
  for (const wrong of [{ token: 'made-up' }, { token: '' }, { token: 'a\nb' }, { token: 7 }, { code: 'made-up' }, { code: null }])
    assert.equal((await new ConsolePage(server).logIn(wrong)).status, 401, JSON.stringify(wrong))
  for (const wrong of [{ code: 'a', token: 'b' }, { user: 'admin' }, []])
    assert.equal((await new ConsolePage(server).logIn(wrong)).status, 400, JSON.stringify(wrong))
})

test('a client certificate logs in where the connection has one', patient, async () => {
  const page = new ConsolePage(server)
  const bob = targetOf(server.kubeconfigFor('bob', ['dev'])).credentials
  const login = await page.logIn({}, bob)
  assert.deepEqual([login.json.user, login.json.groups], ['bob', ['dev', 'system:authenticated']])
  assert.match((await page.api('/api/v1/pods')).json.message, /User "bob" cannot list resource "pods"/)
  assert.equal((await new ConsolePage(server).logIn({})).status, 401)
})

test('the cookie authenticates nothing outside of /console/api/', patient, async () => {
  const page = new ConsolePage(server)
  await page.logIn({ code: await codeOf(server) })
  for (const path of ['/api/v1/namespaces', '/metrics', '/keelson/writes?revisions=1'])
    assert.equal((await page.send(path)).status, 403, path)
  assert.equal((await page.send(CONFIG_MAPS, { method: 'POST', body: configMap('stolen') })).status, 403)
  assert.equal((await page.send('/api/v1/namespaces', { headers: { authorization: `Bearer ${page.cookie.split('=')[1]}` } })).status, 401)
})

/** Requests that the console's page would not send. */
const FORGED: readonly (readonly [request: string, sent: Sent])[] = [
  ['without the header', { headers: { 'keelson-console': '' } }],
  ['of another site', { headers: { origin: 'https://elsewhere.example', 'sec-fetch-site': 'cross-site' } }],
  ['of another site, from a browser that sends no Sec-Fetch-Site', { headers: { origin: 'https://elsewhere.example' } }],
  ['of another port', { headers: { origin: 'https://127.0.0.1:1', 'sec-fetch-site': 'same-site' } }],
  ['of plain HTTP', { headers: { origin: 'http://127.0.0.1' } }],
  ['of a sandbox', { headers: { origin: 'null' } }],
  ['of a link', { headers: { 'sec-fetch-site': 'none' } }],
]

for (const [title, sent] of FORGED)
  test(`a request ${title} is refused, whatever its method, and so are login and logout`, patient, async () => {
    const page = new ConsolePage(server)
    await page.logIn({ code: await codeOf(server) })
    const { cookie } = page
    assert.equal((await page.api('/api/v1/namespaces', sent)).status, 403)
    assert.equal((await page.api(CONFIG_MAPS, { method: 'POST', body: configMap('forged'), ...sent })).status, 403)
    assert.equal((await page.send('/console/session', { method: 'DELETE', ...sent })).status, 403)
    assert.equal((await page.logIn({ code: await codeOf(server) }, sent)).status, 403)
    assert.equal(page.cookie, cookie)
    assert.equal((await page.api('/api/v1/namespaces')).status, 200)
    assert.equal((await ask(server, `${CONFIG_MAPS}/forged`)).status, 404)
  })

test('a write without Origin is refused, as is another protocol', patient, async () => {
  const page = new ConsolePage(server)
  await page.logIn({ code: await codeOf(server) })
  const { origin: _, ...bare } = page.headers()
  const sent = { ...anonymous, method: 'POST', body: configMap('unknown'), headers: bare }
  assert.equal((await ask(server, `/console/api${CONFIG_MAPS}`, sent)).status, 403)
  const upgrade = {
    connection: 'upgrade',
    upgrade: 'websocket',
    'sec-websocket-version': '13',
    'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA==',
  }
  const { status } = await page.api('/api/v1/namespaces?watch=1', { agent: false, headers: upgrade })
  assert.equal(status, 403)
})

test('a preflight request of another site is allowed nothing, also where CORS allows that site the API', patient, async t => {
  const own = await startInProcess(t, { console: true, corsAllowedOrigins: ['^https://elsewhere\\.example$'] })
  const preflight = {
    method: 'OPTIONS',
    headers: {
      origin: 'https://elsewhere.example',
      'sec-fetch-site': 'cross-site',
      'access-control-request-method': 'GET',
      'access-control-request-headers': 'keelson-console',
    },
  }
  assert.equal(
    (await ask(own, '/api/v1/namespaces', { ...anonymous, ...preflight })).headers['access-control-allow-origin'],
    'https://elsewhere.example',
  )
  const answer = await ask(own, '/console/api/api/v1/namespaces', { ...anonymous, ...preflight })
  assert.deepEqual([answer.status, answer.headers['access-control-allow-origin']], [403, undefined])
})

test('a host that the certificate is not for gets 421 everywhere below /console', patient, async () => {
  const page = new ConsolePage(server)
  await page.logIn({ code: await codeOf(server) })
  const host = `evil.example:${server.port}`
  // The client does not mind; the server does.
  const sent = { headers: { host, origin: `https://${host}` }, agent: false, checkServerIdentity: () => undefined } as const
  for (const path of ['/console/', '/console/session', '/console/api/api/v1/namespaces', '/console/assets/main.js'])
    assert.equal((await page.send(path, sent)).status, 421, path)
  for (const name of ['localhost', '127.0.0.1', 'LOCALHOST'])
    assert.equal((await page.send('/console/', { headers: { host: `${name}:${server.port}` }, agent: false })).status, 200, name)
})

test('logout ends the session in the server and the watches that it has opened', patient, async t => {
  const page = new ConsolePage(server)
  await page.logIn({ code: await codeOf(server) })
  const credentials = { ...server.credentials, ...anonymous, headers: page.headers() }
  const watching = await Watching.open(t, { url: server.url, credentials }, '/console/api/api/v1/namespaces?watch=1')
  assert.equal((await watching.next())?.type, 'ADDED')
  const key = page.cookie
  const { status, headers } = await page.send('/console/session', { method: 'DELETE' })
  assert.equal(status, 204)
  assert.match(String(headers['set-cookie']), /Max-Age=0/)
  page.cookie = key
  assert.equal((await page.api('/api/v1/namespaces')).status, 401)
  await watching.end()
})

test('a session ends after half an hour without use, and after twelve hours in any case', patient, async t => {
  const own = await startInProcess(t, { console: true })
  const [used, unused] = [new ConsolePage(own), new ConsolePage(own)]
  for (const page of [used, unused]) await page.logIn({ code: await codeOf(own) })
  for (let minutes = 0; minutes < 12 * 60 - 20; minutes += 20) {
    await own.clock.advance('20m')
    assert.equal((await used.api('/api/v1/namespaces')).status, 200, `after ${minutes + 20} minutes`)
    if (minutes === 20) assert.equal((await unused.api('/api/v1/namespaces')).status, 401)
  }
  await own.clock.advance('20m')
  assert.equal((await used.api('/api/v1/namespaces')).status, 401)
})

test('a second login in the same browser ends the first session', patient, async () => {
  const page = new ConsolePage(server)
  await page.logIn({ code: await codeOf(server) })
  const first = page.cookie
  await page.logIn({ code: await codeOf(server) })
  assert.notEqual(page.cookie, first)
  page.cookie = first
  assert.equal((await page.send('/console/session')).status, 401)
})

test('requests of a session are those of its user in the audit and in recordings, under their own path', patient, async t => {
  const policy = { apiVersion: 'audit.k8s.io/v1', kind: 'Policy', rules: [{ level: 'Metadata' }] }
  const own = await startInProcess(t, { console: true, audit: { policy } } as never)
  const page = new ConsolePage(own)
  const bob = targetOf(own.kubeconfigFor('bob')).credentials
  await page.logIn({}, bob)
  await page.api('/api/v1/namespaces/default/pods?limit=5')
  const found = await eventually('the event', () => own.audit().find(event => event.requestURI.includes('/pods')))
  assert.equal(found.requestURI, '/api/v1/namespaces/default/pods?limit=5')
  assert.equal(found.user.username, 'bob')
  const recorded = own.requests().find(({ user }) => user === 'bob')
  assert.equal(recorded?.path, '/api/v1/namespaces/default/pods?limit=5')
})

test('every response below /console has the headers that protect the page', patient, async () => {
  const page = new ConsolePage(server)
  for (const path of [
    '/console/',
    '/console',
    '/console/session',
    '/console/api/api',
    '/console/assets/none.js',
    '/console/k/any.kind/x.y',
  ]) {
    const { headers } = await page.send(path)
    assert.match(
      String(headers['content-security-policy']),
      /^default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self';/,
      path,
    )
    assert.match(String(headers['content-security-policy']), /frame-ancestors 'none'/, path)
    assert.equal(headers['x-content-type-options'], 'nosniff', path)
    assert.equal(headers['referrer-policy'], 'no-referrer', path)
    assert.equal(headers['cross-origin-opener-policy'], 'same-origin', path)
  }
})

test('without the option there is no console', patient, async t => {
  const own = await startInProcess(t)
  assert.equal((await ask(own, '/console/')).status, 404)
  assert.equal((await ask(own, '/console/codes', { method: 'POST' })).status, 404)
})
