// Requests for pods of real nodes are passed on to their kubelet: logs, exec, attach, port-forward and proxies, upgrades included.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage } from 'node:http'
import { createServer as createTlsServer, request } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { Duplex } from 'node:stream'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { WebSocket, WebSocketServer } from 'ws'
import { ask, freshServer, patient, type Scope, type Target, temporaryDirectory } from './kit.ts'
import { noteNotRun, OWN_ADDRESS, testWith } from './programs.ts'

type Seen = {
  readonly url: string
  readonly headers: IncomingMessage['headers']
  readonly client: string | undefined
  readonly body: string
}

/** A kubelet: it says what it was asked, echoes what it is sent over upgraded connections, and has a certificate nobody knows. */
async function startKubelet(t: Scope, credentials: Target['credentials']) {
  const seen: Seen[] = []
  const channels = new WebSocketServer({ noServer: true })
  const note = (message: IncomingMessage, body = '') => {
    const { socket } = message as { socket: any }
    seen.push({ url: message.url ?? '', headers: message.headers, client: socket.getPeerCertificate?.().subject?.CN, body })
  }
  const server = createTlsServer(
    { key: credentials.key, cert: credentials.cert, requestCert: true, rejectUnauthorized: false },
    (message, response) => {
      let body = ''
      message.on('data', part => (body += part))
      message.on('end', () => {
        note(message, body)
        if (message.url?.includes('/broken/')) response.writeHead(400).end('container "main" in pod "broken" is waiting to start')
        else response.writeHead(200, { 'content-type': 'text/plain' }).end(`${message.method} ${message.url}`)
      })
    },
  )
  server.on('upgrade', (message: IncomingMessage, socket: Duplex, head: Buffer) => {
    note(message)
    if (message.headers.upgrade === 'websocket')
      return channels.handleUpgrade(message, socket, head, webSocket => webSocket.on('message', data => webSocket.send(data)))
    socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\nhello ')
    socket.pipe(socket)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.closeAllConnections())
  t.after(() => server.close())
  return { port: (server.address() as AddressInfo).port, seen }
}

const node = (port: number) => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name: 'real' },
  status: { addresses: [{ type: 'InternalIP', address: '127.0.0.1' }], daemonEndpoints: { kubeletEndpoint: { Port: port } } },
})
const pod = (name: string, more: object = {}) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name },
  spec: { nodeName: 'real', containers: [{ name: 'main', image: 'x' }], ...more },
})
const PODS = '/api/v1/namespaces/default/pods'

/** Kubelets of these tests are on this machine, which a server reaches only where its configuration says so. */
async function open(t: Scope, proxyAllowedNetworks = ['127.0.0.0/8']) {
  const server = await freshServer(t, { proxyAllowedNetworks })
  const kubelet = await startKubelet(t, server.credentials)
  const make = async (path: string, body: object) => assert.equal((await ask(server, path, { method: 'POST', body })).status, 201)
  await make('/api/v1/nodes', node(kubelet.port))
  for (const name of ['web', 'broken']) await make(PODS, pod(name))
  return { server, kubelet, make }
}

test('logs come from the kubelet, and its errors become a Status', patient, async t => {
  const { server, kubelet } = await open(t)
  const log = await ask(server, `${PODS}/web/log?tailLines=5&follow=true&timestamps=false`)
  assert.deepEqual([log.status, log.text], [200, 'GET /containerLogs/default/web/main?follow=true&tailLines=5'])
  const [{ headers, client }] = kubelet.seen as [Seen]
  assert.equal(headers.authorization, undefined)
  // At 6256f0f1 it was kubernetes-admin, of system:masters.
  assert.equal(client, 'kube-apiserver-kubelet-client')
  const refused = await ask(server, `${PODS}/broken/log`)
  assert.deepEqual(
    [refused.status, refused.json.reason, refused.json.message],
    [400, 'BadRequest', 'container "main" in pod "broken" is waiting to start'],
  )
  assert.equal((await ask(server, `${PODS}/web/log?container=none`)).json.message, 'container none is not valid for pod web')
})

