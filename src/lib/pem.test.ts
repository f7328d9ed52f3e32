import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { decodePem, encodePem, pemBlocks } from './pem.ts'

const block = (label: string, body: string) => `-----BEGIN ${label}-----\n${body}\n-----END ${label}-----\n`

test('blocks are found among other text, in order', () => {
  const text = `subject=x\n${block('A', 'aGVsbG8=')}noise\n${block('B C', 'd29y\r\nbGQ=')}tail`
  const { blocks, rest } = pemBlocks(text)
  assert.deepEqual(
    blocks.map(({ label, bytes }) => [label, bytes.toString()]),
    [
      ['A', 'hello'],
      ['B C', 'world'],
    ],
  )
  assert.equal(rest, 'tail')
})

test('headers, white space and empty blocks are parsed', () => {
  const { block: found, rest } = decodePem(
    '-----BEGIN X-----  \r\nProc-Type: 4,ENCRYPTED\nDEK-Info: a:b\n\naG Vs\tbG8=\n-----END X----- \nrest',
  )
  assert.deepEqual(
    [...(found?.headers ?? [])],
    [
      ['Proc-Type', '4,ENCRYPTED'],
      ['DEK-Info', 'a:b'],
    ],
  )
  assert.equal(found?.bytes.toString(), 'hello')
  assert.equal(rest, 'rest')
  assert.equal(decodePem('-----BEGIN X-----\n-----END X-----').block?.bytes.length, 0)
})

test('malformed blocks are skipped', () => {
  for (const text of [
    '',
    'x',
    '-----BEGIN X-----\naGVsbG8=\n',
    block('X', 'aGVsbG8=').replace('END X', 'END Y'),
    block('X', 'aGVsbG8'),
    block('X', 'a!'),
    ` ${block('X', 'aGVsbG8=')}`,
    block('X', 'aGVsbG8=').replace('END X-----', 'END X-----y'),
  ])
    assert.deepEqual(decodePem(text), { block: undefined, rest: text })
  assert.equal(pemBlocks(`-----BEGIN X-----\n${block('Y', 'aGVsbG8=')}`).blocks[0]?.label, 'Y')
})

test('encoded blocks are decoded again', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), bytes => {
      const { blocks, rest } = pemBlocks(`x\n${encodePem('A B', bytes)}`)
      assert.deepEqual(new Uint8Array(blocks[0]?.bytes ?? []), bytes)
      assert.equal(blocks.length, 1)
      assert.equal(rest, '')
    }),
  )
})

test('hostile texts are parsed in linear time', () => {
  for (const text of [
    '-----BEGIN A-----\n'.repeat(100_000),
    `${'-----BEGIN A-----\n'.repeat(100_000)}-----END A-----\n`,
    `${'-----BEGIN A-----\n'.repeat(100_000)}-----END B-----\n`,
    '-----BEGIN a:b-----\n'.repeat(100_000),
    '-----BEGIN A-----\n-----END B-----\n'.repeat(50_000),
  ])
    assert.ok(pemBlocks(text).blocks.length <= 1)
})
