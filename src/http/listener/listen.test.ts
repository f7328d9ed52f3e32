import assert from 'node:assert/strict'
import { createHash, X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { Agent } from 'node:https'
import { connect as connectTcp } from 'node:net'
import { test } from 'node:test'
import { connect } from 'node:tls'
import { gunzipSync } from 'node:zlib'
import {
  ask,
  askHttp2,
  authority,
  clientPair,
  find,
  type Handle,
  openHttp2,
  secretJson,
  testCatalog,
  testServer,
  tls,
} from '../../../test/kits/http/test-server.ts'
import { WatchEvent, type WatchStream } from '../../cache/watch-stream.ts'
import { LIMITS } from '../../lib/limits.ts'
import { issueAuthority, issueClient, issueServer } from '../../lib/x509/issue.ts'
import type { Result } from '../../registry/api.ts'
import type { Fields, Log } from '../observability/log.ts'

const SECRET = '/api/v1/namespaces/default/secrets/a'
const secrets = find(testCatalog(), 'secrets')
const objectOf = (json: Uint8Array, warnings: string[] = []): Result => ({ type: 'object', code: 200, resource: secrets, json, warnings })
const whoami: Handle = (_, ctx) => objectOf(Buffer.from(JSON.stringify(ctx.user)))
const userOf = (body: Buffer) => JSON.parse(body.toString())
const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')
const ADMIN = {
  name: 'admin',
  groups: ['system:masters', 'system:authenticated'],
  extra: { 'authentication.kubernetes.io/credential-id': [`X509SHA256=${sha256(new X509Certificate(clientPair.cert).raw)}`] },
}
const later = () => ({ notBefore: new Date(Date.now() - 60_000), notAfter: new Date(Date.now() + 3_600_000) })

/** Bytes on a bare TLS connection, answered by everything that comes back until it closes. */
async function raw(port: number, text: string): Promise<string> {
  const socket = connect({ host: '127.0.0.1', port, ca: authority.cert, ALPNProtocols: ['http/1.1'] })
  socket.on('error', () => {})
  socket.write(text)
  let received = ''
  socket.setEncoding('latin1').on('data', chunk => {
    received += chunk
  })
  await once(socket, 'close')
  return received
}

test('HTTP/1.1 and HTTP/2 share the port and answer alike', async () => {
  await using server = await testServer({ handle: () => objectOf(secretJson('a'), ['é']) })
  const first = await ask(server.port, SECRET)
  const session = openHttp2(server.port)
  const second = await askHttp2(session, { ':path': SECRET })
  session.close()
  for (const { status, headers, body } of [first, second]) {
    assert.equal(status, 200)
    assert.deepEqual(body, secretJson('a'))
    assert.equal(headers['content-length'], String(secretJson('a').length))
    assert.equal(Buffer.from(String(headers['warning']), 'latin1').toString(), '299 - "é"')
  }
})

test('a stream that is reset without an error while more waits to be sent is let go of', async () => {
  let letGo: () => void = () => {}
  const gone = new Promise<void>(resolve => (letGo = resolve))
  const event = new WatchEvent('ADDED', secrets, secretJson('a'.repeat(100_000)))
  const stream: WatchStream = { open: sink => Array.from({ length: 20 }, () => sink.event(event)), close: () => letGo() }
  await using server = await testServer({ handle: () => ({ type: 'watch', resource: secrets, stream }) })
  const session = openHttp2(server.port, clientPair)
  const watching = session.request({ ':path': '/api/v1/namespaces/default/secrets?watch=true' })
  await once(watching, 'data')
  watching.close()
  await gone
  session.close()
})

test('a client certificate names its user, on both protocols', async () => {
  await using server = await testServer({ handle: whoami })
  assert.deepEqual(userOf((await ask(server.port, SECRET, { token: null, ...clientPair })).body), ADMIN)
  const session = openHttp2(server.port, clientPair)
  assert.deepEqual(userOf((await askHttp2(session, { ':path': SECRET, authorization: '' })).body), ADMIN)
  session.close()
})

test('a certificate of another authority, or for servers, proves nothing', async () => {
  await using server = await testServer({ handle: whoami })
  const stranger = issueClient(issueAuthority('test', later()), { commonName: 'admin', organizations: ['system:masters'] }, later())
  const misused = issueServer(authority, 'admin', { names: ['admin'], ...later() })
  for (const pair of [stranger, misused]) {
    assert.equal((await ask(server.port, SECRET, { token: null, ...pair })).status, 401)
    assert.equal((await ask(server.port, '/healthz', { token: null, ...pair })).status, 401)
    assert.deepEqual(userOf((await ask(server.port, SECRET, pair)).body).name, 'jane', 'a good token still counts')
  }
})

test('a resumed TLS session is not trusted as another client', async () => {
  await using server = await testServer({ handle: whoami })
  const agent = new Agent({ ca: authority.cert, maxCachedSessions: 10, keepAlive: false })
  for (let i = 0; i < 3; i++) assert.equal((await ask(server.port, SECRET, { token: null, agent })).status, 403)
})

test('large answers are compressed on the wire', async () => {
  const big = secretJson('a', { k: 'x'.repeat(300_000) })
  await using server = await testServer({ handle: () => objectOf(big) })
  const { headers, body } = await ask(server.port, SECRET, { headers: { 'accept-encoding': 'gzip' } })
  assert.equal(headers['content-encoding'], 'gzip')
  assert.equal(headers['vary'], 'Accept-Encoding')
  assert.deepEqual(gunzipSync(body), big)
})

test('bodies are read whole, and refused past the limit', async () => {
  await using server = await testServer({ handle: (_, __, body) => objectOf(Buffer.from(`{"size":${body?.bytes.length}}`)) })
  const session = openHttp2(server.port)
  const fits = Buffer.alloc(LIMITS.bodyBytes, 0x20)
  const put = { method: 'PUT', headers: { 'content-type': 'application/json' } }
  assert.equal((await ask(server.port, SECRET, { ...put, body: fits })).body.toString(), `{"size":${fits.length}}`)
  assert.equal((await askHttp2(session, { ':path': SECRET, ':method': 'PUT' }, fits)).body.toString(), `{"size":${fits.length}}`)
  const tooMuch = Buffer.alloc(LIMITS.bodyBytes * 4, 0x20)
  assert.equal((await ask(server.port, SECRET, { ...put, body: tooMuch })).status, 413)
  assert.equal((await ask(server.port, SECRET, { ...put, headers: { 'transfer-encoding': 'chunked' }, body: tooMuch })).status, 413)
  assert.equal((await askHttp2(session, { ':path': SECRET, ':method': 'PUT' }, tooMuch)).status, 413)
  session.close()
})

test('a body that stops in the middle does not keep the handler waiting', async () => {
  let called = false
  const ended = withResolvers()
  let noted: Fields = {}
  const nothing = () => {}
  const debug = (fields: Fields) => {
    noted = fields
    ended.resolve()
  }
  const log: Log = { enabled: () => true, debug, info: nothing, warn: nothing, error: nothing }
  await using server = await testServer({
    log,
    handle: () => {
      called = true
      return objectOf(secretJson('a'))
    },
  })
  const socket = connect({ host: '127.0.0.1', port: server.port, ca: authority.cert })
  socket.on('error', () => {})
  await once(socket, 'secureConnect')
  const headers = 'host: x\r\nauthorization: Bearer secret-token\r\ncontent-length: 100\r\nexpect: 100-continue'
  socket.write(`PUT ${SECRET} HTTP/1.1\r\n${headers}\r\n\r\n`)
  await once(socket, 'data')
  socket.write('{"half', () => socket.destroy())
  await ended.promise
  assert.equal(noted['path'], SECRET)
  assert.equal((await ask(server.port, '/healthz')).status, 200)
  assert.equal(called, false)
})

test('the registry is notified when a client disconnects', async () => {
  const started = withResolvers()
  const aborted = withResolvers()
  await using server = await testServer({
    handle: (_, ctx) => {
      started.resolve()
      return new Promise((_, reject) => {
        ctx.signal.addEventListener('abort', () => {
          aborted.resolve()
          reject(ctx.signal.reason)
        })
      })
    },
  })
  const socket = connect({ host: '127.0.0.1', port: server.port, ca: authority.cert })
  socket.on('error', () => {})
  socket.write(`GET ${SECRET} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer secret-token\r\n\r\n`)
  await started.promise
  socket.destroy()
  await aborted.promise
})

test('headers past the limit are refused', async () => {
  await using server = await testServer({ handle: whoami })
  const long = 'x'.repeat(LIMITS.headerBytes + 1)
  // The refusal itself may be lost: the connection closes on a client that is still sending.
  assert.doesNotMatch(await raw(server.port, `GET /healthz HTTP/1.1\r\nhost: x\r\nx-long: ${long}\r\n\r\n`), / 200 /)
  const { status } = await ask(server.port, `/healthz?x=${'y'.repeat(20_000)}`)
  assert.equal(status, 200, 'long queries are fine')
})

test('a request with too many headers is refused whole, none of them is left out', async () => {
  await using server = await testServer({ handle: whoami })
  const send = (count: number, more = '') => {
    const lines = Array.from({ length: count }, (_, i) => `x-${i}: y`).join('\r\n')
    return raw(server.port, `GET /healthz HTTP/1.1\r\nhost: x\r\n${more}${lines}\r\nconnection: ${more ? 'upgrade' : 'close'}\r\n\r\n`)
  }
  assert.match(await send(LIMITS.headerPairs - 2), /^HTTP\/1\.1 200 /)
  assert.match(await send(LIMITS.headerPairs - 1), /^HTTP\/1\.1 431 /)
  assert.match(await send(5 * LIMITS.headerPairs), /^HTTP\/1\.1 431 /)
  assert.match(await send(LIMITS.headerPairs, 'upgrade: websocket\r\n'), /^HTTP\/1\.1 431 /)
})

test('what is not HTTP is answered 400 and cut off', async () => {
  await using server = await testServer({ handle: whoami })
  assert.match(await raw(server.port, 'nonsense\r\n\r\n'), /^HTTP\/1\.1 400 /)
})

test('TLS older than 1.2 is refused', async () => {
  await using server = await testServer()
  const socket = connect({ host: '127.0.0.1', port: server.port, ca: authority.cert, maxVersion: 'TLSv1.1', minVersion: 'TLSv1' })
  await assert.rejects(once(socket, 'secureConnect'))
})

test('new certificates are shown to new connections', async () => {
  await using server = await testServer({ handle: whoami })
  const next = issueAuthority('next', later())
  const pair = issueServer(next, 'server', { names: ['127.0.0.1'], ...later() })
  assert.equal((await ask(server.port, SECRET)).status, 200)
  server.listener.reload({ ...pair, clientCa: authority.cert })
  await assert.rejects(ask(server.port, SECRET))
  assert.equal((await ask(server.port, SECRET, { ca: next.cert })).status, 200)
  server.listener.reload(tls)
  assert.equal((await ask(server.port, SECRET)).status, 200)
})

test('a client that reads slowly gets all of a large list in the end', async () => {
  const items = Array.from({ length: 2000 }, (_, i) => secretJson(`s${i}`, { k: 'x'.repeat(5000) }))
  await using server = await testServer({ handle: () => ({ type: 'list', resource: secrets, items, meta: { resourceVersion: '1' } }) })
  const session = openHttp2(server.port)
  const stream = session.request({ ':path': '/api/v1/secrets', authorization: 'Bearer secret-token' })
  let size = 0
  for await (const chunk of stream) {
    size += chunk.length
    await new Promise(resolve => setImmediate(resolve))
  }
  session.close()
  assert.ok(size > 10_000_000)
  assert.equal(JSON.parse((await ask(server.port, '/api/v1/secrets')).body.toString()).items.length, 2000)
})

test('clients that are sent away are answered, and told to come no more on their connection', async () => {
  await using server = await testServer({ handle: async () => objectOf(secretJson('a')) })
  const agent = new Agent({ ca: authority.cert, keepAlive: true })
  const session = openHttp2(server.port)
  assert.equal((await ask(server.port, SECRET, { agent })).headers.connection, 'keep-alive')
  assert.equal((await askHttp2(session, { ':path': SECRET })).status, 200)
  const goaway = once(session, 'goaway')
  server.listener.sendAway()
  await goaway
  for (let i = 0; i < 3; i++) {
    const { status, headers } = await ask(server.port, SECRET, { agent })
    assert.deepEqual([status, headers.connection], [200, 'close'])
  }
  agent.destroy()
})

test('draining lets requests in flight finish and closes the rest', async () => {
  const release = withResolvers()
  const started = withResolvers()
  let inFlight = 0
  await using server = await testServer({
    handle: async () => {
      if (++inFlight === 2) started.resolve()
      await release.promise
      return objectOf(secretJson('a'))
    },
  })
  const idle = connect({ host: '127.0.0.1', port: server.port, ca: authority.cert })
  await once(idle, 'secureConnect')
  const agent = new Agent({ ca: authority.cert, keepAlive: true })
  const first = ask(server.port, SECRET, { agent })
  const session = openHttp2(server.port)
  const second = askHttp2(session, { ':path': SECRET })
  await started.promise
  const drained = server.listener.drain(60_000)
  const goaway = once(session, 'goaway')
  await once(idle.resume(), 'close')
  await assert.rejects(ask(server.port, '/healthz'), 'no new connections')
  release.resolve()
  assert.deepEqual([(await first).status, (await second).status], [200, 200])
  assert.equal((await first).headers.connection, 'close')
  await goaway
  await drained
  agent.destroy()
})

test('draining waits for no client without a request, whether it closes its end or not', async t => {
  await using server = await testServer({ handle: async () => objectOf(secretJson('a')) })
  const { port } = server
  // Clients that keep their end open, as an unused connection pool does.
  const plain = async (bytes = '') => {
    const socket = connectTcp({ host: '127.0.0.1', port, allowHalfOpen: true }).on('error', () => {})
    t.after(() => socket.destroy())
    await once(socket, 'connect')
    socket.write(bytes)
    return socket
  }
  const secured = async (protocol: string, requests: readonly string[]) => {
    const socket = connect({ socket: await plain(), ca: authority.cert, servername: 'localhost', ALPNProtocols: [protocol] })
    socket.on('error', () => {})
    await once(socket, 'secureConnect')
    for (const request of requests) {
      socket.write(request, 'latin1')
      await once(socket, 'readable')
      socket.read()
    }
    return socket
  }
  const get = `GET ${SECRET} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer secret-token\r\n`
  await plain()
  await plain('\u0016\u0003\u0001')
  await secured('http/1.1', [])
  await secured('http/1.1', [`${get}\r\n`])
  await secured('http/1.1', [`${get}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n`])
  await secured('h2', ['PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\u0000\u0000\u0000\u0004\u0000\u0000\u0000\u0000\u0000'])
  const session = openHttp2(port)
  assert.equal((await askHttp2(session, { ':path': SECRET })).status, 200)
  t.after(() => session.destroy())
  // At 6256f0f1 this ended when the grace did, or, with this one, not at all.
  await server.listener.drain(2 ** 31 - 1)
})

function withResolvers() {
  let resolve!: () => void
  const promise = new Promise<void>(r => {
    resolve = r
  })
  return { promise, resolve }
}
