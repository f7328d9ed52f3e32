import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { FRAME, jsonFrame, MAGIC, SnapshotError, type SnapshotHeader, type SnapshotRecord } from './format.ts'
import { readSnapshot, type SnapshotPart } from './read.ts'
import { SnapshotFailed, writeSnapshot } from './write.ts'

const RECORDS: SnapshotRecord[] = [
  { key: '/core/configmaps/default/a', value: Buffer.from('{"a":1}'), created: 2, modified: 7 },
  { key: '/core/pods/default/ü', value: Buffer.alloc(0), created: 3, modified: 3 },
  { key: '/core/pods/other/b', value: Buffer.alloc(30_000, 'x'), created: 4, modified: 2 ** 40 },
]
const HEADER = { revision: 2 ** 40, time: '2026-11-17T00:00:00.000Z', writtenBy: 'keelson test', cluster: 'uid', groupDomain: 'k8s.io' }

async function* each<T>(values: Iterable<T>): AsyncGenerator<T> {
  yield* values
}

async function collect(chunks: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const all: Uint8Array[] = []
  for await (const chunk of chunks) all.push(Buffer.from(chunk))
  return Buffer.concat(all)
}

const fileOf = (records: readonly SnapshotRecord[], header: Partial<SnapshotHeader> = {}) =>
  collect(writeSnapshot({ ...HEADER, records: records.length, ...header }, each(records)))

async function partsOf(file: Uint8Array, chunk = 1000): Promise<SnapshotPart[]> {
  const chunks = Array.from({ length: Math.ceil(file.length / chunk) }, (_, i) => file.subarray(i * chunk, (i + 1) * chunk))
  const parts: SnapshotPart[] = []
  for await (const part of readSnapshot(each(chunks))) parts.push(part)
  return parts
}

test('what is written is read, whatever the chunks', async () => {
  const file = await fileOf(RECORDS)
  for (const chunk of [7, 1000, file.length]) {
    const parts = await partsOf(file, chunk)
    assert.deepEqual(
      parts.flatMap(part => (part.type === 'record' ? [{ ...part.record, value: Buffer.from(part.record.value) }] : [])),
      RECORDS,
    )
    const end = parts.at(-1)!
    assert.ok(end.type === 'end')
    assert.equal(end.bytes, file.length)
    assert.deepEqual(end.summary.resources['/core/pods/'], { records: 2, bytes: 30_000 })
  }
})

test('a snapshot with a byte that is wrong anywhere is refused', async () => {
  const file = await fileOf(RECORDS.slice(0, 2))
  // Every byte of every part: there is none that does not count.
  for (let at = 0; at < file.length; at++) {
    const wrong = Buffer.from(file)
    wrong[at]! ^= 1 << (at % 8)
    await assert.rejects(partsOf(wrong), SnapshotError, `byte ${at}`)
  }
})

test('a snapshot that is cut short or longer than it was is refused', async () => {
  const file = await fileOf(RECORDS.slice(0, 2))
  for (let length = 0; length < file.length; length++)
    await assert.rejects(partsOf(file.subarray(0, length)), SnapshotError, `${length} bytes`)
  await assert.rejects(partsOf(Buffer.concat([file, Buffer.from('x')])), /something follows its end/)
})

test('random damage never passes and never ends in another error', async () => {
  const file = await fileOf(RECORDS)
  const damage = fc.record({ at: fc.nat(file.length - 1), bytes: fc.uint8Array({ minLength: 1, maxLength: 40 }) })
  await fc.assert(
    fc.asyncProperty(damage, async ({ at, bytes }) => {
      const wrong = Buffer.from(file)
      wrong.set(bytes.subarray(0, file.length - at), at)
      if (wrong.equals(file)) return
      await assert.rejects(partsOf(wrong, 5_000), SnapshotError)
    }),
    { numRuns: 200 },
  )
})

test('parts in another order, of other snapshots, or of a later release are refused', async () => {
  await assert.rejects(
    fileOf([RECORDS[1]!, RECORDS[0]!]).then(file => partsOf(file)),
    /its records are not in order/,
  )
  await assert.rejects(
    fileOf(RECORDS, { records: 4 }).then(file => partsOf(file)),
    /does not hold the records that it says/,
  )
  await assert.rejects(
    fileOf(RECORDS, { revision: 5 }).then(file => partsOf(file)),
    /has a revision that cannot be/,
  )
  const later = Buffer.concat([MAGIC, jsonFrame(FRAME.header, { ...HEADER, format: 2 })])
  await assert.rejects(partsOf(later), /has format 2, this release reads up to 1/)
  await assert.rejects(partsOf(Buffer.from('PK\u0003\u0004 something else')), /is not a snapshot of Keelson/)
})

test('a snapshot that its source gave up says why', async () => {
  async function* failing(): AsyncGenerator<SnapshotRecord> {
    yield RECORDS[0]!
    throw new SnapshotFailed('the store is full')
  }
  const file = await collect(writeSnapshot({ ...HEADER, records: 3 }, failing()))
  await assert.rejects(partsOf(file), /was given up: the store is full/)
})
