// Tricks to make the server connect for somebody: addresses that objects report never lead into this machine or its surroundings.
import assert from 'node:assert/strict'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { ask, eventually, freshServer, patient, type Scope, startInProcess, type Target } from '../kit.ts'
import { webhook } from '../kits/webhooks.ts'

const CORE = '/api/v1/namespaces/default'

/** A service of this machine that nobody outside should reach: it counts connections. */
async function openCanary(t: Scope): Promise<{ port: number; visits: string[]; server: Server }> {
  const visits: string[] = []
  const server = createServer((request, response) => {
    visits.push(`${request.method} ${request.url}`)
    response.end('the canary sings')
  })
  server.on('connection', () => visits.push('connection'))
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return { port: (server.address() as AddressInfo).port, visits, server }
}

type World = Target & {
  readonly canary: number
  readonly node: (name: string, address: { type: string; address: string }, port?: number) => Promise<void>
  readonly pod: (name: string, status: object, nodeName?: string) => Promise<void>
  readonly make: (path: string, body: object) => Promise<void>
}
type Trick = {
  readonly name: string
  readonly prepare?: (world: World) => Promise<void>
  readonly send: (world: World) => string
  readonly says?: RegExp
}

const ip = (address: string) => ({ type: 'InternalIP', address })
const host = (address: string) => ({ type: 'Hostname', address })
const REFUSED = /address not allowed/
/** Forms in which the machine itself, or what only it should reach, can be written. */
const SPECIAL = [
  ip('127.0.0.1'),
  ip('127.9.8.7'),
  ip('0.0.0.0'),
  ip('::1'),
  ip('::ffff:127.0.0.1'),
  ip('::7f00:1'),
  ip('127.000.000.001'),
  ip('169.254.169.254'),
  ip('fe80::1'),
  host('localhost'),
]
/** Forms that resolvers may take for addresses: whether they lead anywhere is theirs to say, but never here. */
const ODD = ['127.1', '2130706433', '0x7f000001', '0177.0.0.1', 'localhost.', '127.0.0.1.'].map(host)

const TRICKS: readonly Trick[] = [
  ...SPECIAL.map((address, i) => ({
    name: `a node says that it is at ${address.address}`,
    prepare: (world: World) => world.node(`special-${i}`, address, world.canary),
    send: () => `GET /api/v1/nodes/special-${i}/proxy/metrics`,
    says: REFUSED,
  })),
  ...ODD.map((address, i) => ({
    name: `a node says that it is at ${address.address}, which some take for an address`,
    prepare: (world: World) => world.node(`odd-${i}`, address, world.canary),
    send: () => `GET /api/v1/nodes/odd-${i}/proxy/metrics`,
  })),
  {
    name: 'another port and scheme of such a node are named',
    prepare: world => world.node('ports', ip('127.0.0.1')),
    send: ({ canary }) => `GET /api/v1/nodes/http:ports:${canary}/proxy/`,
    says: REFUSED,
  },
  {
    name: 'a path names another host',
    prepare: world => world.node('paths', ip('198.51.100.7')),
    send: ({ canary }) => `GET /api/v1/nodes/http:127.0.0.1:${canary}/proxy/`,
  },
  {
    name: 'a node says that it is this server',
    prepare: world => world.node('self', ip('127.0.0.1'), world.port),
    send: () => 'GET /api/v1/nodes/self/proxy/api/v1/secrets',
    says: REFUSED,
  },
  {
    name: 'the log of a pod on such a node',
    prepare: async world => {
      await world.node('logs', ip('127.0.0.1'), world.canary)
      await world.pod('logs', {}, 'logs')
    },
    send: () => `GET ${CORE}/pods/logs/log`,
    says: REFUSED,
  },
  {
    name: 'a pod says that it is at 127.0.0.1',
    prepare: world => world.pod('loopback', { podIP: '127.0.0.1', podIPs: [{ ip: '127.0.0.1' }] }, 'somewhere'),
    send: ({ canary }) => `GET ${CORE}/pods/loopback:${canary}/proxy/`,
    says: REFUSED,
  },
  {
    name: 'a pod says that it is at a link-local address',
    prepare: world => world.pod('local', { podIP: '169.254.169.254', podIPs: [{ ip: '169.254.169.254' }] }, 'somewhere'),
    send: () => `GET ${CORE}/pods/http:local:80/proxy/latest/meta-data/`,
    says: REFUSED,
  },
  {
    name: 'a service leads to a name',
    prepare: world =>
      world.make(`${CORE}/services`, {
        metadata: { name: 'external' },
        spec: { type: 'ExternalName', externalName: 'localhost', ports: [{ port: 80 }] },
      }),
    send: ({ canary }) => `GET ${CORE}/services/external:${canary}/proxy/`,
  },
  {
    name: 'a service without endpoints is tried at its own address',
    prepare: world => world.make(`${CORE}/services`, { metadata: { name: 'empty' }, spec: { ports: [{ port: 80 }] } }),
    send: () => `GET ${CORE}/services/empty:80/proxy/`,
    says: /no endpoints available/,
  },
]

