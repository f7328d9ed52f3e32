// Floods of HTTP/2: each client is cut off or costs little, and others are served meanwhile.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { TestContext } from 'node:test'
import { type TLSSocket, connect as tlsConnect } from 'node:tls'
import { ask, CONFIG_MAPS, configMap, type ServerProcess } from '../kit.ts'
import { type Attack, http2, MIB, residentMemory, withstands } from './attacks.ts'

const attacks: Attack[] = []
const attack = (...one: Attack) => attacks.push(one)

const TYPE = { data: 0, headers: 1, priority: 2, reset: 3, settings: 4, ping: 6, windowUpdate: 8, continuation: 9 }
const END_STREAM = 1
const END_HEADERS = 4

function frame(type: number, { flags = 0, stream = 0, payload = Buffer.alloc(0) as Uint8Array } = {}): Buffer {
  const head = Buffer.alloc(9)
  head.writeUIntBE(payload.length, 0, 3)
  head.writeUInt8(type, 3)
  head.writeUInt8(flags, 4)
  head.writeUInt32BE(stream, 5)
  return Buffer.concat([head, payload])
}

const number = (value: number) => {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}
const setting = (id: number, value: number) => {
  const bytes = Buffer.alloc(6)
  bytes.writeUInt16BE(id)
  bytes.writeUInt32BE(value, 2)
  return bytes
}
/** A header without compression. */
const literal = (name: string, value: string) =>
  Buffer.concat([Buffer.from([0, name.length]), Buffer.from(name), Buffer.from([value.length]), Buffer.from(value)])
const headersOf = (path: string, method = 'GET') =>
  Buffer.concat([literal(':method', method), literal(':scheme', 'https'), literal(':path', path), literal(':authority', 'localhost')])

/** A connection that speaks HTTP/2 by hand, as the administrator. */
async function open({ port, credentials }: ServerProcess, t: TestContext, settings: Uint8Array = Buffer.alloc(0)): Promise<TLSSocket> {
  const socket = tlsConnect({ host: '127.0.0.1', port, ...credentials, ALPNProtocols: ['h2'] })
  socket.on('error', () => {})
  t.after(() => socket.destroy())
  await once(socket, 'secureConnect')
  socket.write(Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), frame(TYPE.settings, { payload: settings })]))
  return socket
}

/** Sends frames as fast as the server reads them, until it closes the connection or there are no more, while another client is served. */
async function flood(server: ServerProcess, socket: TLSSocket, batches: Iterable<Uint8Array>): Promise<void> {
  let wake = () => {}
  socket.on('drain', () => wake()).on('close', () => wake())
  let sent = 0
  for (const batch of batches) {
    if (socket.destroyed) break
    if (sent++ % 10 === 0) assert.equal((await ask(server, '/readyz')).status, 200)
    if (socket.write(batch) || socket.destroyed) continue
    const taken = new Promise<void>(resolve => (wake = resolve))
    // A server that does not read this client any more serves the other all the same, and the rest is sent without waiting for it.
    await Promise.race([taken, ask(server, CONFIG_MAPS).then(({ status }) => assert.equal(status, 200))])
  }
  assert.equal((await ask(server, CONFIG_MAPS)).status, 200)
}

function* times(batches: number, batch: (i: number) => Uint8Array): Generator<Uint8Array> {
  for (let i = 0; i < batches; i++) yield batch(i)
}
const many = (count: number, one: (i: number) => Uint8Array) => Buffer.concat(Array.from({ length: count }, (_, i) => one(i)))

const closed = (socket: TLSSocket) => (socket.destroyed ? Promise.resolve() : once(socket, 'close'))

/** More than the buffers of both ends and of the network hold of their answers: then the server ends the connection. */
const MORE_THAN_BUFFERS = 3_000

attack('settings without end, whose acknowledgements nobody reads', async (server, t) => {
  const socket = await open(server, t)
  socket.pause()
  const batch = many(1000, () => frame(TYPE.settings, { payload: setting(4, 65_535) }))
  await flood(
    server,
    socket,
    times(MORE_THAN_BUFFERS, () => batch),
  )
  socket.resume()
  await closed(socket)
})

attack('pings without end, whose answers nobody reads', async (server, t) => {
  const socket = await open(server, t)
  socket.pause()
  const batch = many(1000, () => frame(TYPE.ping, { payload: Buffer.alloc(8) }))
  await flood(
    server,
    socket,
    times(MORE_THAN_BUFFERS, () => batch),
  )
  socket.resume()
  await closed(socket)
})

async function begunWatches(server: ServerProcess): Promise<number> {
  const { text } = await ask(server, '/metrics')
  const counts = [...text.matchAll(/^apiserver_request_total\{.*resource="configmaps".*verb="WATCH".*\} (\d+)$/gm)]
  return counts.reduce((sum, [, count]) => sum + Number(count), 0)
}