test('exec over WebSocket reaches the kubelet with its protocol and without tokens', patient, async t => {
  const { server, kubelet } = await open(t)
  const path = `${PODS}/web/exec?command=ls&command=-l&stdout=true&stdin=1&tty=false`
  const { ca, cert, key } = server.credentials
  const webSocket = new WebSocket(server.url.replace('https', 'wss') + path, ['v5.channel.k8s.io'], { ca, cert, key })
  t.after(() => webSocket.terminate())
  const echoed = new Promise<string>((resolve, reject) => {
    webSocket.on('error', reject)
    webSocket.on('open', () => webSocket.send('\u0000input'))
    webSocket.on('message', data => resolve(String(data)))
  })
  assert.equal(await echoed, '\u0000input')
  assert.equal(webSocket.protocol, 'v5.channel.k8s.io')
  assert.equal(kubelet.seen[0]!.url, '/exec/default/web/main?input=1&output=1&command=ls&command=-l')
  webSocket.terminate()
})

/** Upgrades a connection by hand, and returns the response and the first bytes on it. */
const upgrade = (server: Target, path: string, headers: Record<string, string> = {}) =>
  new Promise<{ status: number; text: string; protocol: string | undefined }>((resolve, reject) => {
    const sent = request(new URL(server.url), {
      ...server.credentials,
      agent: false,
      path,
      method: 'POST',
      headers: { connection: 'Upgrade', upgrade: 'SPDY/3.1', ...headers },
    })
    sent.on('error', reject)
    sent.on('response', answer => {
      let text = ''
      answer.on('data', part => (text += part)).on('end', () => resolve({ status: answer.statusCode ?? 0, text, protocol: undefined }))
    })
    sent.on('upgrade', (answer, socket, head) => {
      let text = head.toString()
      socket.write('world')
      socket.on('data', part => {
        text += part
        if (!text.endsWith('world')) return
        socket.destroy()
        resolve({ status: answer.statusCode ?? 0, text, protocol: answer.headers.upgrade })
      })
    })
    sent.end()
  })

test('attach and port-forward over SPDY are passed through unchanged', patient, async t => {
  const { server, kubelet } = await open(t)
  assert.deepEqual(await upgrade(server, `${PODS}/web/attach?stdout=true`), { status: 101, text: 'hello world', protocol: 'SPDY/3.1' })
  assert.equal((await upgrade(server, `${PODS}/web/portforward?ports=80`)).text, 'hello world')
  assert.deepEqual(
    kubelet.seen.map(({ url }) => url),
    ['/attach/default/web/main?output=1', '/portForward/default/web?port=80'],
  )
  const plain = await ask(server, `${PODS}/web/exec?command=ls`, { method: 'POST' })
  assert.deepEqual([plain.status, plain.json.message], [400, 'Upgrade request required'])
})

test('requests that are forbidden or not found do not reach the kubelet', patient, async t => {
  const { server, kubelet } = await open(t)
  const as = { 'impersonate-user': 'somebody' }
  assert.equal((await upgrade(server, `${PODS}/web/exec?command=ls`, as)).status, 403)
  assert.equal((await ask(server, `${PODS}/web/log`, { headers: as })).status, 403)
  assert.equal((await upgrade(server, `${PODS}/none/exec?command=ls`)).status, 404)
  assert.equal(kubelet.seen.length, 0)
})

test('the proxy of a node is its kubelet; methods, bodies and queries go through', patient, async t => {
  const { server, kubelet } = await open(t)
  assert.equal((await ask(server, '/api/v1/nodes/real/proxy/pods?a=b%20c')).text, 'GET /pods?a=b%20c')
  const posted = await ask(server, `/api/v1/nodes/https:real:${kubelet.port}/proxy/run/x`, {
    method: 'POST',
    body: 'some text',
    headers: { 'content-type': 'text/plain' },
  })
  assert.equal(posted.text, 'POST /run/x')
  assert.equal(kubelet.seen.at(-1)!.body, 'some text')
})

