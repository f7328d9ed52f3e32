// Pods and Services that stand for a process on this machine: every connection of the server goes there, and only administrators say so.
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { createSecureServer } from 'node:http2'
import { get } from 'node:https'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import {
  brotliCompressSync,
  brotliDecompressSync,
  deflateRawSync,
  deflateSync,
  gunzipSync,
  gzipSync,
  inflateRawSync,
  inflateSync,
} from 'node:zlib'
import { issueAuthority, issueServer } from '../src/lib/x509/issue.ts'
import { ask, CONFIG_MAPS, configMap, eventually, patient, type Scope, serverOfFile } from './kit.ts'
import { configure, make } from './kits/admission-objects.ts'
import { APISERVICES, apiService, availability, FLUNDERS, GROUP, startAggregatedApi, VERSION } from './kits/aggregated-api.ts'
import { grpcServer } from './kits/grpc-server.ts'
import { SpdyClient, upgradeToSpdy } from './kits/spdy-client.ts'
import { deny, webhook } from './kits/webhooks.ts'

const server = serverOfFile({ nodes: 1 })
const DEFAULT = '/api/v1/namespaces/default'
const DEPLOYMENTS = '/apis/apps/v1/namespaces/default/deployments'
const MERGE = { 'content-type': 'application/merge-patch+json' }

/** A program that tells what it was asked. */
async function program(t: Scope): Promise<number> {
  const http = createServer((request, response) => response.end(`${request.method} ${request.url}`))
  await new Promise<void>(resolve => http.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    http.closeAllConnections()
    http.close()
  })
  return (http.address() as AddressInfo).port
}

async function readyPod(name: string, annotations: Record<string, string>): Promise<void> {
  const containers = [{ name: 'c', image: 'web', ports: [{ name: 'http', containerPort: 80 }] }]
  await make(server, `${DEFAULT}/pods`, { metadata: { name, labels: { app: name }, annotations }, spec: { containers } })
  await eventually(`pod ${name}`, async () => {
    const { json } = await ask(server, `${DEFAULT}/pods/${name}`)
    return json.status.conditions?.some((each: any) => each.type === 'Ready' && each.status === 'True') ? true : undefined
  })
}

test('a pod that stands for a process is reached by its proxy, by that of its Service, and by port-forward', patient, async t => {
  const port = await program(t)
  await readyPod('web', { 'sim.keelson.dev/address': '127.0.0.1', 'sim.keelson.dev/ports': `80=${port}, 81=1` })
  await make(server, `${DEFAULT}/services`, {
    metadata: { name: 'web' },
    spec: { selector: { app: 'web' }, ports: [{ port: 8080, targetPort: 'http' }] },
  })
  assert.equal((await ask(server, `${DEFAULT}/pods/web/proxy/a/b?c=d`)).text, 'GET /a/b?c=d')
  await eventually('the endpoint of the Service', async () =>
    (await ask(server, `${DEFAULT}/services/web:8080/proxy/x`)).text === 'GET /x' ? true : undefined,
  )
  const upgraded = await upgradeToSpdy(server, `${DEFAULT}/pods/web/portforward`, ['portforward.k8s.io'])
  assert.ok('socket' in upgraded)
  t.after(() => upgraded.socket.destroy())
  const client = new SpdyClient(upgraded.socket)
  const headers = { port: '80', requestid: '0' }
  await client.open({ ...headers, streamtype: 'error' })
  const data = await client.open({ ...headers, streamtype: 'data' })
  client.send(data, 'GET /forwarded HTTP/1.0\r\n\r\n')
  await eventually('the answer', () => (client.received.get(data)?.endsWith('\r\n\r\nGET /forwarded') ? true : undefined))
  assert.equal((await ask(server, `${DEFAULT}/pods/web:81/proxy/`)).status, 503)
})

