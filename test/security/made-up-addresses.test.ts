// No connection leaves the machine for a made-up address: those of simulated nodes and of the pods on them are refused immediately,
// wherever they are written, and the message names their owner and an alternative.
import assert from 'node:assert/strict'
import { Socket, type SocketConnectOpts } from 'node:net'
import { test } from 'node:test'
import { type Answer, ask, CONFIG_MAPS, configMap, eventually, patient, type Scope, startInProcess, type Target } from '../kit.ts'
import { configure } from '../kits/admission-objects.ts'
import { APISERVICES, apiService, availability } from '../kits/aggregated-api.ts'

const DEFAULT = '/api/v1/namespaces/default'
const SLICES = '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices'
const MERGE = { 'content-type': 'application/merge-patch+json' }

async function make(server: Target, path: string, body: object): Promise<any> {
  const { status, text, json } = await ask(server, path, { method: 'POST', body })
  assert.equal(status, 201, `${path}: ${text}`)
  return json
}

const told = ({ status, json, text }: Answer): string => `${status} ${json?.message ?? text}`

/** A server with a simulated node, a pod on it that runs, and a Service in front of it. */
async function open(t: Scope) {
  // Also where all networks are open.
  const server = await startInProcess(t, { nodes: 1, proxyAllowedNetworks: ['0.0.0.0/0', '::/0'] })
  await make(server, `${DEFAULT}/services`, {
    metadata: { name: 'web' },
    spec: { selector: { app: 'web' }, ports: [{ name: 'https', port: 443, targetPort: 8443 }] },
  })
  await make(server, `${DEFAULT}/pods`, {
    metadata: { name: 'web-1', labels: { app: 'web' } },
    spec: { containers: [{ name: 'main', image: 'x', ports: [{ containerPort: 8443 }] }] },
  })
  const ip = await eventually('the pod being an endpoint', async () => {
    const { json } = await ask(server, `${SLICES}?labelSelector=kubernetes.io/service-name%3Dweb`)
    const [endpoint] = json.items.flatMap((slice: any) => slice.endpoints ?? [])
    return endpoint?.conditions?.ready ? (endpoint.addresses[0] as string) : undefined
  })
  const pod = `${ip} is the address of pod "default/web-1" on node "simulated-1", which is simulated: nothing answers there`
  return { server, ip, pod }
}

/** A Service whose endpoint somebody has written by hand. */
async function serviceAt(server: Target, name: string, address: string): Promise<void> {
  await make(server, `${DEFAULT}/services`, { metadata: { name }, spec: { clusterIP: 'None', ports: [{ name: 'https', port: 443 }] } })
  await make(server, SLICES, {
    metadata: { name: `${name}-1`, labels: { 'kubernetes.io/service-name': name } },
    addressType: 'IPv4',
    ports: [{ name: 'https', port: 8443 }],
    endpoints: [{ addresses: [address] }],
  })
}

/** The result of a write while a webhook uses this Service. */
async function whileCalled(server: Target, name: string): Promise<string> {
  const clientConfig = { service: { namespace: 'default', name } } as never
  await configure(server, 'validating', name, { hook: { clientConfig } })
  const refused = await ask(server, CONFIG_MAPS, { method: 'POST', body: configMap('x') })
  await ask(server, `/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/${name}`, { method: 'DELETE' })
  return told(refused)
}

const BY_URL =
  'run the webhook where this server reaches it, and give the Service the annotation sim.keelson.dev/address, or call it by clientConfig.url'
const posted = (name: string) =>
  `failed calling webhook "${name}-0.example.com": failed to call webhook: Post "https://${name}.default.svc:443/?timeout=10s"`

// At 6256f0f1 each of these was sent to the address on the network of the machine.
test('a webhook whose pods are simulated is refused at once, with the way out', patient, async t => {
  const { server, ip, pod } = await open(t)
  assert.equal(await whileCalled(server, 'web'), `500 Internal error occurred: ${posted('web')}: service "web": ${pod}; ${BY_URL}`)
  await serviceAt(server, 'manual', ip)
  assert.equal(await whileCalled(server, 'manual'), `500 Internal error occurred: ${posted('manual')}: service "manual": ${pod}; ${BY_URL}`)
})

