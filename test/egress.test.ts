// Connections of the server through proxies, as an egress selector configuration states them.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import test from 'node:test'
import type { StartOptions } from '../src/index.ts'
import { issueAuthority, issueClient, issueServer } from '../src/lib/x509/issue.ts'
import { anonymous, ask, CONFIG_MAPS, configMap, eventually, patient, startInProcess, type Target, temporaryDirectory } from './kit.ts'
import { openProvider } from './kits/access.ts'
import { configure, ruleFor } from './kits/admission-objects.ts'
import { startConnectProxy } from './kits/connect-proxy.ts'
import { startEtcd } from './kits/etcd.ts'
import { type Dialed, startKonnectivityProxy } from './kits/konnectivity-proxy.ts'
import { deny, webhook } from './kits/webhooks.ts'
import { testWith } from './programs.ts'

const base: StartOptions = { controllers: ['none'], nodes: 0, store: 'memory' }
const selection = (name: string, connection: object) => ({ name, connection })
const httpConnect = (transport: object) => ({ proxyProtocol: 'HTTPConnect', transport })
const grpc = (transport: object) => ({ proxyProtocol: 'GRPC', transport })
const validity = { notBefore: new Date(Date.now() - 3_600_000), notAfter: new Date(Date.now() + 3_600_000) }

/** A server whose answers are as long as their path says. */
async function startTarget(t: import('node:test').TestContext): Promise<number> {
  const target = createServer(
    (request, response) =>
      request.pipe(response, { end: false }).on('error', () => {}) &&
      request.on('end', () => response.end('x'.repeat(Number(request.url!.slice(1))))),
  ).listen(0, '127.0.0.1')
  await once(target, 'listening')
  t.after(() => target.close())
  return (target.address() as AddressInfo).port
}

