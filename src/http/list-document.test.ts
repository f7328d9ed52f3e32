import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { parseJson, stringifyJson, stringifyPretty } from '../codec/json.ts'
import * as writer from '../codec/yaml-writer.ts'
import type { Json, JsonObject } from '../lib/json-value.ts'
import { LIMITS } from '../lib/limits.ts'
import { compactList, documentBody, prettyList, withStops, YIELD_POINT, yamlList } from './list-document.ts'

const object = fc.dictionary(fc.string(), fc.jsonValue()).map(value => parseJson(JSON.stringify(value)).value as JsonObject)

test('a list that is made item by item is the same as one that is made at once', () => {
  fc.assert(
    fc.property(
      fc.array(object, { maxLength: 5 }),
      object,
      fc.constantFrom('items' as const, 'rows' as const),
      (items, metadata, member) => {
        const head = { kind: 'List', apiVersion: 'v1', metadata }
        const whole = { ...head, [member]: items } as Json
        // Others may run between any two items.
        const document = { head, member, items: items.flatMap(item => [YIELD_POINT, stringifyJson(item)]) }
        assert.equal([...compactList(document)].join(''), stringifyJson(whole))
        assert.equal([...prettyList(document)].join(''), stringifyPretty(whole))
        assert.equal([...yamlList(document, writer)].join(''), writer.stringifyYaml(whole))
      },
    ),
  )
})

test('others run after as many bytes of items as a piece of a list has, however short the texts are that are made of them', () => {
  const items = [1, LIMITS.listPieceBytes - 1, 1, LIMITS.listPieceBytes].map(byteLength => ({ byteLength }))
  assert.deepEqual([...withStops(['a', 'b', 'c', 'd'], items)], ['a', 'b', YIELD_POINT, 'c', 'd', YIELD_POINT])
})

test('a small document is whole, a large one comes in pieces that are made when they are asked for', async () => {
  const small = documentBody(['a', 'b'])
  assert.deepEqual(Buffer.from(small as Uint8Array).toString(), 'ab')
  assert.equal((documentBody([]) as Uint8Array).length, 0)
  let made = 0
  function* chunks() {
    for (; made < 100; made++) yield 'x'.repeat(LIMITS.encodedPieceLength / 2)
  }
  const large = documentBody(chunks())
  assert.ok(made < 10)
  if (large instanceof Uint8Array || large.type !== 'pieces') return assert.fail('a large document is sent in pieces')
  let length = 0
  for await (const piece of large.pieces) length += piece.length
  assert.equal(length, 50 * LIMITS.encodedPieceLength)
})
