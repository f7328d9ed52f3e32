// Two servers on one etcd that serve different resources: each answers for both.
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { after } from 'node:test'
import { WebSocket } from 'ws'
import { issueAuthority, issueClient, issueServer } from '../src/lib/x509/issue.ts'
import type { StartOptions } from '../src/public.d.ts'
import { type Answer, ask, eventually, patient, type Scope, startInProcess, type Target, temporaryDirectory, Watching } from './kit.ts'
import { startEtcd } from './kits/etcd.ts'
import { testWith } from './programs.ts'

const ends: (() => unknown)[] = []
const untilTheEnd: Scope = { after: undo => void ends.push(undo) }
after(async () => {
  for (const end of ends.reverse()) await end()
})

type Pair = {
  readonly a: Target & { close(): Promise<void> }
  readonly b: Target
  /** The URL of etcd. */
  readonly etcd: string
  /** The certificate of both servers, and its key. */
  readonly certificate: { readonly cert: string; readonly key: string }
}
let pair: Promise<Pair> | undefined

/** `a` serves everything, `b` neither Jobs nor reviews of users. They trust each other by the certificates of flags. */
const pairOn = (program: string): Promise<Pair> => (pair ??= startPair(program))

async function startPair(program: string): Promise<Pair> {
  const etcd = await startEtcd({ program })
  untilTheEnd.after(() => etcd[Symbol.asyncDispose]())
  const { certificate, files } = certified()
  const options: StartOptions = { ...files, store: 'etcd', etcdServers: etcd.endpoints, controllers: ['none'] }
  const a = await startInProcess(untilTheEnd, options)
  const b = await startInProcess(untilTheEnd, { ...options, runtimeConfig: 'batch/v1=false,authentication.k8s.io/v1=false' })
  return { a, b, etcd: etcd.endpoints[0]!, certificate }
}

function certified(): { readonly certificate: Pair['certificate']; readonly files: StartOptions } {
  const folder = temporaryDirectory(untilTheEnd)
  const validity = { notBefore: new Date(Date.now() - 60_000), notAfter: new Date(Date.now() + 3600_000) }
  const [authority, proxies] = [issueAuthority('servers', validity), issueAuthority('proxies', validity)]
  const server = issueServer(authority, 'server', { names: ['kubernetes.default.svc', '127.0.0.1'], ...validity })
  const client = issueClient(proxies, { commonName: 'front-proxy-client' }, validity)
  const file = (name: string, text: string) => {
    writeFileSync(join(folder, name), text)
    return join(folder, name)
  }
  const files = {
    tlsCertFile: file('server.crt', server.cert + authority.cert),
    tlsPrivateKeyFile: file('server.key', server.key),
    peerCaFile: file('ca.crt', authority.cert),
    proxyClientCertFile: file('proxy.crt', client.cert),
    proxyClientKeyFile: file('proxy.key', client.key),
    requestheaderClientCaFile: file('proxies.crt', proxies.cert),
    requestheaderAllowedNames: ['front-proxy-client'],
    requestheaderUsernameHeaders: ['X-Remote-User'],
    requestheaderUidHeaders: ['X-Remote-Uid'],
    requestheaderGroupHeaders: ['X-Remote-Group'],
    requestheaderExtraHeadersPrefix: ['X-Remote-Extra-'],
  }
  return { certificate: server, files }
}

const WIDGETS = '/apis/widgets.test/v1/namespaces/default/widgets'
const widgets = { resource: 'widgets', responseKind: { group: '', version: '', kind: 'Widget' }, scope: 'Namespaced', verbs: ['list'] }
const definition = {
  metadata: { name: 'widgets.widgets.test' },
  spec: {
    group: 'widgets.test',
    scope: 'Namespaced',
    names: { plural: 'widgets', kind: 'Widget' },
    versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
  },
}

/** A server of another release, as its peers see it: a lease, a record, and a port that serves widgets. */
async function startStranger(t: Scope, { a, etcd, certificate }: Pair) {
  const server = createServer(certificate, ({ url }, response) => {
    const items = url === '/apis' ? [{ metadata: { name: 'widgets.test' }, versions: [{ version: 'v1', resources: [widgets] }] }] : []
    if (url === '/api' || url === '/apis') response.setHeader('content-type', AGGREGATED).end(JSON.stringify({ items }))
    else response.end('widgets of the stranger')
  })
  const end = () => {
    server.closeAllConnections()
    server.close()
  }
  t.after(end)
  await new Promise<void>(done => server.listen(0, '127.0.0.1', done))
  const { port } = server.address() as AddressInfo
  const identity = 'apiserver-stranger'
  const keyed = (more: object) => JSON.stringify({ key: btoa(`/registry/peerserverleases/${identity}`), ...more })
  const subsets = [{ addresses: [{ ip: '127.0.0.1' }], ports: [{ name: 'https', port, protocol: 'TCP' }] }]
  const record = { kind: 'Endpoints', apiVersion: 'v1', metadata: { labels: { apiserverIdentity: identity } }, subsets }
  await fetch(`${etcd}/v3/kv/put`, { method: 'POST', body: keyed({ value: btoa(JSON.stringify(record)) }) })
  const labels = { 'apiserver.kubernetes.io/identity': 'kube-apiserver' }
  const spec = { holderIdentity: identity, leaseDurationSeconds: 3600, renewTime: new Date().toISOString().replace('Z', '000Z') }
  const leases = '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases'
  const { status, text } = await ask(a, leases, { method: 'POST', body: { metadata: { name: identity, labels }, spec } })
  assert.equal(status, 201, text)
  return {
    address: `127.0.0.1:${port}`,
    end,
    withdraw: () => fetch(`${etcd}/v3/kv/deleterange`, { method: 'POST', body: keyed({}) }),
    leave: () => ask(a, `${leases}/${identity}`, { method: 'DELETE' }),
  }
}

