import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Agent, get, request } from 'node:https'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import { createGunzip, gunzipSync } from 'node:zlib'
import { ask, authority, find, openHttp2, secretJson, testCatalog, testServer } from '../../test/kits/http/test-server.ts'
import { type EventType, WatchEvent, type WatchSink, type WatchStream } from '../cache/watch-stream.ts'
import { CBOR } from '../codec/cbor.ts'
import { decodeCbor } from '../codec/cbor-decode.ts'
import { endOfItem } from '../codec/cbor-scan.ts'
import { expired } from '../schema/status-error.ts'
import type { ResponseBody } from './message.ts'
import { watchResponse } from './watch.ts'

const secrets = find(testCatalog(), 'secrets')
const eventOf = (type: EventType, name: string) => new WatchEvent(type, secrets, secretJson(name))
const WATCH = '/api/v1/namespaces/default/secrets?watch=true'

/** A watch in the hands of the test. */
class HandWatch implements WatchStream {
  readonly opened: Promise<WatchSink>
  readonly closed: Promise<void>
  #open!: (sink: WatchSink) => void
  #close!: () => void

  constructor() {
    this.opened = new Promise(resolve => {
      this.#open = resolve
    })
    this.closed = new Promise(resolve => {
      this.#close = resolve
    })
  }

  open(sink: WatchSink): void {
    this.#open(sink)
  }

  close(): void {
    this.#close()
  }
}

const serverOf = (watch: WatchStream) => testServer({ handle: () => ({ type: 'watch', resource: secrets, stream: watch }) })

/** A watch that sends some events and ends. */
const finite = (events: readonly WatchEvent[], error?: Parameters<WatchSink['end']>[0]): WatchStream => ({
  open(sink) {
    for (const event of events) sink.event(event)
    sink.end(error)
  },
  close() {},
})

const linesOf = (body: Buffer) =>
  body
    .toString()
    .trimEnd()
    .split('\n')
    .map(line => JSON.parse(line))

test('events are lines of JSON, on both protocols', async () => {
  await using server = await serverOf(finite([eventOf('ADDED', 'a'), eventOf('DELETED', 'a')]))
  const { headers, body } = await ask(server.port, WATCH)
  assert.equal(headers['content-type'], 'application/json')
  assert.equal(headers['transfer-encoding'], 'chunked')
  assert.deepEqual(linesOf(body), [
    { type: 'ADDED', object: JSON.parse(secretJson('a').toString()) },
    { type: 'DELETED', object: JSON.parse(secretJson('a').toString()) },
  ])
  const session = openHttp2(server.port)
  const stream = session.request({ ':path': WATCH, authorization: 'Bearer secret-token' })
  const chunks: Buffer[] = []
  for await (const chunk of stream) chunks.push(chunk)
  session.close()
  assert.deepEqual(Buffer.concat(chunks), body)
})

test('an error ends the stream as its last event', async () => {
  await using server = await serverOf(finite([eventOf('ADDED', 'a')], expired('too old resource version: 1 (5)')))
  const [, last] = linesOf((await ask(server.port, WATCH)).body)
  assert.equal(last.type, 'ERROR')
  assert.deepEqual([last.object.kind, last.object.code, last.object.reason], ['Status', 410, 'Expired'])
})

test('events in CBOR are data items of their own, the error too, and each is encoded once', async () => {
  const event = eventOf('ADDED', 'a')
  const { headers, body } = watchResponse(
    { stream: finite([event], expired('too old resource version: 1 (5)')) },
    {
      mediaType: CBOR,
      representation: undefined,
    },
  )
  assert.equal(headers['content-type'], 'application/cbor-seq')
  const outlet = new PassThrough()
  ;(body as Extract<ResponseBody, { type: 'stream' }>).start(outlet)
  const bytes = Buffer.concat(await outlet.toArray())
  const end = endOfItem(bytes, 0)
  assert.deepEqual(decodeCbor(bytes.subarray(0, end)), { type: 'ADDED', object: JSON.parse(secretJson('a').toString()) })
  const last = decodeCbor(bytes.subarray(end)) as any
  assert.deepEqual([last.type, last.object.kind, last.object.code], ['ERROR', 'Status', 410])
  // Event and object both begin with the tag.
  assert.equal(bytes.toString('hex').split('d9d9f7').length - 1, 4)
  assert.deepEqual(
    event.encoded('cbor', () => assert.fail('encoded a second time')),
    bytes.subarray(0, end),
  )
})

test('a watch that stands for a list is compressed for clients that accept it, in parts that can be read at once', async () => {
  const watch = new HandWatch()
  await using server = await testServer({ handle: () => ({ type: 'watch', resource: secrets, stream: watch, isList: true }) })
  const answer = once(
    get({
      port: server.port,
      path: WATCH,
      ca: authority.cert,
      headers: { authorization: 'Bearer secret-token', 'accept-encoding': 'gzip' },
    }),
    'response',
  )
  const sink = await watch.opened
  const [response] = await answer
  assert.deepEqual([response.headers['content-encoding'], response.headers['vary']], ['gzip', 'Accept-Encoding'])
  const lines = response.pipe(createGunzip())
  const parts = [[eventOf('ADDED', 'a'), eventOf('ADDED', 'b')], [eventOf('MODIFIED', 'a')], [eventOf('DELETED', 'b')]]
  for (const events of parts) {
    for (const event of events) sink.event(event)
    // The part is read before the next one begins, and in as many pieces as it comes.
    const expected = events.map(({ type, json }) => `{"type":"${type}","object":${Buffer.from(json)}}\n`).join('')
    let text = ''
    while (text.length < expected.length) text += (await once(lines, 'data'))[0]
    assert.equal(text, expected)
  }
  sink.end()
  await once(lines.resume(), 'end')
})

