import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { evaluate, problemOf } from '../../../test/kits/cel/kubernetes.ts'

const holds = (...expressions: string[]) => {
  for (const expression of expressions) assert.equal(evaluate(expression), true, expression)
}

test('isSorted tells whether a list is sorted', () => {
  holds('[1, 2, 3].isSorted()', "['a', 'b', 'b', 'c'].isSorted()", '![2.0, 1.0].isSorted()', '[1].isSorted()', 'dyn([]).isSorted()')
  holds('[false, true].isSorted()', "![duration('2s'), duration('1s')].isSorted()", "[b'a', b'b'].isSorted()")
})

test('sum adds up a list', () => {
  holds('[1, 3].sum() == 4', '[1.0, 3.0].sum() == 4.0', "[duration('1m'), duration('1s')].sum() == duration('61s')", '[1u, 3u].sum() == 4u')
  assert.equal(problemOf('[9223372036854775807, 1].sum()'), 'integer overflow')
})

test('min and max of a list', () => {
  holds('[1, 3].min() == 1', '[1, 3].max() == 3', '[1].min() == 1', "['a', 'b'].max() == 'b'")
  assert.equal(problemOf('[1].filter(x, x > 1).min()'), 'min called on empty list')
  assert.equal(problemOf('[1].filter(x, x > 1).max()'), 'max called on empty list')
})

test('elements are found by value', () => {
  holds(
    '[1, 2, 2, 3].indexOf(2) == 1',
    "['a', 'b', 'b', 'c'].lastIndexOf('b') == 2",
    '[1.0].indexOf(1.1) == -1',
    "dyn([]).indexOf('x') == -1",
  )
  holds(
    '[1, 2, 3].includes(2)',
    '![1, 2, 3].includes(4)',
    "'model-a'.includes('model-a')",
    "!'model-a'.includes('model-b')",
    '[1, 2].includes(2.0)',
  )
})

test('slice, flatten, reverse and distinct', () => {
  holds(
    '[1, 2, 3, 4].slice(1, 3) == [2, 3]',
    '[1].slice(1, 1) == []',
    '[[1, 2], [3]].flatten() == [1, 2, 3]',
    '[dyn(1), dyn([dyn(2), dyn([dyn(3), dyn([4])])])].flatten(2) == [dyn(1), dyn(2), dyn(3), dyn([4])]',
    '[5, 3, 1, 2].reverse() == [2, 1, 3, 5]',
    '[1, 2, 2, 3, 3, 3].distinct() == [1, 2, 3]',
    "['b', 'b', 'c', 'a'].distinct() == ['b', 'c', 'a']",
    'lists.range(5) == [0, 1, 2, 3, 4]',
    'lists.range(0) == []',
  )
  assert.equal(problemOf('[1].slice(-1, 0)'), 'cannot slice(-1, 0), negative indexes not supported')
  assert.equal(problemOf('[1].slice(1, 0)'), 'cannot slice(1, 0), start index must be less than or equal to end index')
  assert.equal(problemOf('[1].slice(0, 2)'), 'cannot slice(0, 2), list is length 1')
  assert.equal(problemOf('dyn([1]).flatten(-1)'), 'level must be non-negative')
  assert.equal(problemOf('lists.range(-1)'), 'lists.range: size must be non-negative, got -1')
  assert.equal(problemOf('lists.range(1000001)'), 'lists.range: size 1000001 exceeds maximum allowed (1000000)')
})

test('lists are sorted, by themselves or by a key', () => {
  holds(
    '[3, 2, 1].sort() == [1, 2, 3]',
    "['b', 'c', 'a'].sort() == ['a', 'b', 'c']",
    '[-3, 1, -5, -2, 4].sortBy(e, e) == [-5, -3, -2, 1, 4]',
    "[{'n': 'b'}, {'n': 'a'}].sortBy(e, e.n) == [{'n': 'a'}, {'n': 'b'}]",
    "['ccc', 'a', 'bb'].map(x, x + x).sortBy(e, size(e)) == ['aa', 'bbbb', 'cccccc']",
  )
  assert.equal(problemOf("dyn([dyn(1), dyn('a')]).sort()"), 'list elements must have the same type')
  assert.match(problemOf('[1].sortBy(1, 2)'), /argument is not an identifier/)
  assert.match(problemOf("'a'.sortBy(e, e)"), /sortBy can only be applied to a list, identifier, comprehension, call or select expression/)
})

test('lists are compared as sets', () => {
  holds(
    'sets.contains([], [])',
    '!sets.contains([], [1])',
    'sets.contains([1, 2, 3, 4], [2, 3])',
    'sets.equivalent([], [])',
    'sets.equivalent([1], [1, 1])',
    'sets.equivalent([1, 2, 3], [3, 2, 1])',
    '!sets.intersects([1], [])',
    'sets.intersects([1], [1, 2])',
    'sets.intersects([[1], [2, 3]], [[1, 2], [2, 3]])',
  )
})

test('a sorted list is sorted, has its least first and the same elements', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: -9, max: 9 }), { minLength: 1 }), numbers => {
      const list = `[${numbers.join(', ')}]`
      assert.equal(evaluate(`${list}.sort().isSorted() && ${list}.sort()[0] == ${list}.min()`), true)
      assert.equal(evaluate(`sets.equivalent(${list}.sort(), ${list}.distinct()) && ${list}.reverse().reverse() == ${list}`), true)
    }),
    { numRuns: 40 },
  )
})
