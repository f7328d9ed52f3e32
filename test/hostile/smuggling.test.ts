// Request smuggling: each text is read in one way, whichever of the two readers of HTTP/1.1 has the connection.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect as connectHttp2 } from 'node:http2'
import { test } from 'node:test'
import { connect, type TLSSocket } from 'node:tls'
import { listen } from '../../src/http/listener/listen.ts'
import { bytesResponse, type Request, type Response } from '../../src/http/message.ts'
import { createLog } from '../../src/http/observability/log.ts'
import { LIMITS } from '../../src/lib/limits.ts'
import { patient } from '../kit.ts'
import { authority, tls } from '../kits/http/test-server.ts'
import { TEXTS } from './smuggling.ts'

/** Responds with the request that it read. */
async function echo(request: Request): Promise<Response> {
  const body = await request.readBody(LIMITS.bodyBytes)
  return bytesResponse(200, 'text/plain', Buffer.from(`<${request.method} ${request.target} ${body?.byteLength}>`))
}

const serverFor = (serve: (request: Request) => Promise<Response>) =>
  listen({ host: '127.0.0.1', port: 0, tls, serve, log: createLog('silent') })

/** The bytes received on a connection. */
class Received {
  text = ''
  isClosed = false
  #wake = () => {}

  constructor(socket: TLSSocket) {
    const more = (chunk = '') => {
      this.text += chunk
      this.#wake()
    }
    socket.setEncoding('latin1').on('data', more)
    socket.on('error', () => {})
    socket.on('close', () => {
      this.isClosed = true
      more()
    })
  }

  /** The statuses of all answers so far. */
  get statuses(): number[] {
    return [...this.text.matchAll(/HTTP\/1\.1 (\d+) /g)].map(([, status]) => Number(status))
  }

  /** The requests that were answered so far. */
  get requests(): string[] {
    return [...this.text.matchAll(/<(.*?)>/g)].map(([, request]) => request!)
  }

  async until(isDone: () => boolean): Promise<void> {
    while (!isDone() && !this.isClosed) await new Promise<void>(resolve => (this.#wake = resolve))
  }
}

const PLAIN = 'GET /first HTTP/1.1\r\nHost: a\r\n\r\n'

type Delivery = {
  /** Requests that are answered before the text is sent: they decide which reader has the connection. */
  readonly first?: string
  /** A plain request that is still being answered when the text comes. */
  readonly during?: true
  /** The pieces in which the text is sent; one if there is no other way. */
  readonly pieces?: (text: string) => readonly string[]
}

const cutAt = (text: string, at: number) => (at > 0 && at < text.length ? [text.slice(0, at), text.slice(at)] : [text])

/** How a text reaches each of the two readers of HTTP/1.1. */
const DELIVERIES: Readonly<Record<string, Delivery>> = {
  'the direct one': { first: PLAIN },
  'the direct one, as the first text of a connection': {},
  'the direct one, while it answers an earlier request': { during: true },
  'the direct one, cut behind the head': { first: PLAIN, pieces: text => cutAt(text, text.indexOf('\r\n\r\n') + 4) },
  'the direct one, cut within the end of the head': { first: PLAIN, pieces: text => cutAt(text, text.indexOf('\r\n\r\n') + 2) },
  'node:http': { first: 'GET /first HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n' },
}

assert.ok(TEXTS.length >= 82)
for (const [reader, { first, during, pieces = (text: string) => [text] }] of Object.entries(DELIVERIES))
  test(`texts that are requests in more than one way, read by ${reader}`, patient, async t => {
    const begun: string[] = []
    let release = () => {}
    await using server = await serverFor(async request => {
      begun.push(`${request.method} ${request.target}`)
      if (request.target === '/held') await new Promise<void>(resolve => (release = resolve))
      return echo(request)
    })
    for (const { name, text, read, after } of TEXTS)
      await t.test(name, patient, async inner => {
        const socket = connect({ host: '127.0.0.1', port: server.address.port, ca: authority.cert, ALPNProtocols: ['http/1.1'] })
        inner.after(() => socket.destroy())
        const received = new Received(socket)
        const isBegun = async (request: string) => {
          while (!begun.includes(request)) await new Promise(setImmediate)
        }
        if (first !== undefined) {
          socket.write(first)
          await received.until(() => received.requests.length === 1)
          received.text = ''
        }
        begun.length = 0
        if (during) {
          socket.write('GET /held HTTP/1.1\r\nHost: a\r\n\r\n')
          await isBegun('GET /held')
        }
        for (const piece of pieces(text)) {
          await new Promise(written => socket.write(piece, 'latin1', written))
          await new Promise(setImmediate)
        }
        if (during) {
          release()
          await received.until(() => received.requests.length > 0)
          received.text = received.text.slice(received.text.indexOf('<GET /held 0>') + '<GET /held 0>'.length)
        }
        await received.until(
          () => received.statuses.length === Math.max(read.length, 1) && (after !== 'kept' || received.requests.length === read.length),
        )
        // On a connection that should be closed, this would show that it is not.
        socket.write('GET /after HTTP/1.1\r\nHost: a\r\n\r\n')
        await received.until(() => received.requests.includes('GET /after 0'))
        const expected = [...read, ...(after === 'kept' ? ['GET /after 0'] : [])]
        assert.deepEqual(received.requests, expected, received.text.slice(0, 1000))
        const refusals = received.statuses.slice(expected.length)
        // Once the earlier request has been answered, there is room for a refusal of the next one.
        if (after === 'closed' && pieces(text).length > 1) assert.ok(refusals.length <= 1 && refusals.every(status => status === 400))
        else assert.deepEqual(refusals, typeof after === 'number' ? [after] : [])
        assert.deepEqual(
          received.statuses.slice(0, expected.length),
          expected.map(() => 200),
        )
        assert.equal(received.isClosed, after !== 'kept')
        assert.ok(!begun.includes('GET /hidden') || read.includes('GET /hidden 0'), 'nothing is begun that is not answered')
      })
  })

test('a request of HTTP/2 that names two hosts is refused', patient, async t => {
  await using server = await serverFor(echo)
  const session = connectHttp2(`https://127.0.0.1:${server.address.port}`, { ca: authority.cert })
  t.after(() => session.destroy())
  const statusOf = async (headers: Readonly<Record<string, string>>) => {
    const stream = session.request({ ':path': '/a', ...headers })
    const [{ ':status': status }] = await once(stream.resume(), 'response')
    return status
  }
  // At 6256f0f1 it was accepted.
  assert.equal(await statusOf({ ':authority': 'a', host: 'b' }), 400)
  assert.equal(await statusOf({ ':authority': 'a', host: 'A' }), 200)
  assert.equal(await statusOf({ ':authority': 'any_name.example.com:99999' }), 200)
})