test('a path or a name never leads a request to another host', patient, async t => {
  const { server, kubelet } = await open(t)
  const other = createServer((_, response) => response.end('another host'))
  await new Promise<void>(resolve => other.listen(0, '127.0.0.1', resolve))
  t.after(() => other.close())
  const { port } = other.address() as AddressInfo
  const doubled = await ask(server, `/api/v1/nodes/real/proxy//127.0.0.1:${port}/secret`)
  assert.equal(doubled.text, `GET /127.0.0.1:${port}/secret`)
  for (const path of [
    `/api/v1/nodes/real:${kubelet.port}@127.0.0.1:${port}/proxy/`,
    '/api/v1/nodes/ftp:real:21/proxy/',
    `/api/v1/nodes/real:1@127.0.0.1/proxy/`,
  ]) {
    const { status, text } = await ask(server, path)
    assert.equal(status, 400, `${path}: ${text}`)
  }
})

test('pods and services are reached at their own addresses, which are never those of this machine alone', patient, async t => {
  const { server, make } = await open(t, [])
  const upstream = createServer((message, response) =>
    message.url === '/moved' ? response.writeHead(302, { location: '/there' }).end() : response.end(`pod got ${message.url}`),
  )
  await new Promise<void>(resolve => upstream.listen(0, '0.0.0.0', resolve))
  t.after(() => upstream.close())
  const { port } = upstream.address() as AddressInfo
  const withAddress = async (ip: string) => {
    const body = { status: { podIP: ip, podIPs: [{ ip }] } }
    const headers = { 'content-type': 'application/merge-patch+json' }
    assert.equal((await ask(server, `${PODS}/web/status`, { method: 'PATCH', body, headers })).status, 200)
  }
  await withAddress('127.0.0.1')
  const refused = await ask(server, `${PODS}/web:${port}/proxy/secret`)
  assert.deepEqual([refused.status, refused.json.message], [400, 'address not allowed'])
  if (OWN_ADDRESS === undefined) return void noteNotRun('own address', t.name)
  await withAddress(OWN_ADDRESS)
  assert.equal((await ask(server, `${PODS}/web:${port}/proxy/a/b?c=d`)).text, 'pod got /a/b?c=d')
  const moved = await ask(server, `${PODS}/http:web:${port}/proxy/moved`)
  assert.equal(moved.headers['location'], `${PODS}/http:web:${port}/proxy/there`)
  await make('/api/v1/namespaces/default/services', {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'svc' },
    spec: { ports: [{ name: 'http', port: 80 }] },
  })
  assert.equal(
    (await ask(server, '/api/v1/namespaces/default/services/svc:http/proxy/')).json.message,
    'no endpoints available for service "svc:http"',
  )
  await make('/apis/discovery.k8s.io/v1/namespaces/default/endpointslices', {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name: 'svc-1', labels: { 'kubernetes.io/service-name': 'svc' } },
    addressType: 'IPv4',
    ports: [{ name: 'http', port }],
    endpoints: [{ addresses: [OWN_ADDRESS], targetRef: { kind: 'Pod', namespace: 'default', name: 'web' } }],
  })
  assert.equal((await ask(server, '/api/v1/namespaces/default/services/svc:80/proxy/x')).text, 'pod got /x')
})

testWith('kubectl', 'kubectl logs reads from the kubelet', patient, async (t, program) => {
  const { server } = await open(t)
  const file = join(temporaryDirectory(t), 'kubeconfig')
  writeFileSync(file, server.kubeconfig)
  const { stdout } = await promisify(execFile)(program, ['--kubeconfig', file, 'logs', 'web', '--tail=3'])
  assert.equal(stdout, 'GET /containerLogs/default/web/main?tailLines=3')
})
