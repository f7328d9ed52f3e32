import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { find, secretJson, testCatalog } from '../../test/kits/http/test-server.ts'
import { LIMITS } from '../lib/limits.ts'
import { listBody, listItem } from './list-body.ts'
import { compactList } from './list-document.ts'
import type { ResponseBody } from './message.ts'

const secrets = find(testCatalog(), 'secrets')
const meta = { resourceVersion: '9' }

/** The whole body; each chunk is copied before the next is requested. */
async function bytesOf(body: ResponseBody): Promise<Buffer> {
  if (body instanceof Uint8Array) return Buffer.from(body)
  const copies: Buffer[] = []
  if (body.type === 'pieces') for await (const piece of body.pieces) copies.push(Buffer.from(piece))
  return Buffer.concat(copies)
}

test('a list is the same whole and in pieces, whatever the size of its items', async () => {
  const size = fc.oneof(
    fc.nat({ max: 200 }),
    fc.integer({ min: LIMITS.listPieceBytes - 400, max: LIMITS.listPieceBytes + 200 }),
    fc.constant(600_000),
  )
  await fc.assert(
    fc.asyncProperty(fc.array(size, { maxLength: 12 }), async sizes => {
      const items = sizes.map((n, i) => secretJson(`s${i}`, { k: 'x'.repeat(n) }))
      const body = listBody(secrets, items, meta)
      const bytes = await bytesOf(body)
      const head = { kind: 'SecretList', apiVersion: 'v1', metadata: meta }
      assert.ok(
        bytes.equals(Buffer.from([...compactList({ head, member: 'items', items: items.map(item => listItem(secrets, item)) })].join(''))),
      )
      if (!(body instanceof Uint8Array) && body.type === 'pieces') assert.equal(body.length, bytes.length)
      const list = JSON.parse(bytes.toString())
      assert.deepEqual(
        list.items.map((item: { data: { k: string } }) => item.data.k.length),
        sizes,
      )
    }),
    { numRuns: 40 },
  )
})

test('lists that are sent at the same time do not mix', async () => {
  const listOf = (letter: string) => Array.from({ length: 40 }, (_, i) => secretJson(`${letter}${i}`, { k: letter.repeat(20_000) }))
  const texts = await Promise.all(['a', 'b', 'c'].map(async letter => (await bytesOf(listBody(secrets, listOf(letter), meta))).toString()))
  for (const [i, letter] of ['a', 'b', 'c'].entries())
    assert.ok(JSON.parse(texts[i]!).items.every((item: { data: { k: string } }) => item.data.k === letter.repeat(20_000)))
})

test('a list whose client disconnects does not reuse its buffer', async () => {
  const items = Array.from({ length: 40 }, (_, i) => secretJson(`s${i}`, { k: 'x'.repeat(20_000) }))
  const left = listBody(secrets, items, meta)
  assert.ok(!(left instanceof Uint8Array) && left.type === 'pieces')
  let held: Uint8Array | undefined
  for await (const piece of left.pieces) {
    held = piece
    break
  }
  const before = Buffer.from(held!)
  await bytesOf(listBody(secrets, items.toReversed(), meta))
  assert.ok(before.equals(held!))
})