const JOBS = '/apis/batch/v1/namespaces/default/jobs'
const AGGREGATED = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList'
const job = (name: string) => ({
  metadata: { name },
  spec: { template: { spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'x' }] } } },
})
/** Whether a server passes on requests for Jobs. */
const isPassing = async (target: Target, isIt: boolean) =>
  eventually(`${isIt ? '' : 'no '}peer`, async () => ((await ask(target, JOBS)).status === (isIt ? 200 : 404) ? true : undefined))
const groupsAt = async (target: Target, accept: string) => {
  const { json, headers } = await ask(target, '/apis', { headers: { accept } })
  return { etag: headers['etag'], names: json.items.map(({ metadata }: any) => metadata.name) as string[] }
}

testWith('etcd', 'a server passes on requests for resources that only another one serves', patient, async (t, program) => {
  const { a, b } = await pairOn(program)
  await isPassing(b, true)
  const watching = await Watching.open(t, b, `${JOBS}?watch=1`)
  const made = await ask(b, JOBS, { method: 'POST', body: job('made') })
  assert.equal(made.status, 201, made.text)
  assert.equal((await watching.next())?.object.metadata.name, 'made')
  assert.deepEqual((await ask(a, `${JOBS}/made`)).json, made.json)
  const open = (path: string) => {
    const socket = new WebSocket(b.url.replace('https', 'wss') + path, { ...b.credentials })
    t.after(() => socket.terminate())
    return new Promise<{ message: string } | { status: number | undefined }>((resolve, reject) => {
      socket.once('message', (data: Buffer) => resolve({ message: data.toString() })).on('error', reject)
      socket.once('unexpected-response', (_, { statusCode }) => resolve({ status: statusCode }))
    })
  }
  const first = await open(`${JOBS}?watch=1`)
  assert.ok('message' in first)
  assert.equal(JSON.parse(first.message).object.metadata.name, 'made')
  assert.deepEqual(await open(`${JOBS}/none?watch=1`), { status: 404 }, 'the answer of the other server')
  const patch = { method: 'PATCH', headers: { 'content-type': 'application/merge-patch+json' }, body: { metadata: { labels: { a: 'b' } } } }
  assert.equal((await ask(b, `${JOBS}/made`, patch)).json.metadata.labels.a, 'b')
  assert.equal((await ask(b, JOBS, { method: 'POST', body: job('made') })).json.message, 'jobs.batch "made" already exists')
  assert.equal((await ask(b, JOBS, { headers: { 'x-kubernetes-peer-proxied': 'true' } })).status, 404, 'it was passed on before')
  assert.equal((await ask(b, '/apis/batch/v1')).status, 404, 'discovery is of one server')
})

testWith('etcd', 'the other server knows for whom a request is passed on', patient, async (_, program) => {
  const { b } = await pairOn(program)
  await isPassing(b, true)
  const jane = {
    'impersonate-user': 'jane',
    'impersonate-uid': 'u-1',
    'impersonate-group': 'readers',
    'impersonate-extra-example.org%2fscopes': 'all',
  }
  const forbidden = await ask(b, JOBS, { headers: jane })
  assert.equal(forbidden.status, 403)
  assert.match(forbidden.json.message, /^jobs.batch is forbidden: User "jane" cannot list resource/)
  const review = { method: 'POST', body: { kind: 'SelfSubjectReview', apiVersion: 'authentication.k8s.io/v1' } } as const
  const { status, json, headers } = await ask(b, '/apis/authentication.k8s.io/v1/selfsubjectreviews', {
    ...review,
    headers: { ...jane, 'audit-id': 'one-for-both' },
  })
  assert.equal(status, 201)
  assert.equal(headers['audit-id'], 'one-for-both')
  assert.deepEqual(json.status.userInfo, {
    username: 'jane',
    uid: 'u-1',
    groups: ['readers', 'system:authenticated'],
    extra: { 'example.org/scopes': ['all'] },
  })
})

