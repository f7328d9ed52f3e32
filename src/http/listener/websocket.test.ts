import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { test } from 'node:test'
import { connect, type TLSSocket } from 'node:tls'
import fc from 'fast-check'
import { authority, clientPair, find, secretJson, testCatalog, testServer } from '../../../test/kits/http/test-server.ts'
import { type EventType, WatchEvent, type WatchSink, type WatchStream } from '../../cache/watch-stream.ts'
import type { Result } from '../../registry/api.ts'
import { expired } from '../../schema/status-error.ts'

const secrets = find(testCatalog(), 'secrets')
const WATCH = '/api/v1/namespaces/default/secrets?watch=true'
const eventOf = (type: EventType, name: string) => new WatchEvent(type, secrets, secretJson(name))

function deferred<T>() {
  let resolve!: (value: T) => void
  const promise = new Promise<T>(done => {
    resolve = done
  })
  return { promise, resolve }
}

/** A watch that the test controls. */
class HandWatch implements WatchStream {
  readonly opened = deferred<WatchSink>()
  readonly closed = deferred<void>()
  open(sink: WatchSink): void {
    this.opened.resolve(sink)
  }
  close(): void {
    this.closed.resolve()
  }
}
const serverOf = (stream: WatchStream) => testServer({ handle: (): Result => ({ type: 'watch', resource: secrets, stream }) })

type Frame = { readonly opcode: number; readonly payload: Buffer }

/** A small client: a handshake, masked frames out, frames in. */
class Client {
  readonly socket: TLSSocket
  readonly head: Promise<string>
  #bytes = Buffer.alloc(0)
  #wake = () => {}
  ended = false

