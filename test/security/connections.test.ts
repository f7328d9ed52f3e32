// Where the server connects to: addresses that users write into the status of nodes and pods and into endpoints reach neither the server
// itself nor its machine, in whatever notation, and a reached host receives no credentials with permissions here.
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage } from 'node:http'
import { createServer as createTlsServer, request } from 'node:https'
import type { AddressInfo, Server, Socket } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { issueAuthority, issueServer } from '../../src/lib/x509/issue.ts'
import type { StartOptions } from '../../src/public.d.ts'
import { startServer } from '../../src/server/start.ts'
import { configOf } from '../../src/start-options.ts'
import { MemoryStore } from '../../src/storage/memory.ts'
import type { ResolveName } from '../../src/transport/destination.ts'
import {
  type Answer,
  ask,
  CONFIG_MAPS,
  configMap,
  freshServer,
  patient,
  type Scope,
  startInProcess,
  type Target,
  targetOf,
  temporaryDirectory,
} from '../kit.ts'
import { configure } from '../kits/admission-objects.ts'
import { APISERVICES, apiService, availability, FLUNDERS, startAggregatedApi } from '../kits/aggregated-api.ts'
import { startReplica } from '../kits/replicas.ts'
import { allow, webhook } from '../kits/webhooks.ts'
import { noteNotRun, OWN_ADDRESS, testWith } from '../programs.ts'

const DEFAULT = '/api/v1/namespaces/default'
const SLICES = '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices'
const MERGE = { 'content-type': 'application/merge-patch+json' }

async function make(server: Target, path: string, body: object, sent: object = {}): Promise<any> {
  const { status, text, json } = await ask(server, path, { method: 'POST', body, ...sent })
  assert.ok(status === 201 || status === 200, `${path}: ${status} ${text}`)
  return json
}

const told = ({ status, json, text }: Answer): string => `${status} ${json?.message ?? text}`

/** Listens on all addresses of the machine, and counts connections. */
async function listening(t: Scope, server: Server): Promise<{ port: number; connections: () => number }> {
  let count = 0
  const sockets = new Set<Socket>()
  server.on('connection', socket => {
    count++
    sockets.add(socket)
  })
  await new Promise<void>(resolve => server.listen(0, '::', resolve))
  t.after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return { port: (server.address() as AddressInfo).port, connections: () => count }
}

/** A service that must not be reached: it trusts all connections from this machine. */
const canary = (t: Scope) =>
  listening(
    t,
    createServer((_, response) => response.end('a secret of this machine')),
  )

const EVIL = { headers: { 'impersonate-user': 'evil' } }

/** The user of the attack: may register nodes and use their proxies, and nothing else. */
async function grantNodes(server: Target): Promise<void> {
  const rules = [
    { apiGroups: [''], resources: ['nodes'], verbs: ['create', 'delete'] },
    { apiGroups: [''], resources: ['nodes/status'], verbs: ['patch'] },
    { apiGroups: [''], resources: ['nodes/proxy'], verbs: ['*'] },
  ]
  await make(server, '/apis/rbac.authorization.k8s.io/v1/clusterroles', { metadata: { name: 'nodes' }, rules })
  await make(server, '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
    metadata: { name: 'nodes' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'nodes' },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'evil' }],
  })
}

/** A Node whose kubelet is said to be at an address. */
async function pointNode(server: Target, address: string, port: number, sent: { headers?: Record<string, string> } = {}): Promise<void> {
  await ask(server, '/api/v1/nodes/evil', { method: 'DELETE', ...sent })
  await make(server, '/api/v1/nodes', { metadata: { name: 'evil' } }, sent)
  const status = { addresses: [{ type: 'InternalIP', address }], daemonEndpoints: { kubeletEndpoint: { Port: port } } }
  const patched = await ask(server, '/api/v1/nodes/evil/status', {
    method: 'PATCH',
    body: { status },
    headers: { ...MERGE, ...sent.headers },
  })
  assert.equal(patched.status, 200, patched.text)
}

const CLUSTER_ADMIN = {
  metadata: { name: 'evil-admin' },
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
  subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'evil' }],
}
const BINDINGS = '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings'

