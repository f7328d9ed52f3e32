import assert from 'node:assert/strict'
import { once } from 'node:events'
import { constants, createServer, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2'
import { type AddressInfo, connect, createServer as createTcpServer, type Server, type Socket } from 'node:net'
import { Duplex } from 'node:stream'
import test, { type TestContext } from 'node:test'
import fc from 'fast-check'
import { encodeHeaders } from './hpack.ts'
import { Http2Session, type Http2Stream, openSession, type StreamEnd } from './http2-session.ts'

const OPTIONS = { tls: {}, connectMs: 10_000, streamWindow: 128 << 10, sessionWindow: 256 << 10 }
const NOTHING = Buffer.alloc(0)

/** The handler of Node's own server for a path. */
type Serve = (stream: ServerHttp2Stream, path: string) => void

async function serve(t: TestContext, handle: Serve, settings = {}): Promise<{ port: number; sessions: ServerHttp2Session[] }> {
  const sessions: ServerHttp2Session[] = []
  const server = createServer({ settings })
  server.on('session', session => sessions.push(session))
  server.on('stream', (stream, headers) => {
    stream.on('error', () => {})
    handle(stream, String(headers[':path']))
  })
  return { port: await listen(t, server as unknown as Server), sessions }
}

async function listen(t: TestContext, server: Server): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  return (server.address() as AddressInfo).port
}

async function open(t: TestContext, port: number): Promise<Http2Session> {
  const session = await openSession(new URL(`http://127.0.0.1:${port}`), OPTIONS)
  t.after(() => session.destroy())
  return session
}

type Answer = { readonly headers: Map<string, string>; readonly body: Buffer; readonly end: StreamEnd }

/** Sends a request and collects the answer. */
function ask(
  session: Http2Session,
  path: string,
  body: Buffer = NOTHING,
): { readonly answer: Promise<Answer>; readonly stream: Http2Stream } {
  const headers = new Map<string, string>()
  const chunks: Buffer[] = []
  let stream: Http2Stream | undefined
  const answer = new Promise<Answer>(resolve => {
    stream = session.request(requestTo(path), {
      headers: more => {
        for (const [name, value] of more) headers.set(name, value)
      },
      data: chunk => {
        chunks.push(Buffer.from(chunk))
      },
      closed: end => resolve({ headers, body: Buffer.concat(chunks), end }),
    })
  })
  stream!.send(body, true)
  return { answer, stream: stream! }
}

const requestTo = (path: string) =>
  encodeHeaders([
    [':method', 'POST'],
    [':scheme', 'http'],
    [':path', path],
    [':authority', 'localhost'],
  ])

const echo: Serve = stream => {
  stream.respond({ ':status': 200 })
  stream.pipe(stream)
}

const bytes = (length: number) => Buffer.from(Uint8Array.from({ length }, (_, i) => (i * 7) ^ (i >> 8)))

test('requests and answers of any size arrive whole, many at once', async t => {
  const { port } = await serve(t, echo)
  const session = await open(t, port)
  const bodies = [0, 1, 100, 16_384, 16_385, 65_535, 65_536, 1_000_000, 3_000_000].map(bytes)
  const answers = await Promise.all(bodies.map(body => ask(session, '/', body).answer))
  for (const [i, { body, end, headers }] of answers.entries()) {
    assert.ok(end.isComplete)
    assert.equal(headers.get(':status'), '200')
    assert.ok(body.equals(bodies[i]!), `${body.length} bytes`)
  }
})

