import assert from 'node:assert/strict'
import { test } from 'node:test'
import { didYouMean, nearestName } from './nearest-name.ts'

const VERBS = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete', 'deletecollection']

test('a typing error away is near enough, another word is not', () => {
  const cases: readonly [string, string | undefined][] = [
    ['updte', 'update'],
    ['upadte', 'update'],
    ['UPDATE', 'update'],
    ['delete-collection', 'deletecollection'],
    ['wach', 'watch'],
    ['gte', 'get'],
    ['approve', undefined],
    ['', undefined],
    ['x'.repeat(1_000_000), undefined],
  ]
  for (const [given, near] of cases) assert.equal(nearestName(given, VERBS), near, given.slice(0, 20))
  assert.equal(didYouMean('pach', VERBS), '; did you mean patch?')
  assert.equal(didYouMean('approve', VERBS, '; the verbs are …'), '; the verbs are …')
})