// At 6256f0f1 the secrets were listed and the binding was created: the proxy connected as kubernetes-admin of system:masters.
test('a user that may create nodes and use their proxy does not become an administrator by a node that is the server', patient, async t => {
  const server = await startInProcess(t, { host: '0.0.0.0' })
  await grantNodes(server)
  if (OWN_ADDRESS === undefined) noteNotRun('own address', t.name)
  const own = OWN_ADDRESS === undefined ? [] : [OWN_ADDRESS, `::ffff:${OWN_ADDRESS}`]
  for (const address of ['127.0.0.1', 'localhost', '127.1', '2130706433', '0x7f.1', '0.0.0.0', '::ffff:127.0.0.1', ...own]) {
    await pointNode(server, address, server.port, EVIL)
    for (const name of ['evil', `https:evil:${server.port}`, `http:evil:${server.port}`]) {
      const secrets = await ask(server, `/api/v1/nodes/${name}/proxy/api/v1/secrets`, EVIL)
      assert.equal(told(secrets), '400 address not allowed', `${address} as ${name}`)
    }
    const bound = await ask(server, `/api/v1/nodes/evil/proxy${BINDINGS}`, { method: 'POST', body: CLUSTER_ADMIN, ...EVIL })
    assert.equal(told(bound), '400 address not allowed', address)
  }
  assert.equal((await ask(server, `${BINDINGS}/evil-admin`)).status, 404)
})

/** Addresses that lead to this machine, or might. */
const INWARD = [
  ...['127.0.0.1', '127.0.0.2', '127.000.000.001', '127.1', '0x7f000001', '2130706433', '017700000001', 'localhost', '0.0.0.0', '0', '::'],
  ...['::1', '0:0:0:0:0:0:0:1', '::ffff:127.0.0.1', '::ffff:7f00:1', '::127.0.0.1', '64:ff9b::7f00:1', '2002:7f00:1::', '::1%lo'],
  ...['169.254.169.254', 'fe80::1', 'fd00:ec2::254', '224.0.0.1', 'ff02::1', '255.255.255.255'],
]

// At 6256f0f1 the answer was that of the service: `http:evil:30090` reached every port of the machine.
test('no address of a node reaches a service of this machine', patient, async t => {
  const server = await freshServer(t)
  const { port, connections } = await canary(t)
  for (const address of INWARD) {
    await pointNode(server, address, port)
    for (const name of ['evil', `http:evil:${port}`, `https:evil:${port}`]) {
      const answer = await ask(server, `/api/v1/nodes/${name}/proxy/secret`)
      // A string that no resolver takes for an address is a name that does not exist.
      assert.match(
        told(answer),
        /^(400 address not allowed|503 error trying to reach service: dial tcp: lookup .*: no such host)$/,
        address,
      )
    }
  }
  assert.equal(connections(), 0)
})

const upgrading = (server: Target, path: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const headers = { connection: 'Upgrade', upgrade: 'SPDY/3.1' }
    const sent = request(new URL(server.url), { ...server.credentials, agent: false, path, method: 'POST', headers })
    sent.on('error', reject)
    sent.on('upgrade', (_, socket) => {
      socket.destroy()
      resolve('upgraded')
    })
    sent.on('response', answer => {
      let text = ''
      answer.on('data', part => (text += part)).on('end', () => resolve(`${answer.statusCode} ${JSON.parse(text).message}`))
    })
    sent.end()
  })

// At 6256f0f1 all but the proxy of the pod connected.
test('logs, exec, attach, port-forward and the proxy of a pod reach no special address', patient, async t => {
  const server = await freshServer(t)
  const { port, connections } = await canary(t)
  const spec = { nodeName: 'evil', containers: [{ name: 'main', image: 'x', ports: [{ containerPort: port }] }] }
  await make(server, `${DEFAULT}/pods`, { metadata: { name: 'web' }, spec })
  for (const address of ['127.0.0.1', 'localhost', '::1', '::ffff:127.0.0.1', '169.254.169.254']) {
    await pointNode(server, address, port)
    assert.equal(told(await ask(server, `${DEFAULT}/pods/web/log`)), '400 address not allowed', address)
    for (const path of ['exec?command=ls&stdout=true', 'attach?stdout=true', 'portforward?ports=80'])
      assert.equal(await upgrading(server, `${DEFAULT}/pods/web/${path}`), '400 address not allowed', `${address} ${path}`)
  }
  for (const ip of ['127.0.0.1', '::1', '169.254.169.254']) {
    const body = { status: { podIP: ip, podIPs: [{ ip }] } }
    assert.equal((await ask(server, `${DEFAULT}/pods/web/status`, { method: 'PATCH', body, headers: MERGE })).status, 200)
    assert.equal(told(await ask(server, `${DEFAULT}/pods/web/proxy/secret`)), '400 address not allowed', ip)
  }
  assert.equal(connections(), 0)
})

