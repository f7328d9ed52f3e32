import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PatternChecks, patternFault } from './pattern-fault.ts'

test('a pattern that is no regular expression is reported, and each pattern is compiled once', () => {
  const checks = new PatternChecks()
  const [good, same, bad] = [{ pattern: '^a+$' }, { pattern: '^a+$' }, { pattern: '(' }]
  assert.deepEqual(
    [good, same, bad].map(schema => checks.add(schema)),
    [true, false, true],
  )
  assert.equal(patternFault(good), undefined)
  assert.equal(patternFault(same), undefined)
  assert.match(patternFault(bad) ?? '', /missing closing \)/)
  assert.equal(checks.add({}), false)
})

test('patterns with very large programs are rejected as a whole, repeated ones are not', () => {
  const checks = new PatternChecks()
  for (let i = 0; i < 1000; i++) checks.add({ pattern: '^[a-z]{1,900}$' })
  assert.throws(
    () => {
      for (let i = 0; i < 1000; i++) checks.add({ pattern: `^[a-z]{${i},900}$` })
    },
    { code: 413 },
  )
})
