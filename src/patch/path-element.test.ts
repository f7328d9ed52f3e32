import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compareText, goJson, goPrint, goQuote, goSyntax, goType } from './go-text.ts'
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

test('steps are told to people as paths', () => {
  assert.equal(elementText('f:spec'), '.spec')
  assert.equal(elementText('k:{"containerPort":80,"protocol":"TCP"}'), '[containerPort=80,protocol="TCP"]')
  assert.equal(elementText('v:"a\\"b"'), '[="a\\"b"]')
  assert.equal(elementText('v:1.5'), '[=1.5]')
  assert.equal(elementText('i:3'), '[3]')
})

test('steps that clients write another way are read as the same', () => {
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

test('values are printed as Go prints them', () => {
  assert.equal(goPrint({ b: [1, 'x', null], a: { c: true } }), 'map[a:map[c:true] b:[1 x <nil>]]')
  assert.equal(goPrint(0.00001), '1e-05')
  assert.equal(goPrint(2n ** 63n - 1n), '9223372036854775807')
  assert.equal(goSyntax({ a: ['x'] }), 'map[string]interface {}{"a":[]interface {}{"x"}}')
  assert.equal(goQuote('a"\\\n\u0001é\u00a0\u{e0001}'), '"a\\"\\\\\\n\\x01é\\u00a0\\U000e0001"')
  assert.deepEqual([1, 1.5, 2n, 'x', true, [], {}].map(goType), [
    'int64',
    'float64',
    'int64',
    'string',
    'bool',
    '[]interface {}',
    'map[string]interface {}',
  ])
  assert.equal(goJson({ b: '<', a: [1n, '\\b'] }), '{"a":[1,"\\\\b"],"b":"\\u003c"}')
})

test('text sorts by bytes', () => {
  assert.ok(compareText('a', 'b') < 0 && compareText('b', 'a') > 0 && compareText('a', 'a') === 0 && compareText('a', 'ab') < 0)
  assert.ok(compareText('\uffee', '\u{1f600}') < 0)
})
