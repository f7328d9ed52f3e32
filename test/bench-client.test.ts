// The client of the benchmarks: what it counts as answered, it was answered, over HTTP/1.1 and HTTP/2.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { createSecureServer } from 'node:http2'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { createServer as createTlsServer } from 'node:tls'
import { Flood, Streams } from '../bench/light-client.ts'
import { HTTP1, run } from '../bench/raw-client.ts'
import { HTTP2 } from '../bench/raw-http2.ts'
import { patient } from './kit.ts'
import { authority, tls } from './kits/http/test-server.ts'

const LARGE = Buffer.alloc(200_000, 'x')
const STATUSES = [200, 201, 201, 404, 200, 409, 422, 201, 503]

/** Answers `/STATUS` with that status: with a length where the body is small, in chunks where it is large. */
const servers = {
  'HTTP/1.1': createServer(tls, (request, response) => {
    request.resume().on('end', () => {
      response.writeHead(Number(request.url!.slice(1)), { date: String(Math.random()) })
      if (request.method === 'POST') response.end('{}')
      else {
        response.write(LARGE)
        response.end(LARGE)
      }
    })
  }),
  'HTTP/2': createSecureServer(tls).on('stream', (stream, { ':path': path, ':method': method }) => {
    stream.resume().on('end', () => {
      stream.respond({ ':status': Number(path!.slice(1)), date: String(Math.random()) })
      stream.end(method === 'POST' ? '{}' : LARGE)
    })
  }),
}

for (const protocol of [HTTP1, HTTP2])
  test(`statuses and ends of answers are found over ${protocol.name}`, patient, async t => {
    const server = servers[protocol.name]
    await once(server.listen(0, '127.0.0.1'), 'listening')
    t.after(() => server.close())
    const target = { host: '127.0.0.1', port: (server.address() as AddressInfo).port, ca: authority.cert }
    const lanes = await protocol.lanes(target, 4)
    const request = (status: number, i: number) =>
      i % 2 === 0 ? protocol.request('GET', `/${status}`) : protocol.request('POST', `/${status}`, 'x'.repeat(10_000))
    // More bodies than fit into the window of a connection, and more heads than a table of HPACK has room for.
    for (let turn = 0; turn < 10; turn++) {
      const answered = lanes.map(async lane => {
        const found: number[] = []
        for (const [i, status] of STATUSES.entries()) found.push(await lane.send(request(status, i)))
        return found
      })
      for (const found of await Promise.all(answered)) assert.deepEqual(found, STATUSES)
    }
    for (const lane of lanes) lane.close()
    const { requests, failures } = await run(target, {
      protocol,
      request: i => request(i % 4 === 0 ? 404 : 200, i),
      connections: 2,
      seconds: 60,
      requests: 40,
    })
    assert.deepEqual({ requests, failures }, { requests: 40, failures: 10 })
  })

/** Answers `/a` and `/b`, each with content of one length. */
const CONTENTS: Readonly<Record<string, Buffer>> = { '/a': Buffer.alloc(100, 'a'), '/b': Buffer.alloc(100_000, 'b') }

