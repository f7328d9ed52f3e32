import assert from 'node:assert/strict'
import { test } from 'node:test'
import { find, secretJson, testCatalog } from '../../test/kits/http/test-server.ts'
import { decodeCbor } from '../codec/cbor-decode.ts'
import { LIMITS } from '../lib/limits.ts'
import { cborResponse } from './encode-cbor.ts'
import { listBody } from './list-body.ts'
import type { ResponseBody } from './message.ts'

const secrets = find(testCatalog(), 'secrets')

/** The pieces of a body; each is copied before the next is requested. */
async function piecesOf(body: ResponseBody): Promise<Buffer[]> {
  if (body instanceof Uint8Array) return [Buffer.from(body)]
  const pieces: Buffer[] = []
  if (body.type === 'pieces') for await (const piece of body.pieces) pieces.push(Buffer.from(piece))
  return pieces
}

test('a list in CBOR has the content of the list in JSON, and a long one comes in pieces', async () => {
  const meta = { resourceVersion: '9', continue: 'more', remainingItemCount: 3 }
  for (const sizes of [[], [0], [10, 40_000, 3 * LIMITS.encodedPieceLength], Array.from({ length: 300 }, () => 1000)]) {
    const items = sizes.map((n, i) => secretJson(`s${i}`, { k: Buffer.alloc(n, i).toString('base64') }))
    const { body } = cborResponse({ type: 'list', resource: secrets, items, meta }, undefined)
    const pieces = await piecesOf(body)
    const json = Buffer.concat(await piecesOf(listBody(secrets, items, meta)))
    assert.deepEqual(decodeCbor(Buffer.concat(pieces)), JSON.parse(json.toString()))
    const total = sizes.reduce((sum, n) => sum + n, 0)
    assert.equal(pieces.length > 1, total > LIMITS.encodedPieceLength)
  }
})
