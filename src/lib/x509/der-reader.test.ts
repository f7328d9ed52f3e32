import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { bitsOf, childrenOf, DerError, oidText, readElement, readWhole, TAG, timeOf } from './der-reader.ts'
import * as der from './der-writer.ts'

const read = (bytes: Buffer) => readElement(bytes).element

test('written elements are read back', () => {
  for (const id of ['1.2.840.10045.2.1', '2.5.4.3', '2.999.1', '0.9.2342', '1.3.101.112'])
    assert.equal(
      oidText(id === '2.999.1' ? { tag: TAG.oid, content: Buffer.from([0x88, 0x37, 1]), raw: Buffer.alloc(0) } : read(der.oid(id))),
      id,
    )
  const moments = ['1999-12-31T23:59:59.000Z', '2026-02-28T00:00:00.000Z', '2049-12-31T00:00:00.000Z', '2050-01-01T00:00:00.000Z']
  for (const moment of moments) assert.equal(timeOf(read(der.time(new Date(moment)))).toISOString(), moment)
  assert.deepEqual(bitsOf(read(der.bits(Buffer.from([1, 2])))), Buffer.from([1, 2]))
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 300 }), { maxLength: 5 }), parts => {
      const sequence = readWhole(der.sequence(...parts.map(der.octets)), TAG.sequence, 'list')
      assert.deepEqual(
        childrenOf(sequence).map(({ content }) => [...content]),
        parts.map(part => [...part]),
      )
    }),
  )
})

test('invalid dates and other notations are not times', () => {
  const time = (tag: number, text: string) => () => timeOf({ tag, content: Buffer.from(text), raw: Buffer.alloc(0) })
  assert.throws(time(TAG.utcTime, '260231000000Z'), DerError)
  assert.throws(time(TAG.utcTime, '2602280000Z'), DerError)
  assert.throws(time(TAG.generalizedTime, '20260228000000+0100'), DerError)
  assert.throws(time(TAG.octets, '260228000000Z'), DerError)
})
