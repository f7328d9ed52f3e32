import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Socket } from 'node:net'
import { test } from 'node:test'
import { Handshakes } from './handshakes.ts'

test('a client that does not finish its handshake is cut off', async () => {
  const handshakes = new Handshakes({ ticks: 2, tickMs: 1 })
  const socket = new Socket()
  socket.on('close', () => handshakes.end(socket))
  handshakes.begin(socket)
  const alive = setInterval(() => {}, 1_000)
  await once(socket, 'close')
  clearInterval(alive)
  assert.equal(handshakes.size, 0)
})

test('a server that does not run cuts nobody off', async () => {
  const handshakes = new Handshakes({ ticks: 2, tickMs: 5 })
  const socket = new Socket()
  handshakes.begin(socket)
  const until = performance.now() + 50
  while (performance.now() < until);
  // The timer comes first, then the bytes that have arrived meanwhile.
  await new Promise(resolve => setImmediate(resolve))
  handshakes.end(socket)
  assert.equal(socket.destroyed, false)
})

test('a drain cuts off handshakes at once', () => {
  const handshakes = new Handshakes()
  const sockets = [new Socket(), new Socket()]
  for (const socket of sockets) handshakes.begin(socket)
  handshakes.cutAll()
  assert.deepEqual(
    sockets.map(socket => socket.destroyed),
    [true, true],
  )
  for (const socket of sockets) handshakes.end(socket)
})