/** A Service, and an EndpointSlice that somebody has written by hand. */
async function serviceAt(
  server: Target,
  name: string,
  slice: { address: string; port: number; type?: string; targetRef?: object },
): Promise<void> {
  const { address, port, type = address.includes(':') ? 'IPv6' : 'IPv4', targetRef } = slice
  await make(server, `${DEFAULT}/services`, { metadata: { name }, spec: { clusterIP: 'None', ports: [{ name: 'https', port: 443 }] } })
  await make(server, SLICES, {
    metadata: { name: `${name}-1`, labels: { 'kubernetes.io/service-name': name } },
    addressType: type,
    ports: [{ name: 'https', port }],
    endpoints: [{ addresses: [address], ...(targetRef && { targetRef }) }],
  })
}

// At 6256f0f1 any address in Endpoints was connected to.
testWith('own address', 'the proxy of a service reaches pods of its namespace alone', patient, async t => {
  const server = await freshServer(t)
  const { port, connections } = await canary(t)
  const spec = { nodeName: 'real', containers: [{ name: 'main', image: 'x' }] }
  await make(server, '/api/v1/nodes', { metadata: { name: 'real' } })
  await make(server, '/api/v1/namespaces', { metadata: { name: 'other' } })
  for (const namespace of ['default', 'other']) {
    await make(server, `/api/v1/namespaces/${namespace}/pods`, { metadata: { name: 'web' }, spec })
    const ip = namespace === 'default' ? '10.1.2.3' : OWN_ADDRESS
    const body = { status: { podIP: ip, podIPs: [{ ip }] } }
    await ask(server, `/api/v1/namespaces/${namespace}/pods/web/status`, { method: 'PATCH', body, headers: MERGE })
  }
  const targets = {
    none: undefined,
    another: { kind: 'Pod', namespace: 'default', name: 'web' },
    foreign: { kind: 'Pod', namespace: 'other', name: 'web' },
    gone: { kind: 'Pod', namespace: 'default', name: 'gone' },
  }
  for (const [name, targetRef] of Object.entries(targets)) {
    await serviceAt(server, name, { address: OWN_ADDRESS!, port, ...(targetRef && { targetRef }) })
    const addresses = [{ ip: OWN_ADDRESS, ...(targetRef && { targetRef }) }]
    await make(server, `${DEFAULT}/endpoints`, { metadata: { name }, subsets: [{ addresses, ports: [{ name: 'https', port }] }] })
    const answer = await ask(server, `${DEFAULT}/services/${name}:https/proxy/secret`)
    assert.equal(told(answer), `503 no endpoints available for service "${name}:https"`)
  }
  assert.equal(connections(), 0)
})

testWith(
  'own address',
  'webhooks and API servers behind a Service are never this server, nor what only this machine reaches',
  patient,
  async t => {
    const toLoopback: ResolveName = (_, __, callback) => callback(null, [{ address: '127.0.0.1', family: 4 }])
    const server = await startResolving(t, toLoopback, { host: '0.0.0.0' })
    const { port, connections } = await canary(t)
    const places = {
      self: { address: OWN_ADDRESS!, port: server.port },
      // At 6256f0f1 names in slices were connected to, whatever they meant.
      named: { address: 'hook.example.com', port, type: 'FQDN' },
    }
    for (const [name, place] of Object.entries(places)) {
      await serviceAt(server, name, place)
      const group = `${name}.example.com`
      await make(server, APISERVICES, {
        ...apiService({ group, service: { namespace: 'default', name }, insecureSkipTLSVerify: true, caBundle: undefined }),
        metadata: { name: `v1alpha1.${group}` },
      })
      const { message } = await availability(server, 'FailedDiscoveryCheck', `v1alpha1.${group}`)
      assert.match(message, /: (service "self": )?address not allowed(: endpoints on loopback.*)?$/)
      const clientConfig = { service: { namespace: 'default', name } } as never
      await configure(server, 'validating', name, { hook: { clientConfig } })
      const refused = await ask(server, CONFIG_MAPS, { method: 'POST', body: configMap('x') })
      assert.match(
        told(refused),
        new RegExp(
          `failed to call webhook: Post "https://${name}.default.svc:443/\\?timeout=10s": (service "self": )?address not allowed(: endpoints on loopback.*)?$`,
        ),
      )
      await ask(server, `/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/${name}`, { method: 'DELETE' })
    }
    assert.equal(connections(), 0)
  },
)

