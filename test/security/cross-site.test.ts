// Pages of other sites, whose visitor's browser has a client certificate and reaches the server.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { connect as connectHttp2 } from 'node:http2'
import { join } from 'node:path'
import { test } from 'node:test'
import { connect } from 'node:tls'
import { anonymous, ask, CONFIG_MAPS, configMap, freshServer, patient, startInProcess, type Target, temporaryDirectory } from '../kit.ts'

type Headers = Readonly<Record<string, string>>

const BROWSER: Headers = {
  'user-agent': 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0 Safari/537.36',
}
const FETCHED: Headers = { ...BROWSER, 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'empty' }

/** The headers of a browser for requests of foreign pages that need no preflight. */
const FOREIGN: readonly (readonly [page: string, headers: Headers])[] = [
  ['another site', { ...FETCHED, origin: 'https://elsewhere.example', 'sec-fetch-site': 'cross-site' }],
  ['another port of this machine', { ...FETCHED, origin: 'http://localhost:3000', 'sec-fetch-site': 'cross-site' }],
  ['another port, over HTTPS', { ...FETCHED, origin: 'https://localhost:3000', 'sec-fetch-site': 'same-site' }],
  ['a sandbox', { ...FETCHED, origin: 'null', 'sec-fetch-site': 'cross-site' }],
  ['an old browser that knows no Sec-Fetch-Site', { ...BROWSER, origin: 'https://elsewhere.example' }],
  ['an old browser, of this machine', { ...BROWSER, origin: 'http://localhost:3000' }],
]

/** The status of a POST that creates a config map of this name, by protocol. */
const WRITERS: Readonly<Record<string, (server: Target, name: string, headers: Headers) => Promise<number>>> = {
  // Without a Content-Type, as a page sends it that avoids a preflight; kube-apiserver takes that for JSON.
  async 'HTTP/1.1'(server, name, headers) {
    const { status } = await ask(server, CONFIG_MAPS, {
      method: 'POST',
      body: configMap(name),
      headers: { ...headers, 'content-type': '' },
    })
    return status
  },
  async 'HTTP/1.1 in chunks'(server, name, headers) {
    const text = JSON.stringify(configMap(name))
    const lines = Object.entries(headers).map(([field, value]) => `${field}: ${value}\r\n`)
    const chunks = `${text.length.toString(16)}\r\n${text}\r\n0\r\n\r\n`
    const head = await headOf(
      server,
      `POST ${CONFIG_MAPS} HTTP/1.1\r\nhost: localhost:${server.port}\r\ntransfer-encoding: chunked\r\n${lines.join('')}\r\n${chunks}`,
    )
    return Number(head.slice(9, 12))
  },
  async 'HTTP/2'(server, name, headers) {
    const session = connectHttp2(server.url, server.credentials)
    const stream = session.request({ ':method': 'POST', ':path': CONFIG_MAPS, ...headers })
    stream.resume().end(JSON.stringify(configMap(name)))
    const [{ ':status': status }] = await once(stream, 'response')
    session.close()
    return status
  },
}

/** The head of the response to a text on a connection of its own, as the administrator. */
async function headOf({ port, credentials }: Target, text: string): Promise<string> {
  const socket = connect({ host: '127.0.0.1', port, ...credentials, servername: 'localhost', ALPNProtocols: ['http/1.1'] })
  socket.write(text)
  let received = ''
  for await (const chunk of socket.setEncoding('latin1')) {
    received += chunk
    if (received.includes('\r\n\r\n')) break
  }
  socket.destroy()
  return received
}

for (const [protocol, write] of Object.entries(WRITERS))
  test(`a page of another site does not write with its visitor's certificate: ${protocol}`, patient, async t => {
    const server = await freshServer(t)
    // At 6256f0f1 each of these stored an object.
    for (const [i, [page, headers]] of FOREIGN.entries()) assert.equal(await write(server, `foreign-${i}`, headers), 403, page)
    assert.deepEqual((await ask(server, CONFIG_MAPS)).json.items, [])
    const own = server.url.replace('127.0.0.1', 'localhost')
    const host: Headers = protocol === 'HTTP/2' ? { ':authority': new URL(own).host } : {}
    const pages: Readonly<Record<string, Headers>> = {
      program: {},
      'same-origin': { ...FETCHED, origin: own, 'sec-fetch-site': 'same-origin' },
      typed: { ...FETCHED, 'sec-fetch-site': 'none' },
      'behind-a-proxy': { ...FETCHED, origin: 'https://dashboard.example', 'sec-fetch-site': 'same-origin' },
    }
    for (const [name, headers] of Object.entries(pages)) assert.equal(await write(server, name, headers), 201, name)
    assert.equal(await write(server, 'old', { ...BROWSER, ...host, origin: protocol === 'HTTP/1.1' ? server.url : own }), 201)
  })

