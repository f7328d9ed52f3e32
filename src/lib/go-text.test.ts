import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compareText, goJson, goPrint, goQuote, goSyntax, goType } from './go-text.ts'

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
