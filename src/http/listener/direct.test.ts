import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect as connectTcp } from 'node:net'
import { Duplex } from 'node:stream'
import { test } from 'node:test'
import { connect, type TLSSocket } from 'node:tls'
import { authority, tls } from '../../../test/kits/http/test-server.ts'
import { LIMITS } from '../../lib/limits.ts'
import { bytesResponse, type Outlet, type Request, type Response } from '../message.ts'
import { createLog } from '../observability/log.ts'
import { listen } from './listen.ts'

const HOST = 'Host: a\r\n'
const get = (path: string, more = '') => `GET ${path} HTTP/1.1\r\n${HOST}${more}\r\n`
const post = (path: string, body: string) => `POST ${path} HTTP/1.1\r\n${HOST}Content-Length: ${body.length}\r\n\r\n${body}`
const text = (content: string) => bytesResponse(200, 'text/plain', Buffer.from(content))

/** Answers with the target and the body of the request. */
async function echo(request: Request): Promise<Response> {
  const body = await request.readBody(LIMITS.bodyBytes)
  return text(`<${request.target} ${Buffer.from(body ?? []).toString()}>`)
}

const serverFor = (serve: (request: Request) => Response | Promise<Response>) =>
  listen({ host: '127.0.0.1', port: 0, tls, serve, log: createLog('silent') })

/** A bare connection, and the bytes received on it. */
const open = (port: number) => reader(connect({ host: '127.0.0.1', port, ca: authority.cert, ALPNProtocols: ['http/1.1'] }))

async function reader(socket: TLSSocket) {
  socket.on('error', () => {})
  let received = ''
  let isClosed = false
  let wake = () => {}
  socket.setEncoding('latin1').on('data', chunk => {
    received += chunk
    wake()
  })
  socket.on('close', () => {
    isClosed = true
    wake()
  })
  await once(socket, 'secureConnect')
  const until = async (has: (text: string) => boolean) => {
    while (!has(received)) {
      assert.ok(!isClosed, `closed after ${received}`)
      await new Promise<void>(resolve => (wake = resolve))
    }
    return received
  }
  const closed = async () => {
    while (!isClosed) await new Promise<void>(resolve => (wake = resolve))
    return received
  }
  return {
    socket,
    until: (end: string) => until(text => text.endsWith(end)),
    matches: (pattern: RegExp) => until(text => pattern.test(text)),
    closed,
  }
}

test('requests on one connection are answered one after the other, whatever comes in between', async t => {
  await using server = await serverFor(echo)
  const { socket, until } = await open(server.address.port)
  t.after(() => socket.destroy())
  socket.write(get('/1'))
  await until('</1 >')
  socket.write(post('/2', 'two'))
  const second = await until('</2 two>')
  assert.match(second, /\r\nContent-Type: text\/plain\r\n/i)
  assert.match(second, /\r\nDate: .* GMT\r\nConnection: keep-alive\r\nKeep-Alive: timeout=120\r\n\r\n/)
  // From here on node:http answers: the head and the body come apart.
  socket.write('POST /3 HTTP/1.1\r\nHost: a\r\nContent-Le')
  socket.write('ngth: 5\r\n\r\nth')
  socket.write('ree')
  await until('</3 three>')
  socket.write(`${get('/4')}${post('/5', 'five')}${get('/6')}`)
  const all = await until('</6 >')
  assert.deepEqual(all.match(/<.*?>/g), ['</1 >', '</2 two>', '</3 three>', '</4 >', '</5 five>', '</6 >'])
})

/** A connection whose TLS records reach the server in one chunk: those of all strings that are sent together. */
async function openInPieces(port: number) {
  const plain = connectTcp({ host: '127.0.0.1', port })
  plain.on('error', () => {})
  await once(plain, 'connect')
  let held: Buffer[] | undefined
  const between = new Duplex({
    read() {},
    write(record, _encoding, done) {
      if (held === undefined) plain.write(record)
      else held.push(record)
      done()
    },
  })
  plain.on('data', bytes => between.push(bytes)).on('close', () => between.destroy())
  const { socket, ...rest } = await reader(connect({ socket: between, ca: authority.cert, ALPNProtocols: ['http/1.1'] }))
  const send = async (...records: string[]) => {
    held = []
    for (const record of records) await new Promise(sent => socket.write(record, sent))
    assert.equal(held.length, records.length, 'each text is a record of its own')
    plain.write(Buffer.concat(held))
    held = undefined
  }
  return { ...rest, send, close: () => plain.destroy() }
}

test('a request in parts whose head comes while a large response is being written is answered', async t => {
  const large = `<${'x'.repeat(100_000)}>`
  await using server = await serverFor(request => (request.target === '/large' ? text(large) : echo(request)))
  const { send, until, close } = await openInPieces(server.address.port)
  t.after(close)
  // From here on node:http answers.
  await send('POST /1 HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\n', 'one')
  await until('</1 one>')
  // On Node 20, the version before (6256f0f1) took the last record for a malformed request and closed the connection: HPE_PAUSED.
  await send(get('/large'), 'POST /2 HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\n', 'two', get('/3'))
  const all = await until('</3 >')
  assert.deepEqual(all.match(/<.*?>/g), ['</1 one>', large, '</2 two>', '</3 >'])
})

