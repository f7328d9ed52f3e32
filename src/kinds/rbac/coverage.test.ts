import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { describeRules, pathCovers, uncovered } from './coverage.ts'
import type { PolicyRule } from './policy-rule.ts'

const rule = (verbs: string, resources: string, more: Partial<PolicyRule> = {}): PolicyRule => ({
  verbs: verbs.split(' '),
  apiGroups: [''],
  resources: resources.split(' '),
  ...more,
})
const paths = (verbs: string, nonResourceURLs: string): PolicyRule => ({
  verbs: verbs.split(' '),
  nonResourceURLs: nonResourceURLs.split(' '),
})
const isCovered = (wanted: PolicyRule, ...held: PolicyRule[]) => uncovered(held, [wanted]).length === 0

test('rules cover what they permit, alone or together', () => {
  assert.ok(isCovered(rule('get list', 'pods'), rule('get', 'pods'), rule('list', 'pods secrets')))
  assert.ok(isCovered(rule('get', 'pods/log', { apiGroups: ['apps'] }), rule('*', '*', { apiGroups: ['*'] })))
  assert.ok(isCovered(rule('update', 'deployments/scale'), rule('update', '*/scale')))
  assert.ok(!isCovered(rule('update', 'deployments'), rule('update', '*/scale')))
  assert.ok(!isCovered(rule('get', '*'), rule('get', 'pods')))
  assert.ok(!isCovered(rule('*', 'pods'), rule('get list', 'pods')))
  assert.ok(isCovered(rule('get', 'pods', { resourceNames: ['a'] }), rule('get', 'pods')))
  assert.ok(isCovered(rule('get', 'pods', { resourceNames: ['a'] }), rule('get', 'pods', { resourceNames: ['a', 'b'] })))
  assert.ok(!isCovered(rule('get', 'pods'), rule('get', 'pods', { resourceNames: ['a'] })))
  assert.ok(isCovered(paths('get', '/api/v1 /api/*'), paths('get', '/api/*')))
  assert.ok(isCovered(paths('get post', '/x'), paths('*', '*')))
  assert.ok(!isCovered(paths('get', '*'), paths('get', '/*')))
  assert.ok(!isCovered(paths('get', '/x'), rule('*', '*', { apiGroups: ['*'] })))
})

test('a star at the end of a path matches any suffix, and several mean the same', () => {
  assert.ok(pathCovers('/api/*', '/api/'))
  assert.ok(pathCovers('/api**', '/apis'))
  assert.ok(pathCovers('*', ''))
  assert.ok(!pathCovers('/api/*', '/api'))
  assert.ok(!pathCovers('/a*i', '/api'))
})

test('missing rules are listed by resource, verbs together, in order', () => {
  const missing = uncovered(
    [rule('get', 'pods')],
    [rule('get list', 'pods secrets'), paths('get', '/x'), rule('delete', 'pods', { resourceNames: ['a'] })],
  )
  assert.equal(
    describeRules(missing),
    [
      '{APIGroups:[""], Resources:["pods"], ResourceNames:["a"], Verbs:["delete"]}',
      '{APIGroups:[""], Resources:["pods"], Verbs:["list"]}',
      '{APIGroups:[""], Resources:["secrets"], Verbs:["get" "list"]}',
      '{NonResourceURLs:["/x"], Verbs:["get"]}',
    ].join('\n'),
  )
})

test('rules cover themselves, and the uncovered rest of a rule is told', () => {
  const some = (...values: string[]) => fc.array(fc.constantFrom(...values), { minLength: 1, maxLength: 3 })
  const anyRule = fc.record({
    verbs: some('get', 'list', '*'),
    apiGroups: some('', 'apps', '*'),
    resources: some('pods', 'pods/log', '*/log', '*'),
    resourceNames: fc.oneof(fc.constant<string[]>([]), some('a', 'b')),
  })
  fc.assert(
    fc.property(fc.array(anyRule, { maxLength: 4 }), fc.array(anyRule, { maxLength: 4 }), (held, wanted) => {
      assert.deepEqual(uncovered(held, held), [])
      const missing = uncovered(held, wanted)
      assert.equal(uncovered(held, missing).length, missing.length)
      assert.deepEqual(uncovered([...held, ...missing], wanted), [])
    }),
  )
})

test('rules of very many combinations cost no more than a look at their lists', () => {
  const many = (word: string, n: number) => Array.from({ length: n }, (_, i) => `${word}${i}`)
  const repeated: PolicyRule = {
    verbs: Array(50_000).fill('get'),
    apiGroups: Array(50_000).fill(''),
    resources: Array(50_000).fill('pods'),
  }
  assert.deepEqual(uncovered([rule('get', 'pods')], [repeated]), [])
  const wide: PolicyRule = { verbs: many('v', 5000), apiGroups: many('g', 5000), resources: many('r', 5000) }
  assert.deepEqual(uncovered([rule('*', '*', { apiGroups: ['*'] })], [wide]), [])
  assert.equal(uncovered([rule('get', 'pods')], [wide]).length, 2_000)
  // Everything is covered, by many rules together, but comparing all of them would exceed the budget.
  const held = many('r', 300).map(resource => rule('*', resource, { apiGroups: ['*'] }))
  assert.notEqual(uncovered(held, [{ ...wide, resources: many('r', 300) }]).length, 0)
  assert.notEqual(uncovered(held, Array(50_000).fill(rule('get', 'r7', { apiGroups: many('g', 40) }))).length, 0)
})
