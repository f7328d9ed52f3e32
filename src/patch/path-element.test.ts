import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { finish } from '../lib/step.ts'
import { elementText, fieldElement, keyElement, parseElement, sortElements, valueElement } from './path-element.ts'

test('steps are written as managedFields has them', () => {
  assert.equal(fieldElement('__proto__'), 'f:__proto__')
  assert.equal(
    keyElement([
      ['containerPort', 80],
      ['protocol', 'TCP'],
    ]),
    'k:{"containerPort":80,"protocol":"TCP"}',
  )
  assert.equal(valueElement('a<b>&"\u2028\b'), 'v:"a\\u003cb\\u003e\\u0026\\"\\u2028\\u0008"')
  assert.equal(valueElement(2n ** 60n), 'v:1152921504606846976')
})

test('path elements are printed as paths', () => {
  assert.equal(elementText('f:spec'), '.spec')
  assert.equal(elementText('k:{"containerPort":80,"protocol":"TCP"}'), '[containerPort=80,protocol="TCP"]')
  assert.equal(elementText('v:"a\\"b"'), '[="a\\"b"]')
  assert.equal(elementText('v:1.5'), '[=1.5]')
  assert.equal(elementText('i:3'), '[3]')
})

test('equivalent path elements are equal, however they are written', () => {
  assert.deepEqual(parseElement('k:{"b": 1, "a" : "x"}'), { ok: true, element: 'k:{"a":"x","b":1}' })
  assert.deepEqual(parseElement('v: "x"'), { ok: true, element: 'v:"x"' })
  assert.deepEqual(parseElement('i:+07'), { ok: true, element: 'i:7' })
  assert.deepEqual(parseElement('z:later'), { ok: true })
})

test('steps sort by kind and then by content, not by text', () => {
  assert.deepEqual(finish(sortElements(['v:9', 'k:{"a":"b!"}', 'v:10', 'f:z', 'k:{"a":"b"}', 'i:0', 'f:a'])), [
    'f:a',
    'f:z',
    'k:{"a":"b"}',
    'k:{"a":"b!"}',
    'v:9',
    'v:10',
    'i:0',
  ])
  assert.deepEqual(finish(sortElements(['f:\u{1f600}', 'f:\uffee'])), ['f:\uffee', 'f:\u{1f600}'])
})

test('very many steps are sorted, and others may run meanwhile', () => {
  for (const length of [0, 1, 1023, 1024, 1025, 4_097, 10_000]) {
    const values = Array.from({ length }, (_, i) => (i * 7919) % length)
    const work = sortElements(values.map(valueElement))
    let stops = 0
    let stop = work.next()
    for (; !stop.done; stop = work.next()) stops++
    assert.deepEqual(stop.value, values.toSorted((a, b) => a - b).map(valueElement))
    assert.ok(stops >= Math.floor(length / 1024), `${stops} stops for ${length}`)
  }
})

test('property: a key is read as what our own writer makes of it, however it is written', () => {
  const value = fc.oneof(
    fc.string({ maxLength: 4 }),
    fc.integer(),
    fc.constantFrom(0, -0, 10 ** 14, 10 ** 15, 1.5),
    fc.boolean(),
    fc.constant(null),
  )
  const members = fc.uniqueArray(fc.tuple(fc.constantFrom('a', 'aB', 'b', 'port', 'é', 'x-y'), value), {
    selector: ([name]) => name,
    minLength: 1,
    maxLength: 4,
  })
  fc.assert(
    fc.property(members, fc.boolean(), (members, isSpaced) => {
      const sorted = [...members].sort(([a], [b]) => (a < b ? -1 : 1))
      const text = `{${members.map(([name, value]) => `"${name}":${isSpaced ? ' ' : ''}${JSON.stringify(value)}`).join()}}`
      // Values that JSON cannot tell apart are one.
      const expected = keyElement(sorted.map(([name, value]) => [name, JSON.parse(JSON.stringify(value))]))
      assert.deepEqual(parseElement(`k:${text}`), { ok: true, element: expected })
    }),
  )
})

test('what only begins or ends like a key is none', () => {
  for (const text of ['k:{"a":1', 'k:{"a":1}}', 'k:{"a":1,}', 'k:{,"a":1}', 'k:{"a":01}', 'k:{"a":1{"b":2}', 'k:"a":1}'])
    assert.equal(parseElement(text).ok, false, text)
  assert.deepEqual(parseElement('k:{"a":1,"a":2}'), { ok: true, element: 'k:{"a":2}' })
  assert.deepEqual(parseElement('k:{"b":1,"a":2}'), { ok: true, element: 'k:{"a":2,"b":1}' })
})
