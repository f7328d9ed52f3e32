import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Annotations } from './annotations.ts'

const text = fc.constantFrom('a', 'b', '__proto__', 'constructor', '<é>', '')

test('a set has the first value of each key, whatever sets were made before', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(text, text), { maxLength: 8 }), pairs => {
      const expected = new Map<string, string>()
      let set = Annotations.NONE
      for (const [key, value] of pairs) {
        set = set.with(key, value)
        if (!expected.has(key)) expected.set(key, value)
      }
      assert.deepEqual(new Map(Object.entries(set.record)), expected)
      const { annotations = {} } = JSON.parse(`{"first":0${set.json}}`)
      assert.deepEqual(new Map(Object.entries(annotations)), expected)
    }),
  )
})

test('requests that are alike share a set, also after many that were not', () => {
  const decided = () => Annotations.NONE.with('decision', 'allow').with('reason', 'RBAC')
  assert.equal(decided(), decided())
  for (let i = 0; i < 5000; i++) Annotations.NONE.with('reason', `reason ${i}`)
  assert.equal(decided(), decided())
  assert.deepEqual(decided().record, { decision: 'allow', reason: 'RBAC' })
  const long = 'x'.repeat(1000)
  assert.notEqual(decided().with('long', long), decided().with('long', long))
})