test('the first request of a tick is sent at once, all others of the tick together', async t => {
  const writes: Buffer[] = []
  const socket = new Duplex({
    read() {},
    write(chunk, _, done) {
      writes.push(chunk)
      done()
    },
  })
  const session = new Http2Session(socket as Socket, OPTIONS)
  t.after(() => session.destroy())
  session.begin()
  const tick = () => new Promise(resolve => setImmediate(resolve))
  const sent = () => writes.splice(0).map(({ length }) => length)
  const request = () => session.request(requestTo('/'), { headers() {}, data() {}, closed() {} }).send(bytes(100), true)
  await tick()
  socket.push(frame(4, 0, 0, NOTHING))
  await tick()
  writes.splice(0)
  request()
  const [one] = sent()
  request()
  request()
  assert.deepEqual(sent(), [])
  await tick()
  assert.deepEqual(sent(), [2 * one!])
  // Callers that wait for a response go on in the tick in which it comes.
  socket.once('data', request)
  socket.once('data', request)
  socket.push(frame(1, 0x5, 1, Buffer.from([0x88])))
  await tick()
  assert.deepEqual(sent(), [2 * one!])
  request()
  assert.deepEqual(sent(), [one])
})

test('headers and trailers of every character are read, and those of several frames', async t => {
  const text = `!${Array.from({ length: 95 }, (_, i) => String.fromCharCode(32 + i)).join('')}`
  const latin = Array.from({ length: 128 }, (_, i) => String.fromCharCode(128 + i)).join('')
  const long = text.repeat(500)
  const { port } = await serve(t, (stream, path) => {
    stream.respond({ ':status': 404, 'x-text': text, 'x-latin': latin, 'x-long': path === '/long' ? long : '' }, { waitForTrailers: true })
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '5', 'grpc-message': text }))
    stream.end('body')
  })
  const session = await open(t, port)
  for (const path of ['/', '/long', '/']) {
    const { headers, body } = await ask(session, path).answer
    assert.equal(headers.get(':status'), '404')
    assert.equal(headers.get('x-text'), text)
    assert.equal(headers.get('x-latin'), latin)
    assert.ok(headers.get('x-long') === (path === '/long' ? long : ''))
    assert.equal(headers.get('grpc-status'), '5')
    assert.equal(headers.get('grpc-message'), text)
    assert.equal(body.toString(), 'body')
  }
})

test('no more streams are open than the server allows; those that wait come later', async t => {
  let current = 0
  let most = 0
  const { port } = await serve(
    t,
    stream => {
      most = Math.max(most, ++current)
      stream.resume()
      stream.on('end', () =>
        setImmediate(() => {
          current--
          stream.respond({ ':status': 200 }, { endStream: true })
        }),
      )
    },
    { maxConcurrentStreams: 3 },
  )
  const session = await open(t, port)
  const asked = Array.from({ length: 20 }, () => ask(session, '/', bytes(10)))
  asked[10]!.stream.cancel()
  const answers = await Promise.all(asked.filter((_, i) => i !== 10).map(({ answer }) => answer))
  assert.ok(answers.every(({ end }) => end.isComplete))
  assert.equal(most, 3)
})

test('a stream that is paused holds back its own data alone, and goes on where it was', async t => {
  const sent = bytes(1_000_000)
  const { port } = await serve(t, (stream, path) => {
    stream.respond({ ':status': 200 })
    stream.end(path === '/large' ? sent : 'x')
  })
  const session = await open(t, port)
  const large = ask(session, '/large')
  large.stream.pause()
  let isOver = false
  large.answer.then(() => {
    isOver = true
  })
  // Together more than what the connection may hold.
  for (let i = 0; i < 3; i++) assert.ok((await ask(session, '/small').answer).end.isComplete)
  const other = await ask(session, '/large').answer
  assert.ok(other.body.equals(sent))
  assert.equal(isOver, false)
  large.stream.resume()
  assert.ok((await large.answer).body.equals(sent))
})

test('an answer that came while its stream was paused is handed out afterwards, then its end', async t => {
  const { port } = await serve(t, stream => {
    stream.respond({ ':status': 200 })
    stream.end('whole')
  })
  const session = await open(t, port)
  const { answer, stream } = ask(session, '/')
  stream.pause()
  await new Promise<void>(resolve => session.ping(resolve))
  await ask(session, '/').answer
  stream.resume()
  const { body, end } = await answer
  assert.deepEqual([body.toString(), end.isComplete], ['whole', true])
})