async function openWorld(t: Scope): Promise<{ world: World; visits: string[] }> {
  const server = await startInProcess(t, { controllers: ['none'] })
  const { port: canary, visits } = await openCanary(t)
  const send = async (method: string, path: string, body: object) => {
    const headers = { 'content-type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json' }
    const { status, text } = await ask(server, path, { method, body, headers })
    assert.ok(status < 300, `${method} ${path}: ${text}`)
  }
  const make = (path: string, body: object) => send('POST', path, body)
  await make('/api/v1/nodes', { metadata: { name: 'somewhere' } })
  const world: World = {
    ...server,
    canary,
    make,
    async node(name, address, port = 10250) {
      await make('/api/v1/nodes', { metadata: { name } })
      const status = { addresses: [address], daemonEndpoints: { kubeletEndpoint: { Port: port } } }
      await send('PATCH', `/api/v1/nodes/${name}/status`, { status })
    },
    async pod(name, status, nodeName) {
      await make(`${CORE}/pods`, { metadata: { name }, spec: { containers: [{ name: 'c', image: 'i' }], ...(nodeName && { nodeName }) } })
      await send('PATCH', `${CORE}/pods/${name}/status`, { status })
    },
  }
  return { world, visits }
}

// At 6256f0f1 the canary was visited, or secrets were listed, by most of these.
test('addresses that objects report lead to nothing that only this machine should reach', patient, async t => {
  const { world, visits } = await openWorld(t)
  for (const { name, prepare, send, says } of TRICKS)
    await t.test(name, async () => {
      await prepare?.(world)
      const [method = '', path = ''] = send(world).split(' ')
      const { status, text } = await ask(world, path, { method })
      assert.ok(status >= 400, `${status} ${text}`)
      if (says) assert.match(text, says)
      assert.doesNotMatch(text, /SecretList|canary/)
      assert.deepEqual(visits, [])
    })
})

test('an endpoint at a special address is refused when it is written', patient, async t => {
  const server = await freshServer(t, { controllers: ['none'] })
  for (const address of ['127.0.0.1', '169.254.169.254', '0.0.0.0', '224.0.0.1'])
    await t.test(address, async () => {
      const slice = { metadata: { name: 's' }, addressType: 'IPv4', endpoints: [{ addresses: [address] }], ports: [{ port: 80 }] }
      assert.equal(
        (await ask(server, '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices', { method: 'POST', body: slice })).status,
        422,
      )
      const endpoints = { metadata: { name: 'e' }, subsets: [{ addresses: [{ ip: address }], ports: [{ port: 80 }] }] }
      assert.equal((await ask(server, `${CORE}/endpoints`, { method: 'POST', body: endpoints })).status, 422)
    })
})

test('a webhook that redirects leads nowhere', patient, async t => {
  const server = await freshServer(t, { controllers: ['none'] })
  const { port, visits } = await openCanary(t)
  const { clientConfig, calls } = await webhook(t, (_, response) => {
    response.writeHead(307, { location: `http://127.0.0.1:${port}/stolen` }).end()
  })
  const configuration = {
    metadata: { name: 'redirects' },
    webhooks: [
      {
        name: 'redirects.example.com',
        clientConfig,
        rules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['configmaps'] }],
        sideEffects: 'None',
        admissionReviewVersions: ['v1'],
      },
    ],
  }
  const made = await ask(server, '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations', {
    method: 'POST',
    body: configuration,
  })
  assert.equal(made.status, 201, made.text)
  const refused = await eventually('the webhook', async () => {
    const answer = await ask(server, `${CORE}/configmaps?dryRun=All`, { method: 'POST', body: { metadata: { name: 'c' } } })
    return answer.status === 201 ? undefined : answer
  })
  assert.equal(refused.status, 500, refused.text)
  assert.equal(calls.length, 1)
  assert.deepEqual(visits, [])
})

test('addresses of webhooks are those of HTTPS, without credentials', patient, async t => {
  const server = await freshServer(t, { controllers: ['none'] })
  const urls = [
    'http://127.0.0.1/',
    'file:///etc/passwd',
    'https://user:secret@127.0.0.1/',
    'https://127.0.0.1/?a=b',
    'https://127.0.0.1/#a',
    'gopher://127.0.0.1/',
    'https:///x',
    '//127.0.0.1/',
  ]
  for (const url of urls)
    await t.test(url, async () => {
      const body = {
        metadata: { name: 'w' },
        webhooks: [{ name: 'a.example.com', clientConfig: { url }, sideEffects: 'None', admissionReviewVersions: ['v1'] }],
      }
      const { status } = await ask(server, '/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations', { method: 'POST', body })
      assert.equal(status, 422)
    })
})