  constructor(port: number, lines: readonly string[], cert: { cert?: string; key?: string } = {}) {
    this.socket = connect({ host: '127.0.0.1', port, ca: authority.cert, servername: 'localhost', ALPNProtocols: ['http/1.1'], ...cert })
    this.socket.on('data', chunk => {
      this.#bytes = Buffer.concat([this.#bytes, chunk])
      this.#wake()
    })
    this.socket.on('error', () => {})
    this.socket.on('close', () => {
      this.ended = true
      this.#wake()
    })
    this.socket.write(`${lines.join('\r\n')}\r\n\r\n`)
    this.head = this.#until(() => {
      const end = this.#bytes.indexOf('\r\n\r\n')
      if (end < 0) return undefined
      const head = this.#bytes.subarray(0, end).toString()
      this.#bytes = this.#bytes.subarray(end + 4)
      return head
    })
  }

  send(opcode: number, payload: Buffer | string = '', { final = true, masked = true } = {}): void {
    const bytes = Buffer.from(payload)
    const mask = masked ? randomBytes(4) : Buffer.alloc(0)
    const length = bytes.length < 126 ? [bytes.length] : [126, bytes.length >> 8, bytes.length & 255]
    length[0]! |= masked ? 0x80 : 0
    const body = masked ? bytes.map((b, i) => b ^ mask[i & 3]!) : bytes
    this.socket.write(Buffer.concat([Buffer.from([(final ? 0x80 : 0) | opcode, ...length]), mask, body]))
  }

  frame(): Promise<Frame> {
    return this.#until(() => {
      if (this.#bytes.length < 2) return undefined
      const short = this.#bytes[1]!
      const start = short === 127 ? 10 : short === 126 ? 4 : 2
      if (this.#bytes.length < start) return undefined
      const length = short === 127 ? Number(this.#bytes.readBigUInt64BE(2)) : short === 126 ? this.#bytes.readUInt16BE(2) : short
      if (this.#bytes.length < start + length) return undefined
      const frame = { opcode: this.#bytes[0]! & 15, payload: this.#bytes.subarray(start, start + length) }
      assert.equal(this.#bytes[0]! & 0xf0, 0x80)
      this.#bytes = this.#bytes.subarray(start + length)
      return frame
    })
  }

  async closeCode(): Promise<number> {
    for (;;) {
      const { opcode, payload } = await this.frame()
      if (opcode === 8) return payload.readUInt16BE()
    }
  }

  async #until<T>(find: () => T | undefined): Promise<T> {
    for (;;) {
      const found = find()
      if (found !== undefined) return found
      if (this.ended) throw new Error('the connection is closed')
      await new Promise<void>(resolve => {
        this.#wake = resolve
      })
    }
  }
}

const KEY = 'dGhlIHNhbXBsZSBub25jZQ=='
const handshake = (path: string, more: readonly string[] = ['Authorization: Bearer secret-token']) => [
  `GET ${path} HTTP/1.1`,
  'Host: localhost',
  'Connection: keep-alive, Upgrade',
  'Upgrade: WebSocket',
  'Sec-WebSocket-Version: 13',
  `Sec-WebSocket-Key: ${KEY}`,
  ...more,
]

test('each event is one text message, an error is the last one, and then the connection is closed', async () => {
  const watch = new HandWatch()
  await using server = await serverOf(watch)
  const client = new Client(server.port, handshake(WATCH))
  const head = await client.head
  assert.match(head, /^HTTP\/1\.1 101 /)
  assert.match(head, /sec-websocket-accept: s3pPLMBiTxaQ9kYGzzhZRbK\+xOo=/i)
  assert.doesNotMatch(head, /sec-websocket-protocol/i)
  const sink = await watch.opened.promise
  const large = new WatchEvent('MODIFIED', secrets, secretJson('b', { x: 'y'.repeat(70_000) }))
  for (const event of [eventOf('ADDED', 'a'), large, eventOf('DELETED', 'a')]) sink.event(event)
  sink.end(expired('too old resource version: 1 (5)'))
  const frames = [await client.frame(), await client.frame(), await client.frame(), await client.frame()]
  assert.deepEqual(
    frames.map(f => f.opcode),
    [1, 1, 1, 1],
  )
  const events = frames.map(f => JSON.parse(f.payload.toString()))
  assert.deepEqual(
    events.map(e => e.type),
    ['ADDED', 'MODIFIED', 'DELETED', 'ERROR'],
  )
  assert.equal(events[1].object.data.x.length, 70_000)
  assert.equal(events[3].object.code, 410)
  assert.equal(await client.closeCode(), 1000)
})

test('protobuf events are binary messages without length prefix', async () => {
  const watch = new HandWatch()
  await using server = await serverOf(watch)
  const accept = 'Accept: application/vnd.kubernetes.protobuf;stream=watch'
  const client = new Client(server.port, handshake(WATCH, ['Authorization: Bearer secret-token', accept]))
  await client.head
  const sink = await watch.opened.promise
  sink.event(eventOf('ADDED', 'a'))
  const { opcode, payload } = await client.frame()
  assert.equal(opcode, 2)
  assert.deepEqual([...payload.subarray(0, 7)], [0x0a, 5, ...Buffer.from('ADDED')])
  client.socket.destroy()
  await watch.closed.promise
})

test('pings are answered, messages are dropped, and a close frame of the client ends the watch', async () => {
  const watch = new HandWatch()
  await using server = await serverOf(watch)
  const client = new Client(server.port, handshake(WATCH))
  await client.head
  await watch.opened.promise
  client.send(1, 'hello', { final: false })
  client.send(9, 'are you there')
  client.send(0, ' world')
  client.send(2, Buffer.alloc(60_000))
  client.send(10, 'unasked')
  client.send(9, '')
  const [first, second] = [await client.frame(), await client.frame()]
  assert.deepEqual([first.opcode, first.payload.toString()], [10, 'are you there'])
  assert.deepEqual([second.opcode, second.payload.length], [10, 0])
  client.send(8, Buffer.from([0x03, 0xe9]))
  assert.equal(await client.closeCode(), 1001)
  await watch.closed.promise
})

const hostile: readonly (readonly [name: string, code: number, act: (client: Client) => void])[] = [
  ['a frame without a mask', 1002, c => c.send(1, 'x', { masked: false })],
  ['an unknown opcode', 1002, c => c.send(3, 'x')],
  ['an unknown control opcode', 1002, c => c.send(11, 'x')],
  ['reserved bits', 1002, c => c.socket.write(Buffer.from([0xc1, 0x80, 0, 0, 0, 0]))],
  ['a ping in pieces', 1002, c => c.send(9, 'x', { final: false })],
  ['a long ping', 1002, c => c.send(9, 'x'.repeat(126))],
  ['a continuation of nothing', 1002, c => c.send(0, 'x')],
  ['a message inside another', 1002, c => [c.send(1, 'x', { final: false }), c.send(1, 'y')]],
  ['a close of one byte', 1002, c => c.send(8, 'x')],
  ['a close with a code that is none', 1002, c => c.send(8, Buffer.from([0x03, 0xed]))],
  ['a message of an exabyte', 1009, c => c.socket.write(Buffer.from([0x82, 0xff, 0x0f, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4]))],
  ['a message that grows without end', 1009, c => [c.send(1, 'x'.repeat(60_000), { final: false }), c.send(0, 'x'.repeat(60_000))]],
]

test('invalid frames close the connection with the right code, and end the watch', async () => {
  for (const [name, code, act] of hostile) {
    const watch = new HandWatch()
    await using server = await serverOf(watch)
    const client = new Client(server.port, handshake(WATCH))
    await client.head
    await watch.opened.promise
    act(client)
    assert.equal(await client.closeCode(), code, name)
    await watch.closed.promise
  }
})

test('invalid frames after the handshake end the connection or are dropped, and the server continues', async () => {
  await using server = await testServer({ handle: (): Result => ({ type: 'watch', resource: secrets, stream: new HandWatch() }) })
  await fc.assert(
    fc.asyncProperty(fc.array(fc.uint8Array({ minLength: 1, maxLength: 64 })), async chunks => {
      const client = new Client(server.port, handshake(WATCH))
      assert.match(await client.head, /^HTTP\/1\.1 101 /)
      for (const chunk of chunks) client.socket.write(chunk)
      client.socket.end()
      if (!client.ended) await once(client.socket, 'close')
    }),
    { numRuns: 30 },
  )
})

test('requests that are not allowed, or not a watch, get an ordinary response, and the connection is closed', async () => {
  const list: Result = { type: 'list', resource: secrets, items: [], meta: { resourceVersion: '1' } }
  await using server = await testServer({ handle: () => list })
  const cases = [
    [handshake(WATCH, []), /^HTTP\/1\.1 403 /],
    [handshake(WATCH, ['Authorization: Bearer wrong']), /^HTTP\/1\.1 401 /],
    [handshake('/api/v1/namespaces/default/secrets'), /^HTTP\/1\.1 200 /],
    [handshake('/api/v1/nothing'), /^HTTP\/1\.1 404 /],
    [handshake(WATCH).map(l => l.replace('GET', 'POST')), /^HTTP\/1\.1 405 /],
    [handshake(WATCH).map(l => l.replace('13', '8')), /^HTTP\/1\.1 426 /],
    [handshake(WATCH).map(l => l.replace(KEY, 'short')), /^HTTP\/1\.1 400 /],
    [handshake('/api/v1/namespaces/default/secrets').map(l => l.replace('WebSocket', 'h2c')), /^HTTP\/1\.1 200 /],
  ] as const
  for (const [lines, status] of cases) {
    const client = new Client(server.port, lines)
    const head = await client.head
    assert.match(head, status)
    assert.match(head, /connection: close/i)
    if (!client.ended) await once(client.socket, 'close')
  }
})

test('a body on an upgrade to an unknown protocol does not hang', async () => {
  await using server = await testServer({ handle: () => ({ type: 'list', resource: secrets, items: [], meta: { resourceVersion: '1' } }) })
  const lines = [
    'POST /api/v1/namespaces/default/secrets HTTP/1.1',
    'Host: x',
    'Connection: upgrade',
    'Upgrade: other',
    'Content-Length: 2',
  ]
  const client = new Client(server.port, [...lines, 'Authorization: Bearer secret-token'])
  client.socket.write('{}')
  assert.match(await client.head, /^HTTP\/1\.1 \d/)
})

test('a token may be sent as a sub-protocol, next to the one that is selected', async () => {
  const token = (text: string) => `base64url.bearer.authorization.k8s.io.${Buffer.from(text).toString('base64url')}`
  const cases = [
    [
      `Sec-WebSocket-Protocol: ${token('secret-token')}, base64.binary.k8s.io`,
      /^HTTP\/1\.1 101 [\s\S]*sec-websocket-protocol: base64\.binary\.k8s\.io(\r|$)/i,
    ],
    [`Sec-WebSocket-Protocol: ${token('secret-token')}`, /^HTTP\/1\.1 401 /],
    [`Sec-WebSocket-Protocol: ${token('wrong')}, a`, /^HTTP\/1\.1 401 /],
    [`Sec-WebSocket-Protocol: ${token('secret-token')}, ${token('secret-token')}, a`, /^HTTP\/1\.1 401 /],
  ] as const
  for (const [line, expected] of cases) {
    await using server = await serverOf(new HandWatch())
    const client = new Client(server.port, handshake(WATCH, [line]))
    assert.match(await client.head, expected)
    client.socket.destroy()
  }
})

test('a page of another origin cannot use the client certificate of its visitor', async () => {
  const opened = async (origin: readonly string[]) => {
    await using server = await serverOf(new HandWatch())
    const client = new Client(server.port, handshake(WATCH, origin), clientPair)
    const head = await client.head
    client.socket.destroy()
    return head.slice(9, 12)
  }
  assert.equal(await opened([]), '101')
  assert.equal(await opened(['Origin: https://localhost']), '101')
  assert.equal(await opened(['Origin: http://127.0.0.1:3000']), '101')
  assert.equal(await opened(['Origin: http://localhost.elsewhere.example']), '403')
  assert.equal(await opened(['Origin: https://elsewhere.example']), '403')
  assert.equal(await opened(['Origin: null']), '403')
  assert.equal(await opened(['Origin: https://elsewhere.example', 'Authorization: Bearer secret-token']), '101')
  // Any page can send some token; that does not allow it to use the certificate.
  const madeUp = `Sec-WebSocket-Protocol: base64url.bearer.authorization.k8s.io.${Buffer.from('x').toString('base64url')}, a`
  assert.equal(await opened(['Origin: https://elsewhere.example', madeUp]), '401')
  assert.equal(await opened(['Origin: https://localhost', madeUp]), '101')
})

test('a client that disconnects during the handshake leaves no watch open', async () => {
  const watch = new HandWatch()
  const held = deferred<void>()
  const asked = deferred<void>()
  await using server = await testServer({
    async handle() {
      asked.resolve()
      await held.promise
      return { type: 'watch', resource: secrets, stream: watch }
    },
  })
  const client = new Client(server.port, handshake(WATCH))
  client.head.catch(() => {})
  await asked.promise
  client.socket.destroy()
  await once(client.socket, 'close')
  setTimeout(held.resolve, 50)
  await watch.closed.promise
})

test('an upgrade sent before the response to an earlier request closes the connection', async () => {
  const held = deferred<Result>()
  await using server = await testServer({ handle: () => held.promise })
  const lines = ['GET /api/v1/namespaces/default/secrets HTTP/1.1', 'Host: x', 'Authorization: Bearer secret-token', '', '']
  const client = new Client(server.port, [lines.join('\r\n') + handshake(WATCH).join('\r\n')])
  client.head.catch(() => {})
  await once(client.socket, 'close')
  held.resolve({ type: 'list', resource: secrets, items: [], meta: { resourceVersion: '1' } })
})

test('a log is sent in messages: an empty one, then what there is, in base64 where that was agreed on', async () => {
  async function* followed() {
    yield Buffer.from('one\n')
    yield Buffer.from('two\n')
  }
  const path = '/api/v1/namespaces/default/secrets/s'
  const answers: Result[] = []
  await using server = await testServer({ handle: () => answers.shift()! })
  const log = (body: Uint8Array | AsyncIterable<Uint8Array>): Result => ({ type: 'bytes', code: 200, mediaType: 'text/plain', body })
  async function receive(body: Uint8Array | AsyncIterable<Uint8Array>, protocols: string) {
    answers.push(log(body))
    const more = protocols === '' ? [] : [`Sec-WebSocket-Protocol: ${protocols}`]
    const client = new Client(server.port, handshake(path, ['Authorization: Bearer secret-token', ...more]))
    const head = await client.head
    if (!head.startsWith('HTTP/1.1 101 ')) return head.slice(9, 12)
    const frames: [number, string][] = []
    for (;;) {
      const { opcode, payload } = await client.frame()
      if (opcode === 8) return [/sec-websocket-protocol: (.*)/i.exec(head)?.[1], ...frames]
      frames.push([opcode, payload.toString()])
    }
  }
  const whole = Buffer.from('container is alive\n')
  assert.deepEqual(await receive(whole, ''), [undefined, [2, ''], [2, 'container is alive\n']])
  assert.deepEqual(await receive(followed(), 'x, binary.k8s.io'), ['binary.k8s.io', [2, ''], [2, 'one\n'], [2, 'two\n']])
  const encoded = whole.toString('base64')
  assert.deepEqual(await receive(whole, 'base64.binary.k8s.io'), ['base64.binary.k8s.io', [1, ''], [1, encoded]])
  assert.equal(await receive(followed(), 'channel.k8s.io'), '403')
})