test('what the server refused is known to be unprocessed, what it broke off is not', async t => {
  const { port } = await serve(t, (stream, path) =>
    stream.close(path === '/refused' ? constants.NGHTTP2_REFUSED_STREAM : constants.NGHTTP2_INTERNAL_ERROR),
  )
  const session = await open(t, port)
  const refused = await ask(session, '/refused').answer
  assert.deepEqual([refused.end.isComplete, refused.end.neverSent], [false, true])
  const broken = await ask(session, '/broken').answer
  assert.deepEqual([broken.end.isComplete, broken.end.neverSent], [false, false])
})

test('a server that goes away finishes what it has begun, and takes nothing else', async t => {
  const streams: ServerHttp2Stream[] = []
  const { port, sessions } = await serve(t, stream => {
    streams.push(stream)
    if (streams.length === 2) sessions[0]!.goaway(constants.NGHTTP2_NO_ERROR, streams[0]!.id!)
  })
  const session = await open(t, port)
  const gone = new Promise<void>(resolve => {
    session.onGoaway = resolve
  })
  const closed = new Promise<Error | undefined>(resolve => {
    session.onClose = resolve
  })
  const first = ask(session, '/')
  const second = ask(session, '/')
  await gone
  assert.equal(session.isOpen, false)
  assert.throws(() => session.request(requestTo('/'), { headers: () => {}, data: () => {}, closed: () => {} }), /closed/)
  assert.equal((await second.answer).end.neverSent, true)
  streams[0]!.respond({ ':status': 200 }, { endStream: true })
  assert.ok((await first.answer).end.isComplete)
  assert.equal(await closed, undefined)
})

test('when the connection is lost every stream ends, with the reason', async t => {
  const { port, sessions } = await serve(t, () => {}, { maxConcurrentStreams: 1 })
  const session = await open(t, port)
  const [first, second] = [ask(session, '/'), ask(session, '/')]
  await new Promise<void>(resolve => session.ping(resolve))
  session.destroy(new Error('it was enough'))
  const [sent, waiting] = await Promise.all([first.answer, second.answer])
  assert.deepEqual([sent.end.isComplete, sent.end.neverSent, sent.end.error?.message], [false, false, 'it was enough'])
  assert.equal(waiting.end.neverSent, true, 'it was never opened')
  assert.equal(sessions.length, 1)
})

test('a canceled stream is reset at the server, and nothing is heard of it', async t => {
  const { port } = await serve(t, stream => {
    stream.respond({ ':status': 200 })
    stream.write('begun')
  })
  const session = await open(t, port)
  const { stream, answer } = ask(session, '/')
  answer.then(() => assert.fail('it was canceled'))
  await new Promise<void>(resolve => session.ping(resolve))
  stream.cancel()
  stream.send(bytes(10), false)
  await new Promise<void>(resolve => session.ping(resolve))
})

test('a server that has said all before it has heard all is not sent the rest', async t => {
  let heard = (_code: number) => {}
  const reset = new Promise<number>(resolve => {
    heard = resolve
  })
  const { port } = await serve(t, (stream, path) => {
    stream.respond({ ':status': 200 }, { endStream: true })
    if (path === '/long') stream.on('close', () => heard(stream.rstCode))
  })
  const session = await open(t, port)
  assert.ok((await ask(session, '/long', bytes(500_000)).answer).end.isComplete)
  assert.ok([constants.NGHTTP2_CANCEL, constants.NGHTTP2_NO_ERROR].includes(await reset))
  assert.ok((await ask(session, '/').answer).end.isComplete)
})

