// Requests that are passed on to a peer: which, to whom, with what headers, and what comes back when that fails.
import assert from 'node:assert/strict'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import type { TLSSocket } from 'node:tls'
import { testRequest } from '../../test/kits/http/test-server.ts'
import type { Request } from '../http/message.ts'
import { issueAuthority, issueClient, issueServer } from '../lib/x509/issue.ts'
import { StatusError } from '../schema/status-error.ts'
import { KnownPeers, type PeerAddress, type PeerApi } from './peers.ts'

const validity = { notBefore: new Date(Date.now() - 60_000), notAfter: new Date(Date.now() + 3600_000) }
const authority = issueAuthority('peers', validity)
const client = issueClient(authority, { commonName: 'front-proxy-client' }, validity)

type Seen = { readonly url: string; readonly headers: Readonly<Record<string, unknown>>; readonly client: string }

/** A server that answers with its name, and redirects what asks for it. */
async function startPeer(t: TestContext, { name = 'peer', certified = 'kubernetes.default.svc' } = {}) {
  const seen: Seen[] = []
  const pair = issueServer(authority, 'server', { names: [certified], ...validity })
  const server = createServer({ ...pair, ca: authority.cert, requestCert: true, rejectUnauthorized: false }, (message, response) => {
    const { url = '', headers, socket } = message
    seen.push({ url, headers, client: String((socket as TLSSocket).getPeerCertificate().subject?.CN) })
    if (url.endsWith('/moved')) response.writeHead(301, { location: '/there/' }).end()
    else response.writeHead(200, { 'audit-id': 'theirs', 'x-own': name }).end(name)
  })
  await new Promise<void>(done => server.listen(0, '127.0.0.1', done))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return { seen, address: { ip: '127.0.0.1', port: (server.address() as AddressInfo).port } }
}

const api = (...resources: string[]): PeerApi => ({ resources: new Set(resources), groups: [] })

function peersAt(t: TestContext, addresses: Readonly<Record<string, PeerAddress | undefined>>, random = () => 0) {
  const peers = new KnownPeers({
    own: () => 'own',
    serves: (group, _, plural) => group === 'apps' && plural === 'deployments',
    addressOf: async identity => addresses[identity],
    ca: authority.cert,
    certificate: () => client,
    random,
  })
  t.after(() => peers[Symbol.dispose]())
  return peers
}

const JOBS = '/apis/batch/v1/namespaces/default/jobs'
const attributes = (group: string, plural: string, version = 'v1') => ({
  verb: 'get',
  path: JOBS,
  resource: { group, version, plural, subresource: '', namespace: 'default', name: 'a' },
})
const sender = { user: { name: 'jane', uid: 'u-1', groups: ['a', 'b'], extra: { 'example.org/x': ['1'] } }, auditId: 'an-id' }
const answer = (peers: KnownPeers, request: Request = testRequest(JOBS), of = attributes('batch', 'jobs')) =>
  peers.answer(request, of, sender)
const counted = (peers: KnownPeers, name: string) => peers.metrics.families().find(family => family.name === name)!.samples

test('a request goes to a peer that serves its resource, as its user, and is marked', async t => {
  const [a, b] = [await startPeer(t, { name: 'a' }), await startPeer(t, { name: 'b' })]
  const peers = peersAt(t, { a: a.address, b: b.address }, () => 0.99)
  peers.know(new Map(Object.entries({ a: api('batch/v1/jobs'), b: api('batch/v1/jobs', 'batch/v1/cronjobs') })))
  const headers = { 'x-remote-user': 'evil', 'impersonate-user': 'jane', 'user-agent': 'mine', host: 'here:6443' }
  const response = await answer(peers, testRequest(`${JOBS}?x=1`, { headers }))
  assert.equal(response?.status, 200)
  assert.equal(response.headers['x-own'], 'b')
  assert.equal(response.headers['audit-id'], undefined, 'each server has its own headers')
  const { url, client: shown, headers: sent } = b.seen[0]!
  assert.equal(url, `${JOBS}?x=1`)
  assert.equal(shown, 'front-proxy-client')
  const { port } = b.address
  const expected = {
    host: `127.0.0.1:${port}`,
    'user-agent': 'mine',
    'audit-id': 'an-id',
    'x-kubernetes-peer-proxied': 'true',
    'x-remote-user': 'jane',
    'x-remote-uid': 'u-1',
    'x-remote-group': 'a, b',
    'x-remote-extra-example.org%2fx': '1',
    'x-forwarded-for': '127.0.0.1',
    authorization: undefined,
    'impersonate-user': undefined,
    via: undefined,
  }
  assert.deepEqual(Object.fromEntries(Object.keys(expected).map(name => [name, sent[name]])), expected)
  const labels = { code: '200', group: 'batch', version: 'v1', resource: 'jobs' }
  assert.deepEqual(counted(peers, 'apiserver_rerouted_request_total'), [[labels, 1]])
  const moved = await answer(peers, testRequest(`${JOBS}/moved`))
  assert.equal(moved?.status, 301)
  assert.equal(moved.headers['location'], '/there/')
})