async function countingServer(t: TestContext, contentOf: (url: string, request: number) => Buffer) {
  let requests = 0
  const server = createServer(tls, (request, response) => {
    const content = contentOf(request.url!, ++requests)
    request.resume().on('end', () => response.writeHead(200, { 'content-length': content.length }).end(content))
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.after(() => server.close())
  const target = { host: '127.0.0.1', port: (server.address() as AddressInfo).port, ca: authority.cert }
  return { target, count: () => requests }
}

for (const path of Object.keys(CONTENTS))
  for (const depth of [1, 4])
    test(`the light client counts ${depth} answers at a time of ${CONTENTS[path]!.length} bytes without reading them`, patient, async t => {
      const { target, count } = await countingServer(t, url => CONTENTS[url]!)
      const flood = await Flood.open(target, { connections: 3, request: () => HTTP1.request('GET', path), depth, sleepMs: 1 })
      t.after(() => flood.close())
      let sent = 3 * depth
      for (const size of [1, 50, 20]) {
        await flood.prepare(size)
        const made = await flood.send(size)
        assert.ok(made >= size && made < size + depth, `${made} of ${size}`)
        sent += made
        assert.equal(count(), sent)
      }
    })

test('an answer of another length is an error of the light client', patient, async t => {
  for (const [length, message] of [
    [101, /answers of \d+ bytes where \d+ were expected/],
    [99, /nothing has arrived for \d+ ms/],
  ] as const) {
    const { target } = await countingServer(t, (_, request) => Buffer.alloc(request === 10 ? length : 100))
    const flood = await Flood.open(target, { connections: 2, request: () => HTTP1.request('GET', '/'), stalledMs: 200 })
    t.after(() => flood.close())
    await flood.prepare(20)
    await assert.rejects(flood.send(20), message)
  }
})

test('a connection that the server closes while the light client waits for an answer is an error', patient, async t => {
  const server = createServer(tls, (request, response) => {
    if (request.url === '/end') request.socket.destroy()
    else response.writeHead(200, { 'content-length': 0 }).end()
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.after(() => server.close())
  const target = { host: '127.0.0.1', port: (server.address() as AddressInfo).port, ca: authority.cert }
  let path = '/'
  const flood = await Flood.open(target, { connections: 2, request: () => HTTP1.request('GET', path) })
  t.after(() => flood.close())
  path = '/end'
  await flood.prepare(2)
  await assert.rejects(flood.send(2), /the server closed a connection/)
})

test('a first answer that is no success is an error of the light client', patient, async t => {
  const server = createServer(tls, (_, response) => response.writeHead(404, { 'content-length': 0 }).end())
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.after(() => server.close())
  const target = { host: '127.0.0.1', port: (server.address() as AddressInfo).port, ca: authority.cert }
  const request = HTTP1.request('GET', '/')
  await assert.rejects(Flood.open(target, { connections: 1, request: () => request }), /HTTP\/1\.1 404/)
  await assert.rejects(Streams.open(target, { count: 1, request, ...EVENTS }), /HTTP\/1\.1 404/)
})

const EVENTS = { length: 100, slack: 8, sleepMs: 1 }

test('the light client counts events on streams, whether they come in one write or in several', patient, async t => {
  const streams: ServerResponse[] = []
  const server = createServer(tls, (_, response) => {
    streams.push(response)
    response.write('')
    response.flushHeaders()
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.after(() => server.close())
  const target = { host: '127.0.0.1', port: (server.address() as AddressInfo).port, ca: authority.cert }
  const open = await Streams.open(target, { count: 3, request: HTTP1.request('GET', '/'), ...EVENTS })
  t.after(() => open.close())
  for (const together of [1, 2, 5]) {
    let isThere = false
    const arrived = open.arrived(10).then(() => (isThere = true))
    const send = (stream: ServerResponse) => stream.write(Buffer.alloc(together * 100, 'e'))
    for (const stream of streams) for (let sent = together; sent < 10; sent += together) send(stream)
    await setTimeout(20)
    assert.equal(isThere, false)
    for (const stream of streams) send(stream)
    await arrived
  }
  await assert.rejects(open.arrived(13), RangeError)
})

test('a connection that the server closes is an error of the light client, rather than an answer that never comes', patient, async t => {
  const server = createTlsServer(tls, socket => socket.on('error', () => {}).once('data', () => socket.end()))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.after(() => server.close())
  const target = { host: '127.0.0.1', port: (server.address() as AddressInfo).port, ca: authority.cert }
  const request = HTTP1.request('GET', '/')
  await assert.rejects(Streams.open(target, { count: 20, request, ...EVENTS }), /the server closed a connection/)
  await assert.rejects(Flood.open(target, { connections: 2, request: () => request }), /the server closed a connection/)
})