test('links of pages lead through the proxy that the pages came through, compressed or not', patient, async t => {
  const html = '<a href="/x">x</a><a href="https://example.com/">y</a>'
  const encoders: Record<string, (text: string) => Buffer> = {
    gzip: gzipSync,
    deflate: deflateRawSync,
    zlib: deflateSync,
    br: brotliCompressSync,
  }
  const asked: (string | undefined)[] = []
  const http = createServer(({ url = '', headers, socket }, response) => {
    const [, name = '', type = 'text/html; charset=utf-8'] = url.split('/').map(decodeURIComponent)
    asked.push(headers['x-forwarded-uri'] as string)
    if (name === 'moved') response.setHeader('location', `http://127.0.0.1:${socket.localPort}/there?a=b`)
    const encode = encoders[name]
    response.writeHead(name === 'moved' ? 302 : 200, {
      'content-type': type,
      ...(encode && { 'content-encoding': name === 'zlib' ? 'deflate' : name }),
      etag: '"1"',
    })
    response.end(name === 'empty' ? '' : encode ? encode(html) : html)
  })
  await new Promise<void>(resolve => http.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    http.closeAllConnections()
    http.close()
  })
  const { port } = http.address() as AddressInfo
  await readyPod('pages', { 'sim.keelson.dev/address': '127.0.0.1', 'sim.keelson.dev/ports': `80=${port}` })
  const proxy = `${DEFAULT}/pods/pages/proxy`
  const expected = html.replace('/x', `${proxy}/x`)
  for (const [name, decode] of Object.entries({ plain: String, gzip: gunzipSync, deflate: inflateRawSync, zlib: inflateSync }))
    assert.equal(decode(await bytesOf(`${proxy}/${name}`)).toString(), expected, name)
  assert.equal(brotliDecompressSync(await bytesOf(`${proxy}/br`)).toString(), html)
  assert.equal((await ask(server, `${proxy}/plain/text%2Fplain`)).text, html)
  assert.equal((await ask(server, `${proxy}/empty`)).text, '')
  const moved = await ask(server, `${proxy}/moved`)
  assert.deepEqual([moved.headers['location'], moved.text], [`${proxy}/there?a=b`, html])
  assert.equal(asked.at(-1), `${proxy}/moved`)
})

test('a process is asked for the host that the client named, and may speak nothing but HTTP/2', patient, async t => {
  const validity = { notBefore: new Date(Date.now() - 60_000), notAfter: new Date(Date.now() + 3600_000) }
  const pair = issueServer(issueAuthority('process', validity), 'process', { names: ['127.0.0.1'], ...validity })
  const secure = createSecureServer({ ...pair, allowHTTP1: false }, async (message, response) => {
    let body = ''
    for await (const part of message) body += part
    response.end(`${message.method} ${message.url} ${message.authority} ${body}`)
  })
  const plain = createServer(({ headers }, response) => void response.end(headers.host))
  for (const each of [secure, plain]) {
    await new Promise<void>(resolve => each.listen(0, '127.0.0.1', resolve))
    t.after(() => each.close())
  }
  const ports = `80=${(plain.address() as AddressInfo).port},443=${(secure.address() as AddressInfo).port}`
  await readyPod('hosts', { 'sim.keelson.dev/address': '127.0.0.1', 'sim.keelson.dev/ports': ports })
  const { host } = new URL(server.url)
  assert.equal((await ask(server, `${DEFAULT}/pods/hosts:80/proxy/`)).text, host)
  assert.equal((await bytesOf(`${DEFAULT}/pods/hosts:80/proxy/`, { host: 'shop.example' })).toString(), 'shop.example')
  const posted = await ask(server, `${DEFAULT}/pods/https:hosts:443/proxy/a`, { method: 'POST', body: { x: 'y'.repeat(100_000) } })
  assert.equal(
    posted.text.replace(/y+/, all => String(all.length)),
    `POST /a ${host} {"x":"100000"}`,
  )
})

/** The body of an answer, as it is sent. */
const bytesOf = (path: string, headers = {}): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    const sent = get(new URL(path, server.url), { ...server.credentials, servername: 'localhost', headers }, answer => {
      const parts: Buffer[] = []
      answer.on('data', (part: Buffer) => parts.push(part))
      answer.on('error', reject).on('end', () => resolve(Buffer.concat(parts)))
    })
    sent.on('error', reject)
  })