/** A pod at an address that only a proxy reaches. */
async function createPod(server: Target): Promise<void> {
  await ask(server, '/api/v1/nodes', { method: 'POST', body: { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n' } } })
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' }, spec: { nodeName: 'n', containers: [{ name: 'c', image: 'i' }] } }
  const created = await ask(server, '/api/v1/namespaces/default/pods', { method: 'POST', body: pod })
  assert.equal(created.status, 201, created.text)
  const status = { phase: 'Running', podIP: '203.0.113.7', podIPs: [{ ip: '203.0.113.7' }] }
  const written = await ask(server, '/api/v1/namespaces/default/pods/p/status', { method: 'PUT', body: { ...created.json, status } })
  assert.equal(written.status, 200, written.text)
}
const POD = '/api/v1/namespaces/default/pods/p:8080/proxy'
const metricsOf = async (server: Target, name: string): Promise<string[]> =>
  (await ask(server, '/metrics')).text.split('\n').filter(line => line.startsWith(name))

function configurationIn(t: import('node:test').TestContext, ...egressSelections: object[]): string {
  const file = join(temporaryDirectory(t), 'egress.json')
  writeFileSync(file, JSON.stringify({ apiVersion: 'apiserver.k8s.io/v1beta1', kind: 'EgressSelectorConfiguration', egressSelections }))
  return file
}

test('webhooks by URL are called through the proxy of the control plane, pods through that of the cluster', patient, async t => {
  const target = createServer((_, response) => response.end('from the pod')).listen(0, '127.0.0.1')
  await once(target, 'listening')
  t.after(() => target.close())
  const { port } = target.address() as AddressInfo
  const controlPlane = await startConnectProxy()
  // The network of the cluster can be reached only through its proxy.
  const cluster = await startConnectProxy(join(temporaryDirectory(t), 'proxy.sock'), { lead: () => `127.0.0.1:${port}` })
  t.after(() => Promise.all([controlPlane.stop(), cluster.stop()]))
  const server = await startInProcess(t, {
    ...base,
    egressSelectorConfigFile: configurationIn(
      t,
      selection('controlplane', httpConnect({ tcp: { url: controlPlane.url } })),
      selection('cluster', httpConnect({ uds: { udsName: cluster.url } })),
      selection('etcd', { proxyProtocol: 'Direct' }),
    ),
  })
  const hook = await webhook(t, deny('not today'))
  await configure(server, 'validating', 'deny', { hook, rules: [ruleFor(['configmaps'])] })
  const refused = await ask(server, CONFIG_MAPS, { method: 'POST', body: configMap('a', {}) })
  assert.match(refused.json.message, /not today/)
  assert.deepEqual(new Set(controlPlane.asked), new Set([new URL(hook.clientConfig.url!).host]))

  await createPod(server)
  const answer = await ask(server, '/api/v1/namespaces/default/pods/p:8080/proxy/')
  assert.equal(answer.text, 'from the pod')
  assert.deepEqual(cluster.asked, ['203.0.113.7:8080'])
})

test('a proxy is connected to over TLS, with a certificate of the server, and verified by name', patient, async t => {
  const port = await startTarget(t)
  const [authority, clients] = [issueAuthority('proxies', validity), issueAuthority('clients', validity)]
  const proxy = await startConnectProxy(undefined, {
    lead: () => `127.0.0.1:${port}`,
    tls: { ...issueServer(authority, 'proxy', { names: ['proxy.example'], ...validity }), clientCa: clients.cert },
  })
  t.after(() => proxy.stop())
  const folder = temporaryDirectory(t)
  const fileOf = (name: string, text: string) => {
    writeFileSync(join(folder, name), text)
    return join(folder, name)
  }
  const client = issueClient(clients, { commonName: 'server' }, validity)
  const tlsConfig = {
    caBundle: fileOf('ca', authority.cert),
    clientCert: fileOf('cert', client.cert),
    clientKey: fileOf('key', client.key),
  }
  const start = async (more: object) => {
    const tcp = { url: proxy.url, tlsConfig: { ...tlsConfig, ...more } }
    const server = await startInProcess(t, {
      ...base,
      egressSelectorConfigFile: configurationIn(t, selection('cluster', httpConnect({ tcp }))),
    })
    await createPod(server)
    return server
  }
  const named = await start({ tlsServerName: 'proxy.example' })
  assert.equal((await ask(named, `${POD}/3`)).text, 'xxx')
  assert.deepEqual(proxy.asked, ['203.0.113.7:8080'])
  // The host of the URL is not in the certificate.
  const other = await start({})
  const refused = await ask(other, `${POD}/3`)
  assert.equal(refused.status, 503)
  assert.match(refused.text, /x509: cannot validate certificate for 127\.0\.0\.1 because it doesn't contain any IP SANs/)
  const labels = 'protocol="http_connect",transport="tcp"'
  assert.deepEqual(await metricsOf(other, 'apiserver_egress_dialer_dial_failure_count{'), [
    `apiserver_egress_dialer_dial_failure_count{${labels},stage="connect"} 1`,
  ])
  assert.equal(proxy.asked.length, 1)
})

test('a proxy that refuses is quoted in the words of kube-apiserver', patient, async t => {
  const proxy = await startConnectProxy(undefined, { refusal: '407 Proxy Authentication Required' })
  t.after(() => proxy.stop())
  const tcp = { url: proxy.url }
  const server = await startInProcess(t, {
    ...base,
    egressSelectorConfigFile: configurationIn(t, selection('cluster', httpConnect({ tcp }))),
  })
  await createPod(server)
  const address = proxy.url.replace('http://', '')
  const refused = `proxy error from ${address} while dialing 203.0.113.7:8080, code 407: 407 Proxy Authentication Required`
  assert.ok((await ask(server, `${POD}/`)).text.includes(refused))
  await proxy.stop()
  assert.ok((await ask(server, `${POD}/`)).text.includes(`dial tcp ${address}: connect: connection refused`))
  const metric = 'apiserver_egress_dialer_dial_failure_count{protocol="http_connect",transport="tcp",stage='
  assert.deepEqual(await metricsOf(server, metric), [`${metric}"proxy"} 1`, `${metric}"connect"} 1`])
})

test('a proxy of Konnectivity connects to pods and webhooks', patient, async t => {
  const port = await startTarget(t)
  const socket = join(temporaryDirectory(t), 'konnectivity.sock')
  const outcomes: Dialed[] = []
  const proxy = await startKonnectivityProxy(socket, address => {
    if (address.startsWith('203.0.113.7:')) return outcomes.shift() ?? { to: `127.0.0.1:${port}` }
    return { to: address }
  })
  t.after(() => proxy.stop())
  const through = grpc({ uds: { udsName: socket } })
  const server = await startInProcess(t, {
    ...base,
    egressSelectorConfigFile: configurationIn(t, selection('cluster', through), selection('controlplane', through)),
  })
  // TLS within the tunnel.
  const hook = await webhook(t, deny('not today'))
  await configure(server, 'validating', 'deny', { hook, rules: [ruleFor(['configmaps'])] })
  const refused = await ask(server, CONFIG_MAPS, { method: 'POST', body: configMap('a', {}) })
  assert.match(refused.json.message, /not today/)
  assert.deepEqual(new Set(proxy.asked.splice(0)), new Set([new URL(hook.clientConfig.url!).host]))

  await createPod(server)
  // Bodies are longer than the window of a stream, in both directions.
  const body = 'y'.repeat(300_000)
  const answer = await ask(server, `${POD}/400000`, { method: 'POST', body, headers: { 'content-type': 'text/plain' } })
  assert.equal(answer.text, body + 'x'.repeat(400_000))
  assert.deepEqual(proxy.asked, ['203.0.113.7:8080'])

  outcomes.push({ error: 'dial tcp 203.0.113.7:8080: connect: no route to host' }, 'give up', 'end')
  for (const why of ['dial tcp 203.0.113.7:8080: connect: no route to host', 'dial closed', 'tunnel closed']) {
    const failed = await ask(server, `${POD}/`)
    assert.equal(failed.status, 503)
    assert.ok(failed.text.includes(why), failed.text)
  }
  const failures = 'konnectivity_network_proxy_client_dial_failure_total{reason='
  assert.deepEqual(
    await metricsOf(server, failures),
    ['endpoint', 'dialclosed', 'tunnelclosed'].map(reason => `${failures}"${reason}"} 1`),
  )
  assert.deepEqual(await metricsOf(server, 'apiserver_egress_dialer_dial_failure_count{'), [
    'apiserver_egress_dialer_dial_failure_count{protocol="grpc",transport="uds",stage="proxy"} 3',
  ])
  const packets = 'konnectivity_network_proxy_client_stream_packets_total{segment="from_client",packet_type="DIAL_REQ"}'
  const [dials] = await metricsOf(server, packets)
  assert.ok(Number(dials!.split(' ')[1]) >= 5, dials)
  await server.close()
  await eventually('all connections are closed', async () => (proxy.open() === 0 ? true : undefined))
})

test('a proxy of Konnectivity that starts late is waited for', patient, async t => {
  const port = await startTarget(t)
  const socket = join(temporaryDirectory(t), 'konnectivity.sock')
  const server = await startInProcess(t, {
    ...base,
    egressSelectorConfigFile: configurationIn(t, selection('cluster', grpc({ uds: { udsName: socket } }))),
  })
  await createPod(server)
  const answering = ask(server, `${POD}/2`)
  await eventually('the server has tried', async () =>
    (await metricsOf(server, 'apiserver_egress_dialer_dial_start_total{')).length > 0 ? true : undefined,
  )
  const proxy = await startKonnectivityProxy(socket, () => ({ to: `127.0.0.1:${port}` }))
  t.after(() => proxy.stop())
  assert.equal((await answering).text, 'xx')
})

test('an issuer of tokens is reached through the network that it names, and only through one that is configured', patient, async t => {
  const { issuer, ca, token } = await openProvider(t)
  const proxy = await startConnectProxy()
  t.after(() => proxy.stop())
  const file = (egressSelectorType: string) => {
    const name = join(temporaryDirectory(t), 'authentication.json')
    const jwt = [
      {
        issuer: { url: issuer, audiences: ['keelson'], certificateAuthority: ca, egressSelectorType },
        claimMappings: { username: { claim: 'sub', prefix: 'id:' } },
      },
    ]
    writeFileSync(name, JSON.stringify({ apiVersion: 'apiserver.config.k8s.io/v1', kind: 'AuthenticationConfiguration', jwt }))
    return name
  }
  const egressSelectorConfigFile = configurationIn(t, selection('controlplane', httpConnect({ tcp: { url: proxy.url } })))
  const server = await startInProcess(t, { ...base, authenticationConfig: file('controlplane'), egressSelectorConfigFile })
  const who = await ask(server, '/apis/authentication.k8s.io/v1/selfsubjectreviews', {
    method: 'POST',
    body: {},
    ...anonymous,
    headers: { authorization: `Bearer ${token({})}` },
  })
  assert.equal(who.json.status.userInfo?.username, 'id:jane', who.text)
  assert.deepEqual(new Set(proxy.asked), new Set([new URL(issuer).host]))
  const start = (more: StartOptions) => startInProcess(t, { ...base, ...more })
  await assert.rejects(
    start({ authenticationConfig: file('cluster') }),
    /oidc: egress lookup required with egress selector type "cluster"$/,
  )
  await assert.rejects(
    start({ authenticationConfig: file('cluster'), egressSelectorConfigFile }),
    /oidc: egress lookup for "cluster" is not configured$/,
  )
  await assert.rejects(
    start({
      authenticationConfig: file('controlplane'),
      egressSelectorConfigFile,
      featureGates: 'StructuredAuthenticationConfigurationEgressSelector=false',
    }),
    /issuer\.egressSelectorType: Invalid value: "controlplane": egress selector is not supported when StructuredAuthenticationConfigurationEgressSelector feature gate is disabled/,
  )
})

testWith('etcd', 'etcd is reached through its own proxies', patient, async (t, program) => {
  const etcd = await startEtcd({ program })
  t.after(() => etcd[Symbol.asyncDispose]())
  const connecting = await startConnectProxy()
  const socket = join(temporaryDirectory(t), 'konnectivity.sock')
  const tunnelling = await startKonnectivityProxy(socket, address => ({ to: address }))
  t.after(() => Promise.all([connecting.stop(), tunnelling.stop()]))
  for (const [proxy, connection] of [
    [connecting, httpConnect({ tcp: { url: connecting.url } })],
    [tunnelling, grpc({ uds: { udsName: socket } })],
  ] as const) {
    const server = await startInProcess(t, {
      ...base,
      store: 'etcd',
      etcdServers: [...etcd.endpoints],
      egressSelectorConfigFile: configurationIn(t, selection('etcd', connection)),
    })
    const created = await ask(server, CONFIG_MAPS, {
      method: 'POST',
      body: configMap(`through-${connection.proxyProtocol.toLowerCase()}`, {}),
    })
    assert.equal(created.status, 201, created.text)
    assert.deepEqual(new Set(proxy.asked), new Set(etcd.endpoints.map(endpoint => new URL(endpoint).host)))
    await server.close()
  }
})

test('faults of the configuration end the start, in the words of kube-apiserver', patient, async t => {
  const fault = async (...selections: object[]) => {
    const options = { ...base, egressSelectorConfigFile: configurationIn(t, ...selections) }
    return startInProcess(t, options).then(
      () => '',
      error => (error as Error).message,
    )
  }
  assert.match(
    await fault(selection('cluster', httpConnect({ tcp: { url: 'ftp://x' } }))),
    /service\.connection\.url: Invalid value: "ftp:\/\/x": supported connection protocols are http:\/\/ and https:\/\//,
  )
  assert.match(
    await fault(selection('cluster', { proxyProtocol: 'Direct' }), selection('Cluster', { proxyProtocol: 'Direct' })),
    /service\.connection\[1\]: Duplicate value: "cluster"/,
  )
  assert.match(
    await fault(selection('moon', { proxyProtocol: 'Direct' })),
    /Unsupported value: "moon": supported values: "cluster", "controlplane", "etcd"/,
  )
  assert.match(
    await fault(selection('etcd', grpc({ tcp: { url: 'https://x' } }))),
    /service\.connection\.uds: Required value: UDS must be set with GRPC/,
  )
  const file = join(temporaryDirectory(t), 'file')
  writeFileSync(file, 'no certificate')
  assert.match(
    await fault(selection('Cluster', httpConnect({ tcp: { url: 'https://x', tlsConfig: { clientCert: file, clientKey: file } } }))),
    /failed to create dialer for egressSelection "cluster": failed to read key pair .* & .*, got /,
  )
})
