import assert from 'node:assert/strict'
import { Duplex } from 'node:stream'
import { test } from 'node:test'
import { LIMITS } from '../../lib/limits.ts'
import { SpdyConnection } from './connection.ts'
import { emptyBlock, HeaderReader } from './header-block.ts'

/** A socket whose other end is the test: `sent` receives the bytes of the server, and `socket.push` brings those of the client. */
function openSocket(): { readonly socket: Duplex; readonly sent: () => Buffer } {
  const pieces: Buffer[] = []
  const socket = new Duplex({
    read() {},
    write(chunk: Buffer, _, callback) {
      pieces.push(chunk)
      callback()
    },
  })
  return { socket, sent: () => Buffer.concat(pieces) }
}

const PING = Buffer.from([0x80, 3, 0, 6, 0, 0, 0, 4, 0, 0, 0, 9])

test('the dictionary is the one whose checksum SPDY clients send', () => {
  assert.equal(emptyBlock(true).subarray(0, 6).toString('hex'), '78bbe3c6a7c2')
})

test('blocks without headers can be read one after the other', async () => {
  const reader = new HeaderReader()
  for (const isFirst of [true, false, false]) assert.equal((await reader.read(emptyBlock(isFirst))).size, 0)
  reader.close()
})

test('frames that arrive in pieces are put together, and a ping is answered', async () => {
  const { socket, sent } = openSocket()
  const connection = new SpdyConnection(socket, PING.subarray(0, 3), { onStream: () => false })
  for (const byte of PING.subarray(3)) socket.push(Buffer.from([byte]))
  socket.push(null)
  await connection.ended
  assert.deepEqual(sent(), PING)
})

test('malformed and oversized frames end the connection', async () => {
  const size = LIMITS.spdyHeaderBytes + 1
  const oversized = Buffer.from([0x80, 3, 0, 6, 0, size >> 16, (size >> 8) & 255, size & 255])
  const malformed = Buffer.concat([Buffer.from([0x80, 3, 0, 1, 0, 0, 0, 12, 0, 0, 0, 1]), Buffer.alloc(8)])
  for (const frame of [oversized, malformed]) {
    const { socket } = openSocket()
    const connection = new SpdyConnection(socket, new Uint8Array(), { onStream: () => assert.fail('no stream was opened') })
    socket.push(frame)
    await connection.ended
    assert.equal(socket.destroyed, true)
  }
})

test('data of streams that are not open is dropped', async () => {
  const { socket, sent } = openSocket()
  const connection = new SpdyConnection(socket, new Uint8Array(), { onStream: () => false })
  socket.push(Buffer.concat([Buffer.from([0, 0, 0, 5, 0, 0, 0, 3]), Buffer.from('abc'), PING]))
  socket.push(null)
  await connection.ended
  assert.deepEqual(sent(), PING)
})