/** The status of the container of a pod, once it fits. */
const containerOf = (name: string, fits: (status: any) => boolean): Promise<any> =>
  eventually(`the container of ${name}`, async () => {
    const [status] = (await ask(server, `${DEFAULT}/pods/${name}`)).json.status?.containerStatuses ?? []
    return status && fits(status) ? status : undefined
  })

const unhealthy = async (name: string): Promise<string[]> => {
  const { json } = await ask(server, `${DEFAULT}/events?fieldSelector=involvedObject.name%3D${name}`)
  return json.items.filter((event: any) => event.reason === 'Unhealthy').map((event: any) => event.message)
}

test('HTTP, TCP and gRPC probes of a pod that stands for a process connect to it', patient, async t => {
  let code = 500
  const http = createServer((request, response) => {
    response.statusCode = request.headers['x-probe'] === 'yes' && request.url === '/ready' ? code : 404
    response.end()
  })
  await new Promise<void>(resolve => http.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    http.closeAllConnections()
    http.close()
  })
  let state = 2
  const health = await grpcServer({ '/grpc.health.v1.Health/Check': (_, answer) => void answer.number(1, state) })
  t.after(() => health.stop())
  const { port } = http.address() as AddressInfo
  const annotations = { 'sim.keelson.dev/address': '127.0.0.1', 'sim.keelson.dev/ports': `80=${port},81=${health.port},82=1` }
  const often = { periodSeconds: 1, failureThreshold: 100 }
  const pod = async (name: string, probes: object) => {
    const ports = [{ name: 'http', containerPort: 80 }]
    await make(server, `${DEFAULT}/pods`, {
      metadata: { name, annotations },
      spec: { containers: [{ name: 'c', image: 'web', ports, ...probes }], terminationGracePeriodSeconds: 0 },
    })
  }
  const httpGet = { path: '/ready', port: 'http', httpHeaders: [{ name: 'X-Probe', value: 'yes' }] }
  await pod('http-probe', { readinessProbe: { httpGet, periodSeconds: 1, failureThreshold: 1 } })
  await pod('tcp-probe', { startupProbe: { tcpSocket: { port: 80 }, ...often }, readinessProbe: { tcpSocket: { port: 82 }, ...often } })
  await pod('grpc-probe', { readinessProbe: { grpc: { port: 81 }, ...often } })
  await eventually('the failures', async () => {
    const said = [...(await unhealthy('http-probe')), ...(await unhealthy('tcp-probe')), ...(await unhealthy('grpc-probe'))]
    const is = (text: RegExp) => said.some(each => text.test(each))
    return is(/^Readiness probe failed: HTTP probe failed with statuscode: 500$/) &&
      is(/^Readiness probe failed: dial tcp 10\.\S+:82: connect: connection refused$/) &&
      is(/^Readiness probe failed: service unhealthy \(responded with "NOT_SERVING"\)$/)
      ? true
      : undefined
  })
  assert.equal((await containerOf('tcp-probe', status => status.started)).ready, false)
  assert.equal((await containerOf('http-probe', () => true)).ready, false)
  code = 200
  state = 1
  await containerOf('http-probe', status => status.ready)
  await containerOf('grpc-probe', status => status.ready)
  // Without the annotation the pod is simulated as before.
  code = 500
  await containerOf('http-probe', status => !status.ready)
  await ask(server, `${DEFAULT}/pods/http-probe`, {
    method: 'PATCH',
    headers: MERGE,
    body: { metadata: { annotations: { 'sim.keelson.dev/address': null } } },
  })
  await containerOf('http-probe', status => status.ready)
  code = 503
  await pod('live-probe', { livenessProbe: { httpGet, periodSeconds: 1, failureThreshold: 1 } })
  const { lastState } = await containerOf('live-probe', status => status.restartCount > 0)
  assert.equal(lastState.terminated.exitCode, 143)
})

