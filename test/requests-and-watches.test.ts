// Endpoints that show administrators what goes on: the last requests, open watches, and whom roles permit a request.
import assert from 'node:assert/strict'
import { request } from 'node:https'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import {
  ask,
  CONFIG_MAPS,
  configMap,
  eventually,
  freshServer,
  patient,
  type Scope,
  startInProcess,
  type Target,
  targetOf,
  Watching,
} from './kit.ts'
import { startProcesses } from './kits/processes.ts'

const REQUESTS = '/keelson/v1/requests'
const requestsOf = async (server: Target, query = '') => (await ask(server, `${REQUESTS}${query}`)).json.requests as any[]

/** The lines of a stream of JSON, as they arrive. */
async function follow(t: Scope, { url, credentials }: Target, path: string) {
  const lines: any[] = []
  await new Promise<void>((resolve, reject) => {
    const sent = request(new URL(path, url), { ...credentials, agent: false }, answer => {
      assert.equal(answer.headers['content-type'], 'application/x-ndjson')
      // The end of the test cuts it off.
      answer.on('error', () => {})
      createInterface(answer)
        .on('line', line => lines.push(JSON.parse(line)))
        .on('error', () => {})
      resolve()
    })
    sent.on('error', reject).end()
    t.after(() => sent.destroy())
  })
  return lines
}

test('requests are recorded from the first look on: users, objects, outcomes, and the time of each phase', patient, async t => {
  const server = await freshServer(t)
  const bob = { ...server, ...targetOf(server.kubeconfigFor('bob')) }
  const first = await ask(server, REQUESTS)
  assert.equal(first.status, 200, first.text)
  const before = first.json.requests.length
  await ask(server, CONFIG_MAPS, { method: 'POST', body: configMap('a'), headers: { 'user-agent': 'test/1' } })
  await ask(bob, `${CONFIG_MAPS}/a?pretty=true`)
  await ask(server, `${CONFIG_MAPS}?labelSelector=x%3Dy`)
  await ask(server, '/version?token=secret')
  await ask(server, `${CONFIG_MAPS}/a`, { headers: { 'impersonate-user': 'carol' } })
  const recorded = (await requestsOf(server)).slice(before)
  assert.deepEqual(
    recorded.map(({ user, impersonator, verb, path, query, status }) => ({ user, impersonator, verb, path, query, status })),
    [
      { user: 'kubernetes-admin', impersonator: undefined, verb: 'create', path: CONFIG_MAPS, query: undefined, status: 201 },
      { user: 'bob', impersonator: undefined, verb: 'get', path: `${CONFIG_MAPS}/a`, query: 'pretty=true', status: 403 },
      { user: 'kubernetes-admin', impersonator: undefined, verb: 'list', path: CONFIG_MAPS, query: 'labelSelector=x%3Dy', status: 200 },
      { user: 'kubernetes-admin', impersonator: undefined, verb: 'get', path: '/version', query: undefined, status: 200 },
      { user: 'carol', impersonator: 'kubernetes-admin', verb: 'get', path: `${CONFIG_MAPS}/a`, query: undefined, status: 403 },
    ],
  )
  const [create] = recorded
  assert.equal(create.userAgent, 'test/1')
  assert.deepEqual(create.resource, { group: '', version: 'v1', resource: 'configmaps', subresource: '', namespace: 'default', name: '' })
  assert.ok(create.requestBytes > 0 && create.responseBytes > 0)
  for (const phase of ['authn', 'authz', 'decode', 'admission', 'store', 'encode'])
    assert.ok(create.phases[phase] >= 0, `no ${phase}: ${JSON.stringify(create.phases)}`)
  const sum = Object.values(create.phases as Record<string, number>).reduce((total, ms) => total + ms, 0)
  assert.ok(Math.abs(sum - create.ms) < 1, `${sum} of ${create.ms}`)
  assert.doesNotMatch(JSON.stringify(recorded), /secret/)
  for (const [query, expected] of [
    ['?user=bob', 1],
    ['?status=4xx', 2],
    ['?status=201', 1],
    ['?verb=list&resource=configmaps', 1],
    ['?userAgent=test/', 1],
    ['?namespace=none', 0],
  ] as const)
    assert.equal((await requestsOf(server, query)).filter(({ number }) => number >= create.number).length, expected, query)
  assert.equal((await ask(server, `${REQUESTS}?colour=red`)).status, 400)
  assert.equal((await ask(server, REQUESTS, { method: 'POST' })).status, 405)
})