// At 6256f0f1 the endpoints of the Service were tried, which need not be this server.
test(
  'the Service `kubernetes` is this server to a webhook, as with kube-apiserver, and nobody in particular calls it',
  patient,
  async t => {
    const server = await freshServer(t)
    const service = { namespace: 'default', name: 'kubernetes', path: '/apis/example.com/v1/reviews' }
    const caBundle = Buffer.from(server.credentials.ca).toString('base64')
    await configure(server, 'validating', 'a', { hook: { clientConfig: { caBundle, service } as never } })
    const refused = await ask(server, CONFIG_MAPS, { method: 'POST', body: configMap('x') })
    assert.match(told(refused), /failed to call webhook: .*User \\?"system:anonymous\\?" cannot /)
  },
)

// At 6256f0f1 APIServices refused a loopback address that webhooks were allowed.
test('a Service of type ExternalName leads webhooks and API servers alike to this machine', patient, async t => {
  const server = await freshServer(t)
  const hook = await webhook(t, allow, { names: ['hook.default.svc'] })
  const api = await startAggregatedApi(t)
  for (const [name, port] of Object.entries({ hook: hook.port, wardle: api.port }))
    await make(server, `${DEFAULT}/services`, {
      metadata: { name },
      spec: { type: 'ExternalName', externalName: 'localhost', ports: [{ port }] },
    })
  const service = { namespace: 'default', name: 'hook', port: hook.port }
  const { caBundle } = hook.clientConfig
  await configure(server, 'validating', 'a', { hook: { clientConfig: { caBundle, service } as never } })
  await make(server, CONFIG_MAPS, configMap('x'))
  assert.equal(hook.seen.length, 1)
  await make(server, APISERVICES, apiService({ service: { namespace: 'default', name: 'wardle', port: api.port } }))
  await availability(server, 'Passed')
  assert.equal((await ask(server, FLUNDERS)).status, 200)
})

test('an APIService whose Service leads nowhere says why', patient, async t => {
  const server = await freshServer(t)
  await make(server, `${DEFAULT}/services`, { metadata: { name: 'wardle' }, spec: { type: 'LoadBalancer', ports: [{ port: 444 }] } })
  await make(server, APISERVICES, apiService())
  assert.equal((await availability(server, 'FailedDiscoveryCheck')).message, 'no service port 443 found for service "wardle"')
})

/** A server whose nodes' names mean what the test says. */
async function startResolving(t: Scope, resolveName: ResolveName, options: StartOptions = {}): Promise<Target> {
  const server = await startServer(configOf({ controllers: ['none'], nodes: 0, ...options }), { resolveName })
  t.after(() => server.close())
  return targetOf(server.kubeconfig)
}

// At 6256f0f1 names were not looked at.
test('a name is judged by all addresses that it resolves to when the connection is made', patient, async t => {
  const { port, connections } = await canary(t)
  let answers: string[] = []
  let questions = 0
  const server = await startResolving(t, (_, __, callback) => {
    questions++
    // Whoever asked twice would be led elsewhere by the second answer.
    const now = questions % 2 === 1 ? answers : ['127.0.0.1']
    callback(
      null,
      now.map(address => ({ address, family: address.includes(':') ? 6 : 4 })),
    )
  })
  for (answers of [
    ['127.0.0.1'],
    ['::1'],
    ['::ffff:127.0.0.1'],
    ['203.0.113.1', '127.0.0.1'],
    ['203.0.113.1', '::1'],
    ['169.254.169.254'],
  ]) {
    questions = 0
    await pointNode(server, 'node.example', port)
    assert.equal(told(await ask(server, `/api/v1/nodes/http:evil:${port}/proxy/`)), '400 address not allowed', answers.join(' '))
    assert.equal(questions, 1)
  }
  assert.equal(connections(), 0)
  if (OWN_ADDRESS === undefined) return void noteNotRun('own address', t.name)
  answers = [OWN_ADDRESS]
  questions = 0
  await pointNode(server, 'node.example', 10250)
  assert.equal((await ask(server, `/api/v1/nodes/http:evil:${port}/proxy/`)).text, 'a secret of this machine')
  assert.equal(questions, 1)
})

