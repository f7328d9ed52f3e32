import assert from 'node:assert/strict'
import { test } from 'node:test'
import { refTo } from '../../schema/refs.ts'
import {
  type Condition,
  formatLabelSelector,
  hasInvalidValues,
  isEmptySelector,
  type LabelSelector,
  matchesLabels,
  selectorText,
  validateConditions,
  validateLabelSelector,
} from './meta.ts'

const show = (errors: Iterable<{ field: string; message: string }>) => [...errors].map(e => `${e.field}: ${e.message}`)
const checkSelector = (s: LabelSelector, options = {}) => show(validateLabelSelector(s, refTo(s, 'spec.selector'), options))
const checkConditions = (...c: Condition[]) => show(validateConditions(c, refTo(c, 'status.conditions')))
const ready = { type: 'Ready', status: 'True', lastTransitionTime: '2026-01-01T00:00:00Z', reason: 'AllGood', message: '' }

test('operators of a selector need values or must have none', () => {
  assert.deepEqual(
    checkSelector({
      matchExpressions: [
        { key: 'a', operator: 'In' },
        { key: 'a', operator: 'Exists', values: ['x'] },
        { key: 'a', operator: 'Near' },
        { key: 'a', operator: 'NotIn', values: ['x'] },
      ],
    }),
    [
      "spec.selector.matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
      "spec.selector.matchExpressions[1].values: Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
      'spec.selector.matchExpressions[2].operator: Invalid value: "Near": not a valid selector operator',
    ],
  )
})

test('keys and values of a selector are those of labels', () => {
  const bad = { matchLabels: { 'a b': 'c' }, matchExpressions: [{ key: 'k', operator: 'In', values: ['x', 'y z'] }] }
  const [key, value] = checkSelector(bad)
  assert.match(key!, /^spec\.selector\.matchLabels: Invalid value: "a b": name part/)
  assert.match(value!, /^spec\.selector\.matchExpressions\[0\]\.values\[1\]: Invalid value: "y z": a valid label/)
  assert.equal(hasInvalidValues(bad), true)
  assert.equal(checkSelector(bad, { allowInvalidValues: true }).length, 1)
})

test('an absent selector selects nothing, an empty one everything', () => {
  assert.equal(matchesLabels(undefined, { a: 'b' }), false)
  assert.equal(matchesLabels({}, { a: 'b' }), true)
  assert.equal(isEmptySelector({}), true)
  assert.equal(isEmptySelector({ matchLabels: { a: 'b' } }), false)
})

test('selectors match and print in sorted order', () => {
  const selector = { matchLabels: { b: '1' }, matchExpressions: [{ key: 'a', operator: 'In', values: ['y', 'x'] }] }
  assert.equal(selectorText(selector), 'a in (x,y),b=1')
  assert.equal(formatLabelSelector({}), '<none>')
  assert.equal(formatLabelSelector({ matchExpressions: [{ key: 'a', operator: 'Near' }] }), '<error>')
  assert.equal(matchesLabels(selector, { a: 'x', b: '1' }), true)
  assert.equal(matchesLabels(selector, { a: 'z', b: '1' }), false)
})

test('conditions are complete, of supported status and of unique type', () => {
  assert.deepEqual(checkConditions(ready), [])
  assert.deepEqual(checkConditions({ type: '', status: '', lastTransitionTime: '', reason: '', message: '' }), [
    'status.conditions[0].type: Required value: is required',
    'status.conditions[0].status: Required value',
    'status.conditions[0].lastTransitionTime: Required value',
    'status.conditions[0].reason: Required value',
  ])
  assert.deepEqual(checkConditions(ready, { ...ready, status: 'Maybe', observedGeneration: -1 }), [
    'status.conditions[1]: Duplicate value: "Ready"',
    'status.conditions[1].status: Unsupported value: "Maybe": supported values: "False", "True", "Unknown"',
    'status.conditions[1].observedGeneration: Invalid value: -1: must be greater than or equal to zero',
  ])
  assert.match(checkConditions({ ...ready, reason: '1st' })[0]!, /reason: Invalid value: "1st": a condition reason must start/)
  assert.deepEqual(checkConditions({ ...ready, reason: 'R'.repeat(1025), message: 'm'.repeat(32769) }), [
    'status.conditions[0].reason: Too long: may not be more than 1024 bytes',
    'status.conditions[0].message: Too long: may not be more than 32768 bytes',
  ])
})
