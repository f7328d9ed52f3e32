import assert from 'node:assert/strict'
import { test } from 'node:test'
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
  assert.deepEqual(sortElements(['v:9', 'k:{"a":"b!"}', 'v:10', 'f:z', 'k:{"a":"b"}', 'i:0', 'f:a']), [
    'f:a',
    'f:z',
    'k:{"a":"b"}',
    'k:{"a":"b!"}',
    'v:9',
    'v:10',
    'i:0',
  ])
  assert.deepEqual(sortElements(['f:\u{1f600}', 'f:\uffee']), ['f:\uffee', 'f:\u{1f600}'])
})
