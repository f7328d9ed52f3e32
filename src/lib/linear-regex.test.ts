import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { countingSteps, engine, linearRegex } from './linear-regex.ts'

test('an expression matches anywhere in the text', () => {
  assert.equal(linearRegex('b+').test('abba'), true)
  assert.equal(linearRegex('^b+').test('abba'), false)
})

test('invalid expressions have the error message of Go', () => {
  assert.throws(() => linearRegex('('), { message: 'error parsing regexp: missing closing ): `(`' })
  assert.throws(() => linearRegex('a**'), { message: 'error parsing regexp: invalid nested repetition operator: `**`' })
})

test('a pattern that is exponential with backtracking takes linear time', () => {
  assert.equal(linearRegex('^(a+)+$').test(`${'a'.repeat(20_000)}b`), false)
})

test('the cost of a match grows with the text and the size of the expression', () => {
  const [small, large] = [linearRegex('a.b'), linearRegex('a.{500}b')]
  assert.ok(large.stepsFor('xxxx') > 50 * small.stepsFor('xxxx'))
  assert.equal(large.stepsFor('x'.repeat(100)), 100 * large.stepsFor('x'))
})

test('steps that depend on the text are told, and can end the match', () => {
  const pattern = linearRegex('[ab]*a[ab]{200}[de]')
  // The pattern depends on each of the last 200 characters.
  let state = 1
  const text = Array.from({ length: 2_000 }, () => ((state = (state * 75 + 74) % 65_537) % 2 === 0 ? 'a' : 'b')).join('')
  let steps = 0
  assert.equal(
    pattern.test(text, more => (steps += more)),
    false,
  )
  assert.ok(steps > 50 * text.length, `${steps} steps`)
  let again = 0
  pattern.test(text, more => (again += more))
  assert.equal(again, 0)
  const stop = () => {
    throw new Error('enough')
  }
  assert.throws(() => linearRegex('[ab]*a[ab]{200}[de]').test(text, stop), /enough/)
  assert.equal(linearRegex('^[a-z]+$').test('abc', stop), true)
})

test('an expression matches the same whether or not its steps are counted', () => {
  const atoms = ['a', 'b', '[ab]', '.', '\\b', '^', '$', '(?i)A', '', 'ab']
  const patterns = fc.letrec<{ pattern: string }>(tie => ({
    pattern: fc.oneof(
      { depthSize: 'small' },
      fc.constantFrom(...atoms),
      fc.tuple(tie('pattern'), tie('pattern')).map(([a, b]) => a + b),
      fc.tuple(tie('pattern'), tie('pattern')).map(([a, b]) => `(${a}|${b})`),
      fc.tuple(tie('pattern'), fc.constantFrom('*', '+?', '?', '{0,3}', '{2}')).map(([a, times]) => `(?:${a})${times}`),
    ),
  })).pattern
  const texts = fc.string({ unit: fc.constantFrom('a', 'b', 'B', ' ', '\n', 'é'), maxLength: 12 })
  fc.assert(
    fc.property(patterns, fc.array(texts, { minLength: 1, maxLength: 6 }), (source, samples) => {
      const [counted, plain] = [linearRegex(source), engine().compile(source)]
      for (const text of samples)
        assert.equal(
          counted.test(text, () => undefined),
          plain.test(text),
          text,
        )
    }),
    { numRuns: 2_000 },
  )
})

test('a text for which no table is of use counts for the whole of the expression', () => {
  const pattern = linearRegex('[ab]*a[ab]{900}[de]')
  let state = 1
  const text = Array.from({ length: 6_000 }, () => ((state = (state * 75 + 74) % 65_537) % 2 === 0 ? 'a' : 'b')).join('')
  let largest = 0
  pattern.test(text, more => (largest = Math.max(largest, more)))
  assert.equal(largest, pattern.stepsFor(text))
})

test('searches that go on to the end of the text again and again count all of that', () => {
  const pattern = engine().compile('c.*z|c')
  const stepsOf = (length: number) => {
    const text = 'c'.repeat(length)
    let steps = 0
    const search = () => {
      const matcher = pattern.matcher(text)
      let matches = 0
      while (matcher.find()) matches++
      return matches
    }
    assert.equal(countingSteps(pattern, text, { onSteps: more => (steps += more), search }), length)
    return steps
  }
  assert.ok(stepsOf(400) > 3 * stepsOf(200))
  assert.ok(stepsOf(400) > 400 * 200)
  const enough = () => {
    throw new Error('enough')
  }
  assert.throws(() => countingSteps(pattern, 'ccc', { onSteps: enough, search: () => pattern.matcher('ccc').find() }), /enough/)
  assert.equal(pattern.matcher('ccc').find(), true)
})
