import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Condition, conditionsAfter, finalizersOf, graceOf, type Remaining, secondsToWait, unexpected } from './reconcile.ts'

const NOW = '2026-07-01T12:00:00Z'
const LATER = '2026-07-01T12:01:00Z'
const remains = (plural: string, count: number, finalizers: Record<string, number> = {}, group = ''): Remaining => ({
  plural,
  group,
  version: 'v1',
  count,
  finalizers: new Map(Object.entries(finalizers)),
})
const said = (conditions: readonly Condition[] | undefined) => conditions?.map(({ status, reason }) => `${status} ${reason}`)
const NONE = { remaining: [], failures: [] }

test('a namespace whose content was deleted has five conditions that say so, and is not written again', () => {
  const first = conditionsAfter([], NONE, NOW)!
  assert.deepEqual(said(first), [
    'False ResourcesDiscovered',
    'False ParsedGroupVersions',
    'False ContentDeleted',
    'False ContentRemoved',
    'False ContentHasNoFinalizers',
  ])
  assert.equal(conditionsAfter(first, NONE, LATER), undefined)
})

test('what remains is listed by kind and by finalizer, in order', () => {
  const findings = { remaining: [remains('secrets', 2, { 'b/b': 1, 'a/a': 2 }), remains('jobs', 1, { 'a/a': 1 }, 'batch')], failures: [] }
  const [, , , content, finalizers] = conditionsAfter([], findings, NOW)!
  assert.equal(content!.message, 'Some resources are remaining: jobs.batch has 1 resource instances, secrets. has 2 resource instances')
  assert.equal(
    finalizers!.message,
    'Some content in the namespace has finalizers remaining: a/a in 3 resource instances, b/b in 1 resource instances',
  )
})

test('while pods remain, what remains is not in the conditions', () => {
  const findings = { remaining: [remains('pods', 1, { 'a/a': 1 })], failures: [], isPodsOnly: true } as const
  assert.deepEqual(said(conditionsAfter([], findings, NOW))?.slice(3), ['False ContentRemoved', 'False ContentHasNoFinalizers'])
})

test('times of conditions move with their status alone, and conditions of others stay', () => {
  const other = { type: 'Mine', status: 'True', lastTransitionTime: NOW }
  const first = conditionsAfter([other], { remaining: [remains('secrets', 2)], failures: ['x'] }, NOW)!
  assert.deepEqual(first[0], other)
  assert.equal(first[3]!.message, 'Failed to delete all resource types, 1 remaining: x')
  const second = conditionsAfter(first, { remaining: [remains('secrets', 1)], failures: [] }, LATER)!
  const [, , , failure, content] = second
  assert.deepEqual([failure!.status, failure!.lastTransitionTime], ['False', LATER])
  assert.deepEqual([content!.status, content!.lastTransitionTime], ['True', NOW])
  assert.match(content!.message!, /has 1 resource/)
})

test('what remains without a reason is a failure', () => {
  assert.equal(unexpected(remains('secrets', 1), 'x', 0), 'unexpected items still remain in namespace: x for gvr: /v1, Resource=secrets')
  assert.equal(unexpected(remains('secrets', 1, { 'a/a': 1 }), 'x', 0), undefined)
  assert.equal(unexpected(remains('pods', 1), 'x', 30), undefined)
})

test('pods are given their grace, as long as it lasts', () => {
  const pod = (seconds: number, phase = 'Running') => ({ spec: { terminationGracePeriodSeconds: seconds }, status: { phase } }) as never
  assert.equal(graceOf([pod(30), pod(60), pod(90, 'Failed')], 5), 60)
  assert.equal(graceOf([pod(30)], 30), 0)
  assert.equal(graceOf([], 0), 0)
  assert.deepEqual([secondsToWait([remains('pods', 1)], 30), secondsToWait([remains('pods', 1, { a: 1 })], 0)], [16, 8])
  assert.deepEqual(
    [...finalizersOf([{ metadata: { finalizers: ['a', 'b'] } }, { metadata: { finalizers: ['a'] } }] as never)],
    [
      ['a', 2],
      ['b', 1],
    ],
  )
})