/** A connection in between that passes on what the server sends in pieces of its own. */
async function cutting(t: TestContext, port: number, size: number): Promise<number> {
  return listen(
    t,
    createTcpServer(client => {
      const upstream = connect(port, '127.0.0.1')
      for (const socket of [client, upstream])
        socket
          .on('error', () => {})
          .on('close', () => {
            client.destroy()
            upstream.destroy()
          })
      client.pipe(upstream)
      client.setNoDelay(true)
      upstream.on('data', (chunk: Buffer) => {
        for (let at = 0; at < chunk.length; at += size) client.write(chunk.subarray(at, at + size))
      })
    }),
  )
}

test('frames may arrive in any pieces', async t => {
  const { port } = await serve(t, echo)
  for (const size of [1, 8, 9, 10, 1000]) {
    const session = await open(t, await cutting(t, port, size))
    const sent = bytes(3000)
    const answers = await Promise.all([ask(session, '/', sent).answer, ask(session, '/', sent).answer])
    for (const { body, end } of answers) assert.ok(end.isComplete && body.equals(sent))
    session.destroy()
  }
})

test('a server that speaks something else, or breaks the rules, is left', async t => {
  const garbage = fc.oneof(
    fc.uint8Array({ minLength: 1, maxLength: 200 }),
    // A valid beginning, then any frames.
    fc
      .array(fc.tuple(fc.nat(12), fc.nat(255), fc.nat(5), fc.uint8Array({ maxLength: 40 })), { maxLength: 10 })
      .map(frames =>
        Buffer.concat([frame(4, 0, 0, new Uint8Array(0)), ...frames.map(([type, flags, id, payload]) => frame(type, flags, id, payload))]),
      ),
  )
  let next: Uint8Array = NOTHING
  const sockets = new Set<Socket>()
  const port = await listen(
    t,
    createTcpServer(socket => {
      sockets.add(socket)
      socket.on('error', () => {}).on('close', () => sockets.delete(socket))
      socket.once('data', () => socket.end(next))
    }),
  )
  await fc.assert(
    fc.asyncProperty(garbage, async bytes => {
      next = bytes
      const session = await openSession(new URL(`http://127.0.0.1:${port}`), OPTIONS).catch((error: Error) => error)
      if (session instanceof Error) return
      const closed = new Promise(resolve => {
        session.onClose = resolve
      })
      if (session.isOpen) await ask(session, '/').answer
      await closed
    }),
    { numRuns: 200 },
  )
})

function frame(type: number, flags: number, id: number, payload: Uint8Array): Buffer {
  const head = Buffer.alloc(9)
  head.writeUIntBE(payload.length, 0, 3)
  head[3] = type
  head[4] = flags
  head.writeUInt32BE(id, 5)
  return Buffer.concat([head, payload])
}

test('headers that do not end, pushes and frames that are too large end the connection', async t => {
  const wrong: Buffer[] = [
    Buffer.concat([frame(1, 0, 1, new Uint8Array(1)), frame(0, 0, 1, new Uint8Array(1))]),
    frame(5, 4, 1, new Uint8Array(8)),
    frame(0, 0, 1, new Uint8Array(16_385)),
    frame(9, 4, 1, new Uint8Array(1)),
    frame(8, 0, 0, new Uint8Array([0x7f, 0xff, 0xff, 0xff])),
    frame(6, 0, 0, new Uint8Array(7)),
  ]
  for (const bytes of wrong) {
    const port = await listen(
      t,
      createTcpServer(socket => {
        socket.on('error', () => {})
        socket.write(frame(4, 0, 0, new Uint8Array(0)))
        socket.once('data', () => socket.write(bytes))
      }),
    )
    const session = await open(t, port)
    const { end } = await ask(session, '/').answer.catch(error => assert.fail(error))
    assert.equal((end.error as { code?: string } | undefined)?.code, 'ERR_HTTP2_PROTOCOL', bytes.subarray(0, 12).toString('hex'))
  }
})
