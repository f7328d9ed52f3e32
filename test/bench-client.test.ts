// The client of the benchmarks: what it counts as answered, it was answered, over HTTP/1.1 and HTTP/2.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createSecureServer } from 'node:http2'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
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

test('a connection that the server closes is an error of the light client, rather than an answer that never comes', patient, async t => {
  const server = createTlsServer(tls, socket => socket.on('error', () => {}).once('data', () => socket.end()))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.after(() => server.close())
  const target = { host: '127.0.0.1', port: (server.address() as AddressInfo).port, ca: authority.cert }
  const request = HTTP1.request('GET', '/')
  await assert.rejects(Streams.open(target, { count: 20, request, marker: 'x' }), /the server closed a connection/)
  const flood = await Flood.open(target, 2)
  await assert.rejects(flood.send([{ bytes: request, count: 1 }]), /the server closed a connection/)
  flood.close()
})