test(
  'bodies are recorded from the first look at bodies on, never those of Secrets and tokens, and are for those who may read the object',
  patient,
  async t => {
    const server = await freshServer(t)
    const bodies = (query = '') => ask(server, `${REQUESTS}/bodies${query}`)
    const newest = async (path: string) => (await requestsOf(server)).findLast(each => each.path === path)
    const of = ({ number, auditID }: { number: number; auditID: string }) => `?number=${number}&auditID=${auditID}`
    await requestsOf(server)
    await ask(server, CONFIG_MAPS, { method: 'POST', body: configMap('before') })
    assert.equal((await bodies(of(await newest(CONFIG_MAPS)))).status, 404)
    assert.equal((await bodies()).status, 200)
    await ask(server, CONFIG_MAPS, { method: 'POST', body: configMap('seen', { key: 'a value' }) })
    const request = await newest(CONFIG_MAPS)
    assert.equal(request.hasBodies, true)
    const { status, json } = await bodies(of(request))
    assert.equal(status, 200)
    assert.deepEqual(JSON.parse(json.request.text).data, { key: 'a value' })
    assert.equal(JSON.parse(json.response.text).metadata.name, 'seen')
    assert.equal((await bodies(`?number=${request.number}&auditID=another`)).status, 404)

    const secrets = '/api/v1/namespaces/default/secrets'
    await ask(server, secrets, { method: 'POST', body: { metadata: { name: 's' }, stringData: { password: 'hidden' } } })
    await ask(server, `${secrets}/s`)
    const token = '/api/v1/namespaces/default/serviceaccounts/default/token'
    await ask(server, token, { method: 'POST', body: { spec: {} } })
    const review = '/apis/authentication.k8s.io/v1/tokenreviews'
    await ask(server, review, { method: 'POST', body: { spec: { token: 'hidden' } } })
    for (const path of [secrets, `${secrets}/s`, token, review]) {
      const secret = await newest(path)
      assert.equal(secret.hasBodies, undefined, path)
      assert.equal((await bodies(of(secret))).status, 404, path)
    }

    const large = await ask(server, CONFIG_MAPS, { method: 'POST', body: configMap('large', { key: 'x'.repeat(100_000) }) })
    assert.equal(large.status, 201)
    const cut = (await bodies(of(await newest(CONFIG_MAPS)))).json
    assert.ok(cut.request.bytes > 100_000 && cut.request.text === undefined)

    const rbac = '/apis/rbac.authorization.k8s.io/v1'
    const rules = [{ nonResourceURLs: [REQUESTS, `${REQUESTS}/bodies`], verbs: ['get'] }]
    await ask(server, `${rbac}/clusterroles`, { method: 'POST', body: { metadata: { name: 'looks' }, rules } })
    const subjects = [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'dora' }]
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'looks' }
    await ask(server, `${rbac}/clusterrolebindings`, { method: 'POST', body: { metadata: { name: 'looks' }, subjects, roleRef } })
    const dora = { ...server, ...targetOf(server.kubeconfigFor('dora')) }
    await eventually('dora may look', async () => ((await ask(dora, REQUESTS)).status === 200 ? true : undefined))
    const refused = await ask(dora, `${REQUESTS}/bodies${of(request)}`)
    assert.equal(refused.status, 403)
    assert.match(refused.json.message, /cannot list resource "configmaps"/)
  },
)

test('requests can be followed, filtered, as lines of JSON', patient, async t => {
  const server = await freshServer(t)
  const lines = await follow(t, server, `${REQUESTS}?watch=1&resource=configmaps&verb=create`)
  for (const name of ['a', 'b', 'c']) await ask(server, CONFIG_MAPS, { method: 'POST', body: configMap(name) })
  await ask(server, CONFIG_MAPS)
  await eventually('three lines', () => (lines.length >= 3 ? true : undefined))
  assert.deepEqual(
    lines.map(({ verb, status }) => [verb, status]),
    [
      ['create', 201],
      ['create', 201],
      ['create', 201],
    ],
  )
})

test('recording ends five minutes after the last look, and keeps a bounded number of requests', patient, async t => {
  const server = await startInProcess(t)
  await requestsOf(server)
  for (let sent = 0; sent < 2_500; sent += 100) await Promise.all(Array.from({ length: 100 }, () => server.fetch('/version')))
  const kept = await requestsOf(server)
  assert.ok(kept.length > 1_000 && kept.length <= 2_000, String(kept.length))
  await server.clock.advance('6m')
  await ask(server, '/version')
  assert.deepEqual(await requestsOf(server), [])
})