attack('streams that are opened and reset without end', async (server, t) => {
  const socket = await open(server, t)
  socket.resume()
  const payload = headersOf(`${CONFIG_MAPS}?watch=true`)
  const pair = (id: number) =>
    Buffer.concat([
      frame(TYPE.headers, { flags: END_STREAM | END_HEADERS, stream: id, payload }),
      frame(TYPE.reset, { stream: id, payload: number(8) }),
    ])
  const before = await begunWatches(server)
  await flood(
    server,
    socket,
    times(200, i => many(100, j => pair(1 + 2 * (100 * i + j)))),
  )
  const begun = (await begunWatches(server)) - before
  assert.ok(begun < 10_000, `${begun} of 20,000 were begun`)
})

const PIECES = {
  'a header that goes on without end': { payload: literal('x-filler', 'a'.repeat(100)) },
  'a header that goes on without end in empty pieces': {},
}
for (const [name, content] of Object.entries(PIECES))
  attack(name, async (server, t) => {
    const socket = await open(server, t)
    socket.resume()
    socket.write(frame(TYPE.headers, { stream: 1, payload: headersOf('/readyz') }))
    const piece = frame(TYPE.continuation, { stream: 1, ...content })
    await flood(
      server,
      socket,
      times(200, () => many(100, () => piece)),
    )
    await closed(socket)
  })

attack('a body of empty pieces without end', async (server, t) => {
  const socket = await open(server, t)
  socket.resume()
  socket.write(frame(TYPE.headers, { flags: END_HEADERS, stream: 1, payload: headersOf(CONFIG_MAPS, 'POST') }))
  const before = await residentMemory(server)
  const batch = many(1000, () => frame(TYPE.data, { stream: 1 }))
  await flood(
    server,
    socket,
    times(200, () => batch),
  )
  assert.ok((await residentMemory(server)) - before < 100 * MIB)
})

attack('changes of priority without end', async (server, t) => {
  const socket = await open(server, t)
  socket.resume()
  const before = await residentMemory(server)
  const one = (id: number) => frame(TYPE.priority, { stream: id, payload: Buffer.concat([number(0), Buffer.from([1])]) })
  await flood(
    server,
    socket,
    times(100, i => many(1000, j => one(1 + 2 * (1000 * i + j)))),
  )
  assert.ok((await residentMemory(server)) - before < 100 * MIB)
})

attack('a table of headers that changes its size without end', async (server, t) => {
  const socket = await open(server, t)
  socket.resume()
  const before = await residentMemory(server)
  const batch = many(500, i => frame(TYPE.settings, { payload: setting(1, i % 2 === 0 ? 0 : 0x7fffffff) }))
  await flood(
    server,
    socket,
    times(100, () => batch),
  )
  assert.ok((await residentMemory(server)) - before < 100 * MIB)
})

attack('responses that are requested and never taken, with a window of nothing', async (server, t) => {
  const filler = 'x'.repeat(MIB / 2)
  for (let i = 0; i < 8; i++) {
    const created = await ask(server, CONFIG_MAPS, { method: 'POST', body: configMap(`large-${i}`, { filler }) })
    assert.equal(created.status, 201)
  }
  const before = await residentMemory(server)
  const sockets = await Promise.all(Array.from({ length: 4 }, () => open(server, t, setting(4, 0))))
  const payload = headersOf(CONFIG_MAPS)
  for (const socket of sockets) {
    socket.resume()
    await flood(
      server,
      socket,
      times(100, i => frame(TYPE.headers, { flags: END_STREAM | END_HEADERS, stream: 1 + 2 * i, payload })),
    )
  }
  const updates = many(1000, () => frame(TYPE.windowUpdate, { stream: 1, payload: number(1) }))
  await flood(
    server,
    sockets[0]!,
    times(50, () => updates),
  )
  // Four hundred lists of four MiB each.
  const grown = (await residentMemory(server)) - before
  assert.ok(grown < 250 * MIB, `they cost ${Math.round(grown / MIB)} MiB`)
  for (const socket of sockets) socket.destroy()
  for (let i = 0; i < 8; i++) assert.equal((await ask(server, `${CONFIG_MAPS}/large-${i}`, { method: 'DELETE' })).status, 200)
})

attack('two thousand watches of one client', async (server, t) => {
  const perSession = 100
  const sessions = Array.from({ length: 20 }, () => http2(server, t))
  const watches = sessions.flatMap(session =>
    Array.from({ length: perSession }, () => session.request({ ':path': `${CONFIG_MAPS}?watch=true&fieldSelector=metadata.name%3Dseen` })),
  )
  for (const watch of watches) watch.on('error', () => {})
  const statuses = await Promise.all(watches.map(async watch => (await once(watch, 'response'))[0][':status']))
  assert.deepEqual(new Set(statuses), new Set([200]))
  const seen = watches.map(async watch => {
    for await (const line of watch.setEncoding('utf8')) if (line.includes('"ADDED"')) return
    throw new Error('the watch ended')
  })
  assert.equal((await ask(server, CONFIG_MAPS, { method: 'POST', body: configMap('seen') })).status, 201)
  await Promise.all(seen)
  assert.equal((await ask(server, `${CONFIG_MAPS}/seen`, { method: 'DELETE' })).status, 200)
  for (const session of sessions) session.destroy()
})

withstands('no flood of HTTP/2 breaks the server, grows it or keeps others from it', attacks)