test('a network that is opened is reached, without any right here and never the server itself', patient, async t => {
  const options = { controllers: ['none'], nodes: 0, proxyAllowedNetworks: ['127.0.0.0/8', '::1/128'] }
  const store = new MemoryStore()
  const [first, second] = [await startReplica(t, store, options), await startReplica(t, store, options)]
  await grantNodes(first)
  await pointNode(first, '127.0.0.1', first.port, EVIL)
  assert.equal(told(await ask(first, '/api/v1/nodes/evil/proxy/api/v1/secrets', EVIL)), '400 address not allowed')
  // Another server over the same store knows the certificate.
  await pointNode(first, '127.0.0.1', second.port, EVIL)
  const user = 'User "kube-apiserver-kubelet-client"'
  const secrets = await ask(first, '/api/v1/nodes/evil/proxy/api/v1/secrets', EVIL)
  // At 6256f0f1 they were listed, and the binding was created.
  assert.equal(told(secrets), `403 secrets is forbidden: ${user} cannot list resource "secrets" in API group "" at the cluster scope`)
  const bound = await ask(first, `/api/v1/nodes/evil/proxy${BINDINGS}`, { method: 'POST', body: CLUSTER_ADMIN, ...EVIL })
  assert.match(told(bound), new RegExp(`^403 .*${user} cannot create resource "clusterrolebindings"`))
  const review = {
    kind: 'SelfSubjectRulesReview',
    apiVersion: 'authorization.k8s.io/v1',
    spec: { namespace: 'kube-system' },
  }
  const rules = await ask(first, '/api/v1/nodes/evil/proxy/apis/authorization.k8s.io/v1/selfsubjectrulesreviews', {
    method: 'POST',
    body: review,
    ...EVIL,
  })
  const groups = new Set<string>(rules.json.status.resourceRules.flatMap((rule: any) => rule.apiGroups))
  assert.deepEqual([...groups].sort(), ['authentication.k8s.io', 'authorization.k8s.io'])
})

const validity = { notBefore: new Date(Date.now() - 60_000), notAfter: new Date(Date.now() + 3600_000) }

test('a kubelet is verified where an authority for it is given, with its name', patient, async t => {
  const authority = issueAuthority('kubelets', validity)
  const file = join(temporaryDirectory(t), 'kubelet-ca.pem')
  writeFileSync(file, authority.cert)
  const server = await startInProcess(t, { kubeletCertificateAuthority: file, proxyAllowedNetworks: ['127.0.0.0/8'] })
  const kubelet = async (signer: typeof authority, name: string) =>
    listening(
      t,
      createTlsServer(issueServer(signer, 'kubelet', { names: [name], ...validity }), (_, response) => response.end('healthy')),
    )
  const health = async ({ port }: { port: number }) => {
    await pointNode(server, '127.0.0.1', port)
    return told(await ask(server, '/api/v1/nodes/evil/proxy/healthz'))
  }
  assert.equal(await health(await kubelet(authority, '127.0.0.1')), '200 healthy')
  assert.match(await health(await kubelet(authority, '127.0.0.2')), /^503 error trying to reach service: tls: failed to verify certificate/)
  assert.match(
    await health(await kubelet(issueAuthority('kubelets', validity), '127.0.0.1')),
    /^503 error trying to reach service: tls: failed to verify certificate/,
  )
})

