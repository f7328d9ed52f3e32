import assert from 'node:assert/strict'
import { test } from 'node:test'
import { objectCounts } from '../../admission/plugins/resource-quota/object-counts.ts'
import { pods } from '../../admission/plugins/resource-quota/pods.ts'
import { amountsOf, listOf } from '../../admission/plugins/resource-quota/resource-list.ts'
import type { AnyObject } from '../../schema/object-meta.ts'
import { changesUsage, usedBy, usedByNumber, withMeasured } from './reconcile.ts'

const POD = pods({ now: () => new Date(0), hasPodLevel: true })
const SECRET = objectCounts({ group: '', plural: 'secrets' })
const quota = (hard: object, more: object = {}, status?: object): AnyObject =>
  ({ metadata: { name: 'q' }, spec: { hard, ...more }, ...(status && { status }) }) as never
const pod = (cpu: string | undefined, more: object = {}): AnyObject =>
  ({
    metadata: { name: 'p' },
    spec: { containers: [{ name: 'c', resources: { requests: cpu === undefined ? {} : { cpu } } }] },
    ...more,
  }) as never

test('what objects use of a quota is added up, zero where they use nothing', () => {
  const limited = quota({ pods: '5', 'requests.cpu': '5', 'limits.cpu': '5', secrets: '5' })
  assert.deepEqual(amountsOf(usedBy(limited, POD, [pod('500m'), pod('700m'), pod(undefined)])), {
    pods: '3',
    'requests.cpu': '1200m',
    'limits.cpu': '0',
  })
  assert.deepEqual(amountsOf(usedBy(limited, POD, [])), { pods: '0', 'requests.cpu': '0', 'limits.cpu': '0' })
})

test('only what is in the scopes of a quota counts', () => {
  assert.equal(amountsOf(usedBy(quota({ pods: '5' }, { scopes: ['BestEffort'] }), POD, [pod('1'), pod(undefined)]))['pods'], '1')
})

test('objects that are all alike are not looked at, unless the quota has scopes', () => {
  assert.deepEqual(amountsOf(usedByNumber(quota({ secrets: '5', pods: '1' }), SECRET, 7)!), { secrets: '7' })
  assert.equal(usedByNumber(quota({ secrets: '5' }, { scopes: ['BestEffort'] }), SECRET, 7), undefined)
  assert.equal(usedByNumber(quota({ pods: '5' }), POD, 7), undefined)
})

test('a change matters when it changes what is used, or by whom', () => {
  const [all, bestEffort] = [quota({ pods: '5' }), quota({ pods: '5' }, { scopes: ['BestEffort'] })]
  const [plain, greedy, ended] = [pod(undefined), pod('1'), pod(undefined, { status: { phase: 'Failed' } })]
  assert.equal(changesUsage(all, POD, { from: plain, to: plain }), false)
  assert.equal(changesUsage(all, POD, { from: plain, to: ended }), true)
  assert.equal(changesUsage(all, POD, { from: plain, to: greedy }), true)
  assert.equal(changesUsage(bestEffort, POD, { from: plain, to: greedy }), true)
  assert.equal(changesUsage(bestEffort, POD, { to: greedy }), false)
  assert.equal(changesUsage(bestEffort, POD, { to: plain }), true)
  assert.equal(changesUsage(quota({ secrets: '1' }), SECRET, { from: plain, to: greedy }), false)
})

test('a status that is right is not written again; what cannot be counted stays', () => {
  const hard = { pods: '5', 'count/gone.example.com': '5' }
  const old = { pods: '1', 'count/gone.example.com': '3', secrets: '9' }
  assert.deepEqual(withMeasured(quota(hard), listOf({ pods: '0' }))?.['status'], { hard, used: { pods: '0' } })
  assert.deepEqual(withMeasured(quota(hard, {}, { hard, used: old }), listOf({ pods: '2' }))?.['status'], {
    hard,
    used: { pods: '2', 'count/gone.example.com': '3' },
  })
  assert.equal(withMeasured(quota({ cpu: '1' }, {}, { hard: { cpu: '1' }, used: { cpu: '1' } }), listOf({ cpu: '1000m' })), undefined)
  assert.ok(withMeasured(quota({ cpu: '2' }, {}, { hard: { cpu: '1' }, used: { cpu: '1' } }), listOf({ cpu: '1' })))
})
