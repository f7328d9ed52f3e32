import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { finish } from '../lib/step.ts'
import { check } from './check.ts'
import { conform } from './conform.ts'
import { entry, type FieldError, gatherErrors, invalid, pathOf, type Ref, refTo, required, targetValue, withValue } from './refs.ts'
import { atomic, bool, int32, mapOf, message, string } from './types.ts'

test('the path of a ref is put together from the steps that led to it', () => {
  const step = fc.oneof(fc.nat({ max: 30 }), fc.constantFrom('spec', 'a', 'toString', '__proto__', 'constructor'))
  fc.assert(
    fc.property(fc.array(step, { maxLength: 8 }), fc.constantFrom('', 'spec'), (steps, start) => {
      let ref: any = refTo({}, start)
      let path: string = start
      for (const each of steps) {
        ref = ref[each]
        path = typeof each === 'number' ? `${path}[${each}]` : path === '' ? each : `${path}.${each}`
      }
      assert.equal(pathOf(ref), path)
    }),
  )
})

test('a ref knows what is there, by entries of maps and with another value too', () => {
  const at = refTo({ labels: { a: 'b' } as Record<string, string>, list: [{ n: 1 }] }, 'x')
  assert.equal(targetValue(at.list[0]!.n), 1)
  assert.equal(targetValue(entry(at.labels, 'a')), 'b')
  assert.equal(targetValue(entry(at.labels, 'toString')), undefined)
  assert.equal(pathOf(entry(at.labels, 'a.b/c')), 'x.labels[a.b/c]')
  const other = withValue(at.list, 7)
  assert.deepEqual([pathOf(other), targetValue(other)], ['x.list', 7])
})

test('objects are shown with the fields in the order of the type, and maps by key, whatever the client sent', () => {
  const Expression = message('Expression', { key: [1, string], operator: [2, string] })
  const type = message('T', {
    selectors: [1, mapOf(message('S', { matchLabels: [1, mapOf(string)], matchExpressions: [2, atomic(Expression)] }))],
  })
  const sent = { matchExpressions: [{ operator: 'In', key: 'k' }], matchLabels: { b: '1', a: '2' } }
  const at = refTo<{ selectors: Record<string, typeof sent> }>({ selectors: { x: sent } }, '', type)
  const shown = '{"matchLabels":{"a":"2","b":"1"},"matchExpressions":[{"key":"k","operator":"In"}]}'
  assert.equal(invalid(entry(at.selectors, 'x'), 'no').message, `Invalid value: ${shown}: no`)
  assert.equal(invalid(at.selectors, 'no').message, `Invalid value: {"x":${shown}}: no`)
  assert.equal(invalid(withValue(at, { b: 1, a: 2 }), 'no').message, 'Invalid value: {"b":1,"a":2}: no')
})

test('absent numbers and booleans are shown as zero where their type says so, through lists as well', () => {
  const type = message('T', { list: [1, atomic(message('I', { n: [1, int32], b: [2, bool], o: [3, int32.optional()] }))] })
  const at = refTo<{ list: { n?: number; b?: boolean; o?: number }[] }>({ list: [{}] }, '', type).list[0]!
  assert.equal(invalid(at.n, 'no').message, 'Invalid value: 0: no')
  assert.equal(invalid(at.b, 'no').message, 'Invalid value: false: no')
  assert.equal(invalid(at.o, 'no').message, 'Invalid value: "": no')
  assert.equal(invalid(withValue(at.n, undefined), 'no').message, 'Invalid value: "": no')
})

test('errors are gathered in order up to a bound, and rules past it are not run', () => {
  const list = Array.from({ length: 100_000 }, () => '')
  let ran = 0
  function* rules(at: Ref<string[]>) {
    for (const [i] of list.entries()) {
      ran++
      yield required(at[i]!)
    }
  }
  const errors = finish(
    gatherErrors(
      () => [invalid(refTo('x', 'first'), 'no')],
      () => undefined,
      () => rules(refTo(list, 'l')),
      () => assert.fail('no more errors may be added'),
    ),
  )
  assert.deepEqual(errors.slice(0, 3).map(pathOfError), ['first', 'l[0]', 'l[1]'])
  assert.ok(errors.length < 10_000)
  assert.equal(ran, errors.length - 1)
  const long = finish(gatherErrors(() => Array.from({ length: 100 }, () => invalid(refTo('x'.repeat(1 << 16), 'l'), 'no'))))
  assert.ok(long.length < 20)
  assert.match(long[0]!.message, /x… \(truncated, 65536 characters in all\): no$/)
})

const pathOfError = ({ field }: FieldError) => field

test('what types declare is checked for every item of a list', () => {
  const type = message('T', { list: [1, atomic(message('I', { name: [1, string.required()] }))] })
  const value = { list: [{ name: 'a' }, { name: '' }, {}] }
  assert.deepEqual([...check(type, value, refTo(value))].map(pathOfError), ['list[1].name', 'list[2].name'])
})

test('the first hundred unknown fields are reported, as in Kubernetes', () => {
  const type = message('T', { list: [1, atomic(message('I', { name: [1, string] }))] })
  const { problems, value } = conform(type, { list: Array.from({ length: 500 }, () => ({ nope: 1, name: 'a' })) })
  assert.equal(problems.length, 100)
  assert.equal(problems[99], 'unknown field "list[99].nope"')
  assert.equal(value.list.length, 500)
})