test('webhooks with a Service reach the process that the Service, or its pod, stands for', patient, async t => {
  const hook = await webhook(t, deny('not today'), { names: ['hook.default.svc'] })
  const { caBundle } = hook.clientConfig
  const annotations = { 'sim.keelson.dev/address': `127.0.0.1:${hook.port}` }
  const spec = { ports: [{ port: 443, targetPort: 9443 }], selector: { app: 'hook' } }
  const denied = async () => (await ask(server, CONFIG_MAPS, { method: 'POST', body: configMap('denied') })).json.message
  const called = { hook: { clientConfig: { service: { namespace: 'default', name: 'hook' }, caBundle } as never } }
  await make(server, `${DEFAULT}/services`, { metadata: { name: 'hook', annotations }, spec })
  await configure(server, 'validating', 'hook', called)
  t.after(() => ask(server, '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/hook', { method: 'DELETE' }))
  const refusal = 'admission webhook "hook-0.example.com" denied the request: not today'
  await eventually('the webhook', async () => ((await denied()) === refusal ? true : undefined))
  await ask(server, `${DEFAULT}/services/hook`, {
    method: 'PATCH',
    body: { metadata: { annotations: { 'sim.keelson.dev/address': null } } },
    headers: MERGE,
  })
  assert.match(await denied(), /no endpoints available for service "hook"/)
  await readyPod('hook', annotations)
  await eventually('the webhook behind the pod', async () => ((await denied()) === refusal ? true : undefined))
})

test('conversion webhooks and aggregated APIs reach the process that their Service stands for', patient, async t => {
  const converting = await webhook(
    t,
    ({ request }, response) => {
      const convertedObjects = request.objects.map((object: object) => ({
        ...object,
        apiVersion: request.desiredAPIVersion,
        told: 'converted',
      }))
      const answer = { uid: request.uid, result: { status: 'Success' }, convertedObjects }
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify({ apiVersion: 'apiextensions.k8s.io/v1', kind: 'ConversionReview', response: answer }))
    },
    { names: ['converter.default.svc'] },
  )
  const service = (name: string, port: number) =>
    make(server, `${DEFAULT}/services`, {
      metadata: { name, annotations: { 'sim.keelson.dev/address': '127.0.0.1', 'sim.keelson.dev/ports': `443=${port}` } },
      spec: { ports: [{ port: 443 }] },
    })
  await service('converter', converting.port)
  const schema = { openAPIV3Schema: { type: 'object', properties: { told: { type: 'string' } } } }
  const clientConfig = { service: { namespace: 'default', name: 'converter' }, caBundle: converting.clientConfig.caBundle }
  await make(server, '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
    metadata: { name: 'turns.example.com' },
    spec: {
      group: 'example.com',
      scope: 'Namespaced',
      names: { plural: 'turns', kind: 'Turn' },
      versions: ['v1', 'v2'].map(name => ({ name, served: true, storage: name === 'v1', schema })),
      conversion: { strategy: 'Webhook', webhook: { clientConfig, conversionReviewVersions: ['v1'] } },
    },
  })
  const turns = (version: string) => `/apis/example.com/${version}/namespaces/default/turns`
  await eventually('the definition', async () => ((await ask(server, turns('v1'))).status === 200 ? true : undefined))
  await make(server, turns('v1'), { apiVersion: 'example.com/v1', kind: 'Turn', metadata: { name: 'a' } })
  assert.equal((await ask(server, `${turns('v2')}/a`)).json.told, 'converted')

  const api = await startAggregatedApi(t)
  await service('wardle', api.port)
  await make(server, APISERVICES, apiService())
  await availability(server, 'Passed')
  await make(server, FLUNDERS, { kind: 'Flunder', apiVersion: `${GROUP}/${VERSION}`, metadata: { name: 'first' } })
  assert.equal((await ask(server, `${FLUNDERS}/first`)).json.metadata.name, 'first')
})

test('the ports of a Service lead to those that its annotation names', patient, async t => {
  const port = await program(t)
  await make(server, `${DEFAULT}/services`, {
    metadata: { name: 'mapped', annotations: { 'sim.keelson.dev/address': '127.0.0.1:1', 'sim.keelson.dev/ports': `80=${port}` } },
    spec: { ports: ['a', 'b'].map((name, i) => ({ name, port: 80 + i })) },
  })
  assert.equal((await ask(server, `${DEFAULT}/services/mapped:a/proxy/x`)).text, 'GET /x')
  assert.equal((await ask(server, `${DEFAULT}/services/mapped:b/proxy/x`)).status, 503)
})