test('a conversion webhook whose pods are simulated is refused at once', patient, async t => {
  const { server, pod } = await open(t)
  const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } }
  const version = (name: string, storage: boolean) => ({ name, served: true, storage, schema })
  await make(server, '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
    metadata: { name: 'widgets.example.com' },
    spec: {
      group: 'example.com',
      scope: 'Cluster',
      names: { plural: 'widgets', kind: 'Widget' },
      versions: [version('v1', true), version('v2', false)],
      conversion: {
        strategy: 'Webhook',
        webhook: { conversionReviewVersions: ['v1'], clientConfig: { service: { namespace: 'default', name: 'web' } } },
      },
    },
  })
  const widgets = '/apis/example.com/v2/widgets'
  await eventually('the kind being served', async () => (await ask(server, widgets)).status === 200 || undefined)
  const body = { apiVersion: 'example.com/v2', kind: 'Widget', metadata: { name: 'a' }, spec: {} }
  const refused = await ask(server, widgets, { method: 'POST', body })
  assert.equal(told(refused), `500 conversion webhook for example.com/v2, Kind=Widget failed: service "web": ${pod}; ${BY_URL}`)
})

test('an API server whose pods are simulated is not available, and the condition says why', patient, async t => {
  const { server, pod } = await open(t)
  await make(server, APISERVICES, apiService({ service: { namespace: 'default', name: 'web' } }))
  const { message } = await availability(server, 'FailedDiscoveryCheck')
  assert.equal(
    message,
    `service "web": ${pod}; run the API server where this server reaches it, and give the Service its address: by the annotation sim.keelson.dev/address, in an EndpointSlice of your own, or as type ExternalName`,
  )
})

test('the proxy of a Service, a pod or a node that is simulated leads nowhere', patient, async t => {
  const { server, ip, pod } = await open(t)
  assert.equal(
    told(await ask(server, `${DEFAULT}/services/https:web:443/proxy/x`)),
    `503 service "web": ${pod}; run the program on this machine, and give the Service the annotation sim.keelson.dev/address`,
  )
  assert.match(
    told(await ask(server, `${DEFAULT}/pods/web-1/proxy/x`)),
    /^503 error trying to reach service: pod "web-1" is simulated by node "simulated-1"/,
  )
  const { json: simulated } = await ask(server, '/api/v1/nodes/simulated-1')
  const own = simulated.status.addresses.find((each: any) => each.type === 'InternalIP').address
  for (const [address, whose] of Object.entries({
    [ip]: pod,
    [own]: `${own} is the address of node "simulated-1", which is simulated: nothing answers there`,
  })) {
    // The address is no more real when a real node reports it as well.
    await make(server, '/api/v1/nodes', { metadata: { name: 'other' } })
    const status = { addresses: [{ type: 'InternalIP', address: `::ffff:${address}` }] }
    await ask(server, '/api/v1/nodes/other/status', { method: 'PATCH', body: { status }, headers: MERGE })
    const answer = await ask(server, '/api/v1/nodes/other/proxy/healthz')
    assert.equal(told(answer), `400 ${whose}`)
    await ask(server, '/api/v1/nodes/other', { method: 'DELETE' })
  }
})

test('the address of a pod stays made up while its node is gone', patient, async t => {
  const { server, pod } = await open(t)
  await ask(server, '/api/v1/nodes/simulated-1', { method: 'DELETE' })
  const gone = pod.replace('is simulated', 'does not exist')
  assert.match(await whileCalled(server, 'web'), new RegExp(`service "web": ${gone.replaceAll('.', '\\.')}; `))
})

test('a server that runs pods connects to nobody of its own accord', patient, async t => {
  const { connect } = Socket.prototype
  const opened = new Set<string>()
  t.mock.method(Socket.prototype, 'connect', function (this: Socket, ...given: unknown[]) {
    const [to] = given.flat() as [SocketConnectOpts | number | string]
    opened.add(typeof to !== 'object' ? String(to) : 'port' in to ? `${to.host ?? 'localhost'}:${to.port}` : to.path)
    return connect.apply(this, given as Parameters<Socket['connect']>)
  })
  const { server } = await open(t)
  await server.settled()
  assert.deepEqual([...opened], [new URL(server.url).host])
})
