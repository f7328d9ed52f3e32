import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { readFields, Writer } from './wire.ts'

/** A message: bytes, or messages inside. */
type Tree = { readonly field: number; readonly content: Uint8Array | readonly Tree[] }

const field = fc.integer({ min: 1, max: 15 })
const { tree } = fc.letrec<{ tree: Tree }>(tie => ({
  tree: fc.record({
    field,
    content: fc.oneof(
      { depthSize: 'small' },
      fc.uint8Array({ minLength: 1, maxLength: 300 }),
      fc.constant(new Uint8Array(20_000)),
      fc.array(tie('tree'), { maxLength: 4 }),
    ),
  }),
}))

function write(to: Writer, { field, content }: Tree): void {
  if (content instanceof Uint8Array) to.bytes(field, content)
  else {
    to.begin(field)
    for (const inner of content) write(to, inner)
    to.end()
  }
}

function check(message: Buffer, trees: readonly Tree[]): void {
  let i = 0
  readFields(message, ({ field, bytes }) => {
    const { field: expected, content } = trees[i++]!
    assert.equal(field, expected)
    if (content instanceof Uint8Array) assert.deepEqual(Buffer.from(bytes), Buffer.from(content))
    else check(Buffer.from(bytes), content)
  })
  assert.equal(i, trees.length)
}

test('messages inside messages have their lengths, however long they are and however small the buffer was', () => {
  fc.assert(
    fc.property(
      fc.array(tree, { maxLength: 4 }),
      fc.integer({ min: 0, max: 600 }),
      fc.integer({ min: 0, max: 5 }),
      (trees, size, reserve) => {
        const writer = new Writer({ size, reserve })
        for (const each of trees) write(writer, each)
        check(writer.finish().subarray(reserve), trees)
      },
    ),
  )
})