test('redirects of kubelets and pods lead the client, never the server', patient, async t => {
  const server = await startInProcess(t, { proxyAllowedNetworks: ['127.0.0.0/8'] })
  const { port: secret, connections } = await canary(t)
  const elsewhere = `http://127.0.0.1:${secret}/secret`
  const answer = ({ url }: IncomingMessage): string => (url === '/within' ? '/there?a=b#c' : url === '/relative' ? 'there' : elsewhere)
  const kubelet = createTlsServer(
    issueServer(issueAuthority('a', validity), 'kubelet', { names: ['a'], ...validity }),
    (message, response) => response.writeHead(302, { location: answer(message), 'access-control-allow-origin': '*' }).end(),
  )
  kubelet.on('upgrade', (_, socket) => socket.end(`HTTP/1.1 302 Found\r\nLocation: ${elsewhere}\r\nContent-Length: 0\r\n\r\n`))
  const { port } = await listening(t, kubelet)
  await pointNode(server, '127.0.0.1', port)
  await make(server, `${DEFAULT}/pods`, {
    metadata: { name: 'web' },
    spec: { nodeName: 'evil', containers: [{ name: 'main', image: 'x' }] },
  })
  const log = await ask(server, `${DEFAULT}/pods/web/log`)
  // At 6256f0f1 the answer was a Status with the code 302.
  assert.equal(told(log), `500 Get "https://127.0.0.1:${port}/containerLogs/default/web/main": redirects forbidden`)
  assert.equal(log.headers['location'], undefined)
  // At 6256f0f1 the redirect was the answer.
  for (const path of ['exec?command=ls&stdout=true', 'attach?stdout=true', 'portforward?ports=80'])
    assert.equal(await upgrading(server, `${DEFAULT}/pods/web/${path}`), '500 invalid upgrade response: status code 302')
  const proxied = async (path: string) => {
    const { status, headers } = await ask(server, `/api/v1/nodes/evil/proxy${path}`)
    assert.deepEqual([status, headers['access-control-allow-origin']], [302, undefined])
    return headers['location']
  }
  assert.equal(await proxied('/elsewhere'), elsewhere)
  assert.equal(await proxied('/within'), '/api/v1/nodes/evil/proxy/there?a=b#c')
  assert.equal(await proxied('/relative'), 'there')
  assert.equal(connections(), 0)
})

testWith('own address', 'the path behind a proxy is the one that was authorized, however it is written', patient, async t => {
  const server = await freshServer(t)
  const seen: string[] = []
  const { port } = await listening(
    t,
    createServer((message, response) => {
      seen.push(message.url ?? '')
      response.end(message.url)
    }),
  )
  await make(server, '/api/v1/namespaces', { metadata: { name: 'proxy' } })
  await make(server, '/api/v1/nodes', { metadata: { name: 'proxy' } })
  await make(server, '/api/v1/namespaces/proxy/pods', {
    metadata: { name: 'proxy' },
    spec: { nodeName: 'proxy', containers: [{ name: 'main', image: 'x', ports: [{ containerPort: port }] }] },
  })
  const body = { status: { podIP: OWN_ADDRESS, podIPs: [{ ip: OWN_ADDRESS }] } }
  await ask(server, '/api/v1/namespaces/proxy/pods/proxy/status', { method: 'PATCH', body, headers: MERGE })
  const POD = '/api/v1/namespaces/proxy/pods/proxy'
  // The forwarded path and query: as in kube-apiserver the path is decoded, cleaned and encoded again, and the query is unchanged.
  const paths: Readonly<Record<string, string>> = {
    [`${POD}/proxy/proxy/x`]: '/proxy/x',
    [`${POD}/proxy/`]: '/',
    [`${POD}/proxy/a/`]: '/a/',
    [`${POD}/proxy//a///b`]: '/a/b',
    [`${POD}/proxy/a/../../../../secrets`]: '/secrets',
    [`${POD}/proxy/a/%2e%2e/%2e%2e/secrets`]: '/secrets',
    [`${POD}/proxy/a%2fb%2F..%2Fc`]: '/a/c',
    // At 6256f0f1 the segment was looked for in the path as it was written, so it was found elsewhere or nowhere.
    [`${POD}/%70roxy/x`]: '/x',
    [`${POD}%2Fproxy%2Fx/proxy/y`]: '/x/proxy/y',
    ['/api/v1/namespaces%2Fproxy%2Fpods%2Fproxy%2Fproxy%2Fproxy/z']: '/proxy/z',
    ['/api/v1/namespaces/%70roxy/pods/proxy/proxy/proxy']: '/proxy',
    [`${POD}/proxy/a%20b%3Fc%23d%25e?f=%2F..%2F&g`]: '/a%20b%3Fc%23d%25e?f=%2F..%2F&g',
    [`${POD}/proxy/%E2%82%AC?path=/other`]: '/%E2%82%AC?path=/other',
  }
  for (const [target, path] of Object.entries(paths)) assert.equal((await ask(server, target)).text, path, target)
  const asked = seen.length
  // A folder is asked for with a slash, as by kube-apiserver.
  const folder = await ask(server, `${POD}/proxy?a=b`)
  assert.deepEqual([folder.status, folder.headers['location']], [301, `${POD}/proxy/?a=b`])
  for (const target of [`${POD}/../proxy/proxy/x`, `/api/v1/namespaces/proxy/pods//proxy/x`, `/${POD}/proxy/x`])
    assert.ok((await ask(server, target)).status >= 400, target)
  assert.equal(seen.length, asked)
})
