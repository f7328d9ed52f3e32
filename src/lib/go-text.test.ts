import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  compareText,
  type GoType,
  goFieldValue,
  goFloat,
  goJson,
  goLabelSelector,
  goPrint,
  goQuote,
  goSyntax,
  goType,
  plainDecimal,
} from './go-text.ts'
import { writtenNumber } from './written-number.ts'

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

test('members of structs are in the order of declaration, those of maps by key', () => {
  const scalar: GoType = { shape: { kind: 'scalar' } }
  const labels: GoType = { shape: { kind: 'map', value: scalar } }
  const selector: GoType = { shape: { kind: 'message', fields: { matchLabels: [1, labels], any: [2, scalar] } } }
  const list: GoType = { shape: { kind: 'list', item: selector } }
  const value = { any: { z: 1, a: 2 }, matchLabels: { b: '1', a: '2' } }
  assert.equal(goJson([value], list), '[{"matchLabels":{"a":"2","b":"1"},"any":{"z":1,"a":2}}]')
  assert.equal(goJson({ x: 1, ...value }, selector), '{"matchLabels":{"a":"2","b":"1"},"any":{"z":1,"a":2},"x":1}')
  assert.equal(goJson(value), '{"any":{"a":2,"z":1},"matchLabels":{"a":"2","b":"1"}}')
  assert.equal(goJson({ b: writtenNumber('1.0'), a: { d: 1, c: undefined as never } }, 'given'), '{"b":1.0,"a":{"d":1}}')
  assert.equal(goJson(value, { shape: { kind: 'either', object: [1, selector], list: [2, list] } }).slice(0, 14), '{"matchLabels"')
})

test('field errors quote text, print numbers like Go and show everything else as JSON', () => {
  const shown = [undefined, null, 'a\n', 5, 1e6, 1.5e-7, 2n ** 63n, true, ['<']].map(value => goFieldValue(value, 'given'))
  assert.deepEqual(shown, ['""', 'null', '"a\\n"', '5', '1000000', '1.5e-07', '9.223372036854776e+18', 'true', '["\\u003c"]'])
})

test('doubles have the shortest digits, with an exponent when they are large or small', () => {
  const texts = [0, -0, 1.5, 1e6, 123456.5, 0.0001, 0.00001, Number.NaN, -Number.POSITIVE_INFINITY].map(goFloat)
  assert.deepEqual(texts, ['0', '-0', '1.5', '1e+06', '123456.5', '0.0001', '1e-05', 'NaN', '-Inf'])
  fc.assert(
    fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), value => {
      const text = plainDecimal(value)
      assert.equal(Number(text) === value, true)
      assert.equal(/e/.test(text), false)
      assert.equal(Number(goFloat(value)) === value, true)
    }),
  )
})

test('text sorts by bytes', () => {
  assert.ok(compareText('a', 'b') < 0 && compareText('b', 'a') > 0 && compareText('a', 'a') === 0 && compareText('a', 'ab') < 0)
  assert.ok(compareText('\uffee', '\u{1f600}') < 0)
})

test('label selectors are printed the way events show them', () => {
  assert.equal(
    goLabelSelector({ matchLabels: { b: '2', a: '1' }, matchExpressions: [{ key: 'c', operator: 'In', values: ['x', 'y'] }] }),
    '&LabelSelector{MatchLabels:map[string]string{a: 1,b: 2,},MatchExpressions:[]LabelSelectorRequirement{LabelSelectorRequirement{Key:c,Operator:In,Values:[x y],},},}',
  )
})