test('the data of a compressed write ends before the last block, so that Go hands it out at once', async () => {
  const { body } = watchResponse(
    { stream: finite([eventOf('ADDED', 'a')]), isList: true },
    { mediaType: 'application/json', representation: undefined },
  )
  const outlet = new PassThrough()
  ;(body as Extract<ResponseBody, { type: 'stream' }>).startCompressed!(outlet)
  const bytes = Buffer.concat(await outlet.toArray())
  // The end of a flush, an empty last block, checksum and length.
  assert.equal(bytes.subarray(-14, -8).toString('hex'), '0000ffff0300')
  assert.equal(linesOf(gunzipSync(bytes)).length, 1)
})

test('other watches, and clients that do not accept it, get no compression', async () => {
  const stream = () => finite([eventOf('ADDED', 'a')])
  for (const [isList, accepted] of [
    [true, 'identity'],
    [false, 'gzip'],
  ] as const) {
    await using server = await testServer({ handle: () => ({ type: 'watch', resource: secrets, stream: stream(), isList }) })
    const { headers, body } = await ask(server.port, WATCH, { headers: { 'accept-encoding': accepted } })
    assert.equal(headers['content-encoding'], undefined)
    assert.equal(linesOf(body).length, 1)
  }
})

test('an event that is sent alone is compressed once for all watchers', () => {
  const event = eventOf('ADDED', 'a')
  const bytes = event.encoded('json', () => Buffer.from('bytes'))
  const compressed = event.compressed(bytes, () => Buffer.from('short'))
  assert.equal(
    event.compressed(bytes, () => assert.fail('compressed a second time')),
    compressed,
  )
  assert.equal(
    event.encoded('json', () => assert.fail('encoded a second time')),
    bytes,
  )
})

test('a table names its columns in the first event alone', async () => {
  await using server = await serverOf(finite([eventOf('ADDED', 'a'), eventOf('MODIFIED', 'a')]))
  const { body } = await ask(server.port, WATCH, { headers: { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' } })
  const [first, second] = linesOf(body)
  assert.deepEqual(
    first.object.columnDefinitions.map((c: { name: string }) => c.name),
    ['Name', 'Type', 'Data', 'Age'],
  )
  assert.equal(second.object.columnDefinitions, null)
  assert.deepEqual(second.object.metadata, { resourceVersion: '7' })
  assert.equal(second.object.rows[0].object.kind, 'PartialObjectMetadata')
})

test('metadata alone', async () => {
  await using server = await serverOf(finite([eventOf('ADDED', 'a')]))
  const { body } = await ask(server.port, WATCH, { headers: { accept: 'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io' } })
  assert.deepEqual(Object.keys(linesOf(body)[0].object), ['kind', 'apiVersion', 'metadata'])
})

test('an event is encoded once for all watchers of one encoding', async () => {
  const event = eventOf('ADDED', 'a')
  await using server = await serverOf(finite([event]))
  await ask(server.port, WATCH)
  const kept = event.encoded('json', () => assert.fail('encoded a second time'))
  assert.deepEqual((await ask(server.port, WATCH)).body, Buffer.from(kept))
})

test('response headers are sent before any event, and events as they happen', async () => {
  const watch = new HandWatch()
  await using server = await serverOf(watch)
  const req = request({
    host: '127.0.0.1',
    port: server.port,
    path: WATCH,
    ca: authority.cert,
    headers: { authorization: 'Bearer secret-token' },
  })
  req.end()
  const [res] = await once(req, 'response')
  const sink = await watch.opened
  sink.event(eventOf('ADDED', 'a'))
  const [line] = await once(res, 'data')
  assert.equal(JSON.parse(line.toString()).type, 'ADDED')
  assert.equal(sink.backlog, 0)
  req.destroy()
  await watch.closed
})

test('the backlog of a client that does not read is visible, and its drain is reported', async () => {
  const watch = new HandWatch()
  await using server = await serverOf(watch)
  const session = openHttp2(server.port)
  const stream = session.request({ ':path': WATCH, authorization: 'Bearer secret-token' })
  const sink = await watch.opened
  const big = new WatchEvent('ADDED', secrets, secretJson('a', { k: 'x'.repeat(100_000) }))
  for (let i = 0; i < 30; i++) sink.event(big)
  assert.ok(sink.backlog > 2_000_000)
  const drained = new Promise<void>(resolve => sink.onDrain(resolve))
  stream.resume()
  await drained
  assert.ok(sink.backlog < 100_000)
  stream.close()
  await watch.closed
  session.close()
})

test('a drained server waits for the end of its watches, no longer', async () => {
  const watch = new HandWatch()
  const server = await serverOf(watch)
  const answer = ask(server.port, WATCH, { agent: new Agent({ keepAlive: true, ca: authority.cert }) })
  const sink = await watch.opened
  const drained = server.listener.drain(60_000)
  sink.event(eventOf('ADDED', 'a'))
  sink.end()
  assert.equal(linesOf((await answer).body).length, 1)
  await drained
})

test('open watches are counted while they last', async () => {
  const watch = new HandWatch()
  await using server = await serverOf(watch)
  const open = () => /apiserver_longrunning_requests\{[^}]*verb="WATCH"[^}]*\} (\d+)/.exec(server.metrics.scrape())?.[1]
  const session = openHttp2(server.port)
  const stream = session.request({ ':path': WATCH, authorization: 'Bearer secret-token' })
  await watch.opened
  assert.equal(open(), '1')
  stream.close()
  await watch.closed
  assert.equal(open(), '0')
  session.close()
})