test('nothing is passed on that this server serves, that no peer serves, or that a peer has sent', async t => {
  const peers = peersAt(t, {})
  assert.equal(answer(peers), undefined, 'no peers')
  peers.know(new Map(Object.entries({ a: api('batch/v1/jobs', 'apps/v1/deployments', 'x.org/v1/ws') })))
  assert.equal(answer(peers, testRequest(JOBS), attributes('apps', 'deployments')), undefined)
  assert.equal(answer(peers, testRequest(JOBS), attributes('batch', 'jobs', 'v2')), undefined)
  assert.equal(answer(peers, testRequest('/version'), { verb: 'get', path: '/version' } as never), undefined)
  assert.equal(answer(peers, testRequest(JOBS, { headers: { 'x-kubernetes-peer-proxied': 'true' } })), undefined)
  peers.exclude({ current: new Set(['x.org/v1']), ended: new Map() })
  assert.equal(answer(peers, testRequest(JOBS), attributes('x.org', 'ws')), undefined, 'a custom kind')
})

test('a peer that cannot be reached is unavailable', async t => {
  const stranger = await startPeer(t, { certified: 'other.default.svc' })
  const peers = peersAt(t, { closed: { ip: '127.0.0.1', port: 1 }, stranger: stranger.address })
  peers.know(new Map(Object.entries({ nowhere: api('batch/v1/jobs') })))
  await assert.rejects(
    async () => answer(peers),
    (error: unknown) => {
      assert.ok(error instanceof StatusError)
      assert.deepEqual([error.code, error.reason], [503, 'ServiceUnavailable'])
      assert.equal(error.message, 'Error getting ip and port info of the remote server while proxying')
      return true
    },
  )
  const labels = { type: 'endpoint_resolution', group: 'batch', version: 'v1', resource: 'jobs' }
  assert.deepEqual(counted(peers, 'apiserver_peer_proxy_errors_total'), [[labels, 1]])
  for (const [name, text] of [
    ['closed', 'error trying to reach service: dial tcp 127.0.0.1:1: connect: connection refused\n'],
    ['stranger', /^error trying to reach service: tls: .* certificate is valid for other.default.svc, not kubernetes.default.svc\n$/],
  ] as const) {
    peers.know(new Map([[name, api('batch/v1/jobs')]]))
    const response = await answer(peers)
    assert.equal(response?.status, 503)
    const body = Buffer.from(response.body as Uint8Array).toString()
    if (typeof text === 'string') assert.equal(body, text)
    else assert.match(body, text)
  }
  assert.deepEqual(stranger.seen, [], 'it receives nothing')
})

test('groups of peers are without the versions of custom kinds', t => {
  const peers = peersAt(t, {})
  const group = (name: string, ...versions: string[]) => ({ metadata: { name }, versions: versions.map(version => ({ version })) })
  peers.know(new Map([['a', { resources: new Set<string>(), groups: [group('batch', 'v1'), group('x.org', 'v1', 'v2')] }]]))
  const before = peers.version
  peers.exclude({ current: new Set(['x.org/v1']), ended: new Map() })
  assert.notEqual(peers.version, before, 'documents are made anew')
  const now = peers.version
  peers.exclude({ current: new Set(['x.org/v1']), ended: new Map([['x.org/v1', 1]]) })
  assert.equal(peers.version, now, 'nothing has changed')
  assert.deepEqual(peers.groups().get('a'), [group('batch', 'v1'), group('x.org', 'v2')])
  peers.exclude({ current: new Set(['x.org/v1']), ended: new Map([['x.org/v2', 1]]) })
  assert.deepEqual(peers.groups().get('a'), [group('batch', 'v1')])
})