test('an address leads nowhere but to this machine, and never to the server itself', patient, async () => {
  await readyPod('far', { 'sim.keelson.dev/address': '192.0.2.1:80' })
  await readyPod('self', { 'sim.keelson.dev/address': `127.0.0.1:${server.port}` })
  await readyPod('bad', { 'sim.keelson.dev/address': 'example.com:80' })
  const told = async (name: string) => (await ask(server, `${DEFAULT}/pods/https:${name}:443/proxy/`)).json.message
  assert.equal(await told('far'), 'address not allowed: 192.0.2.1 is not on this machine, and --proxy-allowed-networks does not list it')
  assert.equal(await told('self'), 'address not allowed')
  assert.match(await told('bad'), /it has no process that listens$/)
})

test('setting an address needs the permission to use addresses, in templates as well', patient, async () => {
  const developer = { 'impersonate-user': 'dev', 'impersonate-group': 'system:authenticated' }
  const bind = (name: string, role: object, rules: readonly object[]) =>
    Promise.all([
      make(server, '/apis/rbac.authorization.k8s.io/v1/clusterroles', { metadata: { name }, rules }),
      make(server, '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
        metadata: { name },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
        subjects: [role],
      }),
    ])
  const dev = { kind: 'User', name: 'dev', apiGroup: 'rbac.authorization.k8s.io' }
  await bind('develops', dev, [{ apiGroups: ['', 'apps'], resources: ['*'], verbs: ['*'] }])
  const annotations = { 'sim.keelson.dev/address': '127.0.0.1:1' }
  const template = { metadata: { labels: { app: 'd' }, annotations }, spec: { containers: [{ name: 'c', image: 'x' }] } }
  const writes = {
    [`${DEFAULT}/services`]: { metadata: { name: 'dev', annotations }, spec: { ports: [{ port: 80 }] } },
    [`${DEFAULT}/pods`]: { metadata: { name: 'dev', annotations }, spec: template.spec },
    [DEPLOYMENTS]: { metadata: { name: 'dev' }, spec: { selector: { matchLabels: { app: 'd' } }, template } },
  }
  const write = (path: string, body: object) => ask(server, path, { method: 'POST', body, headers: developer })
  await eventually('the permission to write', async () =>
    (await write(`${DEFAULT}/services?dryRun=All`, { metadata: { name: 'x' }, spec: { ports: [{ port: 80 }] } })).status === 201
      ? true
      : undefined,
  )
  for (const [path, body] of Object.entries(writes)) {
    const { status, json } = await write(path, body)
    assert.equal(status, 403, path)
    assert.match(
      json.message,
      /cannot set the annotation sim.keelson.dev\/address: .* it needs the verb "use" on "addresses" of the API group "sim.keelson.dev"$/,
    )
  }
  await make(server, `${DEFAULT}/services`, writes[`${DEFAULT}/services`]!)
  const patched = (address: string | null) =>
    ask(server, `${DEFAULT}/services/dev`, {
      method: 'PATCH',
      body: { metadata: { labels: { changed: 'yes' }, annotations: { 'sim.keelson.dev/address': address } } },
      headers: { ...MERGE, ...developer },
    })
  assert.deepEqual([(await patched('127.0.0.1:1')).status, (await patched('127.0.0.1:2')).status], [200, 403])
  assert.equal((await patched(null)).status, 200)
  await bind('uses', dev, [{ apiGroups: ['sim.keelson.dev'], resources: ['addresses'], verbs: ['use'] }])
  await eventually('the permission', async () => ((await write(DEPLOYMENTS, writes[DEPLOYMENTS]!)).status === 201 ? true : undefined))
  await eventually('the pod that the controller makes from the template', async () => {
    const { json } = await ask(server, `${DEFAULT}/pods?labelSelector=app%3Dd`)
    return json.items[0]?.metadata.annotations['sim.keelson.dev/address'] === '127.0.0.1:1' ? true : undefined
  })
})
