// When a client disconnects, its work ends: no request continues, and no resources are left.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import { type TestContext, test } from 'node:test'
import { WebSocket } from 'ws'
import { pump } from '../../src/http/streams.ts'
import { ask, CONFIG_MAPS, configMap, eventually, patient, type ServerProcess, startProcess } from '../kit.ts'
import { open } from './attacks.ts'

const start = (t: TestContext) => startProcess(t, { flags: ['--store', 'memory', '--controllers', 'none'] })

const post = (path: string, body: Buffer) =>
  Buffer.concat([
    Buffer.from(`POST ${path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`),
    body,
  ])

/** A body that takes long to write: it has many keys. */
const large = (name: string) =>
  Buffer.from(JSON.stringify(configMap(name, Object.fromEntries(Array.from({ length: 20_000 }, (_, i) => [`k${i}`, 'v'])))))

test('a body that is not sent to its end is forgotten', patient, async t => {
  const server = await start(t)
  const bytes = post(CONFIG_MAPS, large('half'))
  const socket = await open(server, t)
  await new Promise(sent => socket.write(bytes.subarray(0, bytes.length / 2), sent))
  await eventually('the request has begun', async () => (await inFlight(server, 'mutating')) === 1 || undefined)
  socket.destroy()
  await eventually('the request has ended', async () => (await inFlight(server, 'mutating')) === 0 || undefined)
  assert.equal((await ask(server, `${CONFIG_MAPS}/half`)).status, 404)
})

test('a large write is not stored when its client disconnected before', patient, async t => {
  const server = await start(t)
  const socket = await open(server, t)
  const bytes = post(CONFIG_MAPS, large('gone'))
  socket.write(bytes, () => socket.destroy())
  await once(socket, 'close')
  await eventually('the request has ended', async () => (await inFlight(server, 'mutating')) === 0 || undefined)
  assert.equal((await ask(server, `${CONFIG_MAPS}/gone`)).status, 404)
  assert.equal((await ask(server, CONFIG_MAPS, { method: 'POST', body: large('stays').toString() })).status, 201)
})

test('a long list that its client does not read to the end is not made to the end', async () => {
  let made = 0
  let isClosed = false
  function* pieces() {
    try {
      for (; made < 1000; made++) yield Buffer.alloc(64 * 1024)
    } finally {
      isClosed = true
    }
  }
  const client = new PassThrough()
  const sending = pump(pieces(), client)
  await once(client, 'readable')
  client.destroy()
  await sending
  assert.ok(isClosed && made < 10, `${made} pieces were made`)
})

test('a watch over WebSocket ends with its client', patient, async t => {
  const server = await start(t)
  await ask(server, CONFIG_MAPS, { method: 'POST', body: configMap('watched', { a: 'b' }) })
  const socket = new WebSocket(`${server.url.replace(/^https/, 'wss')}${CONFIG_MAPS}?watch=true`, server.credentials)
  const [first] = await once(socket, 'message')
  assert.equal(JSON.parse(String(first)).object.metadata.name, 'watched')
  assert.equal(await watches(server), 1)
  socket.terminate()
  await eventually('the watch has ended', async () => (await watches(server)) === 0 || undefined)
})

/** How many requests the server is answering, by its own account. */
async function inFlight(server: ServerProcess, kind: 'mutating' | 'readOnly'): Promise<number> {
  const { text } = await ask(server, '/metrics')
  return Number(new RegExp(`^apiserver_current_inflight_requests\\{request_kind="${kind}"\\} (\\d+)$`, 'm').exec(text)![1])
}

/** How many watches of config maps are open. */
async function watches(server: ServerProcess): Promise<number> {
  const { text } = await ask(server, '/metrics')
  const series = [...text.matchAll(/^apiserver_longrunning_requests\{([^}]*)\} (\d+)$/gm)]
  return series.filter(([, labels]) => labels!.includes('resource="configmaps"')).reduce((sum, [, , count]) => sum + Number(count), 0)
}