test('a page of another site is answered for its token, and told so without one', patient, async t => {
  const tokens = join(temporaryDirectory(t), 'tokens.csv')
  writeFileSync(tokens, 'secret-token,jane,u1\n')
  const server = await startInProcess(t, { tokenAuthFile: tokens })
  const [, headers] = FOREIGN[0]!
  const refused = await ask(server, '/api/v1/secrets', { headers })
  assert.equal(refused.status, 403)
  assert.match(refused.json.message, /page of another site/)
  // A page on the server's own machine needs no certificate to reach a server that lets anybody in.
  assert.equal((await ask(server, '/api', { ...anonymous, method: 'POST', headers })).status, 403)
  const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' }
  const path = '/apis/authentication.k8s.io/v1/selfsubjectreviews'
  const known = await ask(server, path, { method: 'POST', body: review, headers: { ...headers, authorization: 'Bearer secret-token' } })
  assert.equal(known.json.status.userInfo.username, 'jane')
  const madeUp = await ask(server, path, { method: 'POST', body: review, headers: { ...headers, authorization: 'Bearer made-up' } })
  assert.equal(madeUp.status, 401)
})

test('a link to the server may be followed, and its answer is not framed', patient, async t => {
  const server = await freshServer(t)
  const followed = { ...BROWSER, 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' }
  assert.equal((await ask(server, CONFIG_MAPS, { headers: followed })).status, 200)
  assert.equal((await ask(server, CONFIG_MAPS, { headers: { ...followed, 'sec-fetch-dest': 'iframe' } })).status, 403)
  // A form that is sent is a navigation, too.
  const form = { ...followed, origin: 'https://elsewhere.example', 'content-type': 'text/plain' }
  assert.equal((await ask(server, CONFIG_MAPS, { method: 'POST', body: configMap('form'), headers: form })).status, 403)
})

test('a page of another site opens no WebSocket with its visitor’s certificate', patient, async t => {
  const server = await freshServer(t)
  const opened = async (headers: Headers, host = `localhost:${server.port}`) => {
    const handshake = {
      ...{ host, connection: 'Upgrade', upgrade: 'websocket' },
      ...{ 'sec-websocket-version': '13', 'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==' },
    }
    const lines = Object.entries({ ...handshake, ...headers }).map(([field, value]) => `${field}: ${value}\r\n`)
    const head = await headOf(server, `GET ${CONFIG_MAPS}?watch=true HTTP/1.1\r\n${lines.join('')}\r\n`)
    return Number(head.slice(9, 12))
  }
  // At 6256f0f1 pages of the visitor's own machine could.
  for (const origin of ['http://localhost:3000', 'http://127.0.0.1:3000', 'http://[::1]:8080', 'http://localhost', 'https://localhost'])
    assert.equal(await opened({ ...BROWSER, origin }), 403, origin)
  for (const [page, headers] of FOREIGN) assert.equal(await opened(headers), 403, page)
  // Links lead to documents only.
  const navigated = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' }
  assert.equal(await opened({ ...BROWSER, ...navigated }), 403)
  assert.equal(await opened({ ...BROWSER, origin: `https://localhost:${server.port}` }), 101)
  assert.equal(await opened({ ...BROWSER, origin: 'https://localhost' }, 'localhost'), 101)
  assert.equal(await opened({ ...BROWSER, origin: 'http://localhost' }, 'localhost'), 403)
  assert.equal(await opened({}), 101)
  // Go's clients have to name an origin: this is the one of Kubernetes' conformance tests.
  assert.equal(await opened({ origin: 'http://localhost', 'user-agent': 'e2e.test/v1.37.0 (linux/amd64)' }), 101)
  assert.equal(await opened({ origin: 'https://elsewhere.example' }), 403)
})