test('open watches are listed with their user, selectors and events, until they are closed', patient, async t => {
  const server = await freshServer(t)
  const watchesOf = async () =>
    ((await ask(server, '/keelson/v1/watches')).json.watches as any[]).filter(({ path }) => path === CONFIG_MAPS)
  const watching = await Watching.open(t, server, `${CONFIG_MAPS}?watch=1&labelSelector=app&fieldSelector=metadata.name!=x`)
  await ask(server, CONFIG_MAPS, { method: 'POST', body: configMap('seen', {}, { labels: { app: 'web' } }) })
  assert.equal((await watching.next())?.type, 'ADDED')
  const [watch, ...others] = await watchesOf()
  assert.deepEqual(others, [])
  const { user, verb, namespace, labelSelector, fieldSelector, events, unsentBytes, resource } = watch
  assert.deepEqual(
    { user, verb, namespace, labelSelector, fieldSelector, events, unsentBytes, resource: resource.resource },
    {
      user: 'kubernetes-admin',
      verb: 'watch',
      namespace: 'default',
      labelSelector: 'app',
      fieldSelector: 'metadata.name!=x',
      events: 1,
      unsentBytes: 0,
      resource: 'configmaps',
    },
  )
  assert.ok(watch.bytes > 0)
  watching.close()
  await eventually('the end of the watch', async () => ((await watchesOf()).length === 0 ? true : undefined))
})

test('access is resolved to the bindings that give it', patient, async t => {
  const server = await freshServer(t)
  const rbac = '/apis/rbac.authorization.k8s.io/v1'
  const role = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'Role', metadata: { name: 'reader' } }
  const rules = [{ apiGroups: [''], resources: ['configmaps'], resourceNames: ['a'], verbs: ['get'] }]
  await ask(server, `${rbac}/namespaces/default/roles`, { method: 'POST', body: { ...role, rules } })
  const binding = {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'RoleBinding',
    metadata: { name: 'readers' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'reader' },
    subjects: [
      { apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'bob' },
      { kind: 'ServiceAccount', name: 'robot', namespace: 'default' },
    ],
  }
  await ask(server, `${rbac}/namespaces/default/rolebindings`, { method: 'POST', body: binding })
  const who = async (query: string) => (await ask(server, `/keelson/v1/access?${query}`)).json
  const found = await who('verb=get&resource=configmaps&namespace=default&name=a')
  assert.equal(found.isComplete, true)
  assert.deepEqual(found.bindings.at(-1), {
    kind: 'RoleBinding',
    namespace: 'default',
    name: 'readers',
    roleRef: { kind: 'Role', name: 'reader' },
    subjects: [
      { kind: 'User', name: 'bob' },
      { kind: 'ServiceAccount', name: 'robot', namespace: 'default' },
    ],
  })
  assert.ok(found.bindings.some(({ name, kind }: any) => kind === 'ClusterRoleBinding' && name === 'cluster-admin'))
  const other = await who('verb=get&resource=configmaps&namespace=default&name=b')
  assert.ok(other.bindings.every(({ name }: any) => name !== 'readers'))
  assert.ok((await who('verb=get&path=/livez')).bindings.some(({ name }: any) => name === 'system:public-info-viewer'))
  for (const wrong of ['', 'verb=get', 'verb=get&resource=a&path=/b', 'verb=get&resource=a&colour=red'])
    assert.equal((await ask(server, `/keelson/v1/access?${wrong}`)).status, 400, wrong)
})

test('of several processes each shows the requests and watches of all', patient, async t => {
  const server = await startProcesses(t, 2)
  await server.complete()
  const clients = [server.client(), server.client()]
  await clients[0]!.ask(REQUESTS)
  const lines = await follow(t, server, `${REQUESTS}?watch=1&user=kubernetes-admin&verb=create&resource=configmaps`)
  const watching = await Watching.open(t, server, `${CONFIG_MAPS}?watch=1`)
  for (const [i, client] of clients.entries()) await client.ask(CONFIG_MAPS, { method: 'POST', body: configMap(`of-${i}`) })
  for (const client of clients) {
    const { requests } = (await client.ask(`${REQUESTS}?verb=create&resource=configmaps&user=kubernetes-admin`)).json
    assert.equal(requests.length, 2)
    const { watches } = (await client.ask('/keelson/v1/watches')).json
    assert.equal(watches.filter(({ path }: any) => path === CONFIG_MAPS).length, 1)
  }
  await eventually('both requests are followed', () => (lines.length === 2 ? true : undefined))
  watching.close()
})