testWith('etcd', 'discovery has the resources of all servers, or of one', patient, async (_, program) => {
  const { a, b } = await pairOn(program)
  await isPassing(b, true)
  await eventually(
    'both know each other',
    async () => /rerouted_request_total\{code="200"/.test((await ask(a, '/metrics')).text) || undefined,
  )
  const [all, own, ofA] = [await groupsAt(b, AGGREGATED), await groupsAt(b, `${AGGREGATED};profile=nopeer`), await groupsAt(a, AGGREGATED)]
  assert.ok(all.names.includes('batch') && all.names.includes('authentication.k8s.io'))
  assert.deepEqual(all, ofA, 'every server says the same')
  assert.deepEqual(
    own.names,
    ofA.names.filter(name => name !== 'batch' && name !== 'authentication.k8s.io'),
  )
  assert.notEqual(own.etag, all.etag)
  const classic = (await ask(b, '/apis')).json.groups.map(({ name }: any) => name)
  assert.deepEqual(classic, own.names, 'only aggregated discovery is merged')
  const { text } = await ask(b, '/metrics')
  assert.match(text, /^apiserver_rerouted_request_total\{code="200",group="",version="",resource=""\} \d+$/m)
  assert.match(text, /^apiserver_rerouted_request_total\{code="200",group="batch",version="v1",resource="jobs"\} \d+$/m)
  assert.match(text, /^aggregator_discovery_peer_aggregated_cache_misses_total \d+$/m)
  assert.match(text, /^aggregator_discovery_nopeer_requests_total [1-9]\d*$/m)
  const { json } = await ask(a, '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases')
  const addresses = json.items.map(({ metadata }: any) => metadata.annotations?.['kubernetes.io/peer-advertise-address'])
  assert.deepEqual(addresses.sort(), [a, b].map(({ url }) => url.replace('https://', '')).sort())
  assert.match((await ask(b, '/readyz?verbose')).text, /\[\+\]poststarthook\/mixed-version-proxy-handler ok/)
})

/** The answer of a server to a request for widgets, once it is as expected. */
const widgetsAt = (target: Target, isExpected: (answer: Answer) => boolean) =>
  eventually('the answer', async () => {
    const answer = await ask(target, WIDGETS)
    return isExpected(answer) ? answer : undefined
  })
const isOfStranger = ({ text }: Answer) => text === 'widgets of the stranger'
const isListedAt = async (target: Target) => (await groupsAt(target, AGGREGATED)).names.includes('widgets.test')

testWith('etcd', 'a peer that does not answer is unavailable until it is gone', patient, async (t, program) => {
  const both = await pairOn(program)
  const { b } = both
  const stranger = await startStranger(t, both)
  await widgetsAt(b, isOfStranger)
  assert.ok(await isListedAt(b))
  stranger.end()
  const refused = await widgetsAt(b, answer => !isOfStranger(answer))
  assert.equal(refused.status, 503)
  assert.equal(refused.text, `error trying to reach service: dial tcp ${stranger.address}: connect: connection refused\n`)
  await stranger.withdraw()
  const { status, json } = await ask(b, WIDGETS)
  assert.equal(status, 503)
  assert.equal(json.message, 'Error getting ip and port info of the remote server while proxying')
  assert.ok(await isListedAt(b), 'it may come back')
  const { text } = await ask(b, '/metrics')
  assert.match(
    text,
    /^apiserver_peer_proxy_errors_total\{type="endpoint_resolution",group="widgets.test",version="v1",resource="widgets"\} 1$/m,
  )
  await stranger.leave()
  await widgetsAt(b, answer => answer.status === 404)
  assert.ok(!(await isListedAt(b)))
})

testWith('etcd', 'custom resources are asked of no peer, also when they have ended', patient, async (t, program) => {
  const both = await pairOn(program)
  const { a, b } = both
  const stranger = await startStranger(t, both)
  t.after(() => stranger.leave())
  await widgetsAt(b, isOfStranger)
  const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
  assert.equal((await ask(a, definitions, { method: 'POST', body: definition })).status, 201)
  await widgetsAt(b, ({ json }) => json?.kind === 'WidgetList')
  await ask(a, `${definitions}/${definition.metadata.name}`, { method: 'DELETE' })
  // A request that comes just when they end gets another 404.
  await widgetsAt(b, answer => {
    assert.ok(!isOfStranger(answer), answer.text)
    return answer.text === '404 page not found\n'
  })
  assert.ok(!(await isListedAt(b)))
})

testWith('etcd', 'when a server ends, no request is passed on to it', patient, async (_, program) => {
  const { a, b } = await pairOn(program)
  await isPassing(b, true)
  await a.close()
  await isPassing(b, false)
  const { names } = await groupsAt(b, AGGREGATED)
  assert.ok(!names.includes('batch'))
})
