import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { decodeRevision, decodeSwap, encodeFrame, encodeRevision, encodeSwap, type Frame, FrameReader } from './frames.ts'

const read = (bytes: Buffer, sizes: readonly number[]): Frame[] => {
  const reader = new FrameReader()
  const frames: Frame[] = []
  let [at, turn] = [0, 0]
  while (at < bytes.length) {
    const size = sizes[turn++ % sizes.length]!
    for (const frame of reader.take(bytes.subarray(at, at + size))) frames.push({ ...frame, body: Buffer.from(frame.body) })
    at += size
  }
  return frames
}

const PLAIN = { noNullPrototype: true }

test('frames are read back whole, wherever they were cut', () => {
  const swap = fc.record({
    key: fc.string({ unit: 'grapheme' }),
    expect: fc.nat(),
    value: fc.option(fc.uint8Array(), { nil: null }),
    ttlSeconds: fc.option(fc.double({ min: 0, noNaN: true }), { nil: undefined }),
    isEnding: fc.boolean(),
    fences: fc.array(fc.record({ key: fc.string(), modified: fc.nat() }, PLAIN), { maxLength: 3 }),
  })
  fc.assert(
    fc.property(
      fc.array(swap, { minLength: 1, maxLength: 5 }),
      fc.array(fc.integer({ min: 1, max: 60 }), { minLength: 1 }),
      (swaps, sizes) => {
        const sent = swaps.map(({ key, ...change }, id) => encodeSwap(id, key, change))
        const bytes = Buffer.concat([...sent, encodeRevision('made', 7, 2 ** 50), encodeFrame('failed', 8, 'für alle')])
        const frames = read(bytes, sizes)
        assert.deepEqual(
          frames.slice(0, -2).map(frame => [frame.id, decodeSwap(frame)]),
          swaps.map(({ key, value, ...change }, id) => [id, { key, change: { ...change, value: value && Buffer.from(value) } }]),
        )
        const [made, failed] = frames.slice(-2)
        assert.equal(decodeRevision(made!), 2 ** 50)
        assert.deepEqual([failed!.type, failed!.id, failed!.body.toString()], ['failed', 8, 'für alle'])
      },
    ),
  )
})

test('bytes that are no frame are refused', () => {
  for (const bytes of [Buffer.alloc(20), Buffer.alloc(20, 255), Buffer.from([0, 0, 0, 5, 99, 0, 0, 0, 0])]) {
    assert.throws(() => read(bytes, [5]), RangeError)
  }
})