test('requests that come before the response to an earlier one wait for it', async t => {
  const begun: string[] = []
  let release = () => {}
  const released = new Promise<void>(resolve => (release = resolve))
  await using server = await serverFor(async request => {
    begun.push(request.target)
    if (request.target === '/1') await released
    return echo(request)
  })
  const { socket, until } = await open(server.address.port)
  t.after(() => socket.destroy())
  socket.write(get('/1'))
  while (begun.length === 0) await new Promise(setImmediate)
  // More than waits unread at the server, so that its reading is paused and resumed.
  const body = 'x'.repeat(100_000)
  socket.write(post('/2', body))
  socket.write(get('/3'))
  release()
  const all = await until('</3 >')
  assert.deepEqual(begun, ['/1', '/2', '/3'])
  assert.deepEqual(
    all.match(/<.*?>/g)!.map(answer => answer.length),
    ['</1 >'.length, `</2 ${body}>`.length, '</3 >'.length],
  )
})

for (const [what, request, expected] of [
  [
    'an expectation',
    `POST /2 HTTP/1.1\r\n${HOST}Expect: 100-continue\r\nContent-Length: 3\r\n\r\ntwo`,
    /100 Continue\r\n\r\n[\s\S]*<\/2 two>/,
  ],
  ['HTTP/1.0', 'GET /2 HTTP/1.0\r\n\r\n', /Connection: close\r\n[\s\S]*<\/2 >/],
  ['chunks', `POST /2 HTTP/1.1\r\n${HOST}Transfer-Encoding: chunked\r\n\r\n3\r\ntwo\r\n0\r\n\r\n`, /<\/2 two>/],
  ['nonsense', 'hello\r\n\r\n', /HTTP\/1.1 400 Bad Request\r\n[\s\S]*Connection: close/],
  ['a last request', get('/2', 'Connection: close\r\n'), /Connection: close\r\n[\s\S]*<\/2 >/],
] as const)
  test(`after a plain request, ${what} is answered as node:http does`, async t => {
    await using server = await serverFor(echo)
    const { socket, until, matches } = await open(server.address.port)
    t.after(() => socket.destroy())
    socket.write(get('/1'))
    await until('</1 >')
    socket.write(request)
    await matches(expected)
  })

test('a response without a length is sent in chunks, and the connection goes on', async t => {
  const stream = (start: (outlet: Outlet) => void): Response => ({ status: 200, headers: {}, body: { type: 'stream', start } })
  const closed: string[] = []
  await using server = await serverFor(request =>
    request.target === '/text'
      ? text('<text>')
      : stream(outlet => {
          outlet.once('close', () => closed.push(request.target))
          outlet.write(Buffer.from('one'))
          // An empty chunk would be the end.
          outlet.write(new Uint8Array())
          outlet.write(Buffer.alloc(LIMITS.smallBytes + 1, 'x'), () => outlet.end())
        }),
  )
  const { socket, until } = await open(server.address.port)
  t.after(() => socket.destroy())
  socket.write(get('/stream'))
  const answer = await until('\r\n0\r\n\r\n')
  assert.match(answer, /\r\nTransfer-Encoding: chunked\r\n[\s\S]*\r\n\r\n3\r\none\r\n10001\r\nx/)
  socket.write(get('/text'))
  await until('<text>')
  assert.deepEqual(closed, ['/stream'])
})

test('a streamed response that is shorter than it says is cut off', async () => {
  const start = (outlet: Outlet) => {
    outlet.write(Buffer.from('one'))
    outlet.end()
  }
  await using server = await serverFor(() => ({ status: 200, headers: { 'content-length': '4' }, body: { type: 'stream', start } }))
  const { socket, closed } = await open(server.address.port)
  socket.write(get('/'))
  assert.ok(!(await closed()).includes('chunked'))
})

test('a header never becomes two, and a response that cannot be sent ends its connection', async () => {
  await using server = await serverFor(() => ({ status: 200, headers: { warning: 'a\r\nset-cookie: b' }, body: new Uint8Array() }))
  const { socket, closed } = await open(server.address.port)
  socket.write(get('/'))
  assert.equal(await closed(), '')
})

test('a response that asks for it is the last one of its connection, as are all while the server drains', async () => {
  await using server = await serverFor(request => ({ ...text('<last>'), close: request.target === '/close' }))
  const first = await open(server.address.port)
  first.socket.write(get('/close'))
  assert.match(await first.closed(), /Connection: close\r\n\r\n<last>$/)
  const second = await open(server.address.port)
  server.sendAway()
  second.socket.write(get('/'))
  assert.match(await second.closed(), /Connection: close\r\n\r\n<last>$/)
})

test('a client that goes away cancels its request, and ends its stream', async () => {
  let gone = () => {}
  const cancelled = new Promise<void>(resolve => (gone = resolve))
  let ended = () => {}
  const closed = new Promise<void>(resolve => (ended = resolve))
  await using server = await serverFor(request => {
    if (request.target === '/stream')
      return { status: 200, headers: {}, body: { type: 'stream', start: outlet => outlet.once('close', ended) } }
    return new Promise(() => request.signal.addEventListener('abort', gone))
  })
  const first = await open(server.address.port)
  first.socket.write(get('/wait'))
  const second = await open(server.address.port)
  second.socket.write(get('/stream'))
  await second.until('\r\n\r\n')
  first.socket.destroy()
  second.socket.destroy()
  await cancelled
  await closed
})

test('a large response that the client reads slowly is followed by the next', async t => {
  const large = Buffer.alloc(2 << 20, 'x')
  let taken = 0
  await using server = await serverFor(request =>
    request.target === '/large' ? { ...bytesResponse(200, 'text/plain', large), taken: () => taken++ } : text('<small>'),
  )
  const { socket, until } = await open(server.address.port)
  t.after(() => socket.destroy())
  socket.pause()
  socket.write(get('/large'))
  socket.write(get('/small'))
  assert.equal(taken, 0)
  socket.resume()
  const all = await until('<small>')
  assert.equal(taken, 1)
  assert.ok(all.length > large.length)
})
