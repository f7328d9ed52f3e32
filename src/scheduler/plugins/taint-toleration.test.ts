import assert from 'node:assert/strict'
import test from 'node:test'
import { clusterOf, cycleOf, filterResults, nodeOf, podOf, scoreResults } from '../../../test/kits/scheduler.ts'
import { tolerationsInEffect } from '../../kinds/rules/pod/scheduling/tolerance.ts'
import { nodeUnschedulableWith } from './node-unschedulable.ts'
import { taintTolerationWith } from './taint-toleration.ts'

const [taintToleration, nodeUnschedulable] = [
  taintTolerationWith(tolerationsInEffect(() => true)),
  nodeUnschedulableWith(tolerationsInEffect(() => true)),
]

const REJECTED = 'unresolvable: node(s) had untolerated taint(s)'
const withTolerations = (...tolerations: object[]) => podOf({ spec: { tolerations } })

test('a taint that keeps pods away does so unless a toleration accepts it', () => {
  const cases: [taints: string[], tolerations: object[], expected: string][] = [
    [[], [], 'ok'],
    [['dedicated=user1:NoSchedule'], [], REJECTED],
    [['dedicated=user1:NoSchedule'], [{ key: 'dedicated', value: 'user1', effect: 'NoSchedule' }], 'ok'],
    [['dedicated=user1:NoSchedule'], [{ key: 'dedicated', operator: 'Equal', value: 'user2', effect: 'NoSchedule' }], REJECTED],
    [['foo=bar:NoSchedule'], [{ key: 'foo', operator: 'Exists', effect: 'NoSchedule' }], 'ok'],
    [['foo=bar:NoSchedule'], [{ key: 'foo', value: 'bar', effect: 'PreferNoSchedule' }], REJECTED],
    [['foo=bar:NoSchedule'], [{ key: 'foo', value: 'bar' }], 'ok'],
    [['foo=bar:NoExecute'], [], REJECTED],
    [['foo=bar:PreferNoSchedule'], [], 'ok'],
    [['a:NoSchedule', 'b:NoSchedule'], [{ key: 'a', operator: 'Exists' }], REJECTED],
    [['a:NoSchedule', 'b:NoExecute'], [{ operator: 'Exists' }], 'ok'],
    [['level=5:NoSchedule'], [{ key: 'level', operator: 'Gt', value: '3', effect: 'NoSchedule' }], 'ok'],
    [['level=5:NoSchedule'], [{ key: 'level', operator: 'Lt', value: '3', effect: 'NoSchedule' }], REJECTED],
    [['level=05:NoSchedule'], [{ key: 'level', operator: 'Gt', value: '3', effect: 'NoSchedule' }], REJECTED],
  ]
  for (const [taints, tolerations, expected] of cases) {
    const cluster = clusterOf([nodeOf('n', { taints })])
    assert.deepEqual(filterResults(taintToleration, cycleOf(withTolerations(...tolerations), cluster)), { n: expected }, taints.join())
  }
})

test('tolerations that compare numbers have no effect without their gate', () => {
  const inEffect = tolerationsInEffect(name => name !== 'TaintTolerationComparisonOperators')
  const pod = withTolerations({ key: 'level', operator: 'Gt', value: '3' }, { key: 'other', operator: 'Exists' })
  const cluster = clusterOf([nodeOf('level', { taints: ['level=5:NoSchedule'] }), nodeOf('other', { taints: ['other:NoSchedule'] })])
  assert.deepEqual(filterResults(taintToleration, cycleOf(pod, cluster)), { level: 'ok', other: 'ok' })
  assert.deepEqual(filterResults(taintTolerationWith(inEffect), cycleOf(pod, cluster)), { level: REJECTED, other: 'ok' })
})

test('nodes with fewer taints that say "better not" are better', () => {
  const cluster = clusterOf([
    nodeOf('none'),
    nodeOf('tolerated', { taints: ['cpu=arm:PreferNoSchedule'] }),
    nodeOf('one', { taints: ['disk=ssd:PreferNoSchedule', 'x:NoSchedule'] }),
    nodeOf('two', { taints: ['disk=ssd:PreferNoSchedule', 'net=slow:PreferNoSchedule'] }),
  ])
  const pod = withTolerations(
    { key: 'cpu', value: 'arm', effect: 'PreferNoSchedule' },
    { key: 'disk', operator: 'Exists', effect: 'NoSchedule' },
  )
  assert.deepEqual(scoreResults(taintToleration, cycleOf(pod, cluster)), { none: 100, tolerated: 100, one: 50, two: 0 })
})

test('a node that is closed takes only pods that tolerate it', () => {
  const cluster = clusterOf([nodeOf('open'), nodeOf('closed', { unschedulable: true })])
  assert.deepEqual(filterResults(nodeUnschedulable, cycleOf(podOf(), cluster)), {
    open: 'ok',
    closed: 'unresolvable: node(s) were unschedulable',
  })
  const tolerant = withTolerations({ key: 'node.kubernetes.io/unschedulable', operator: 'Exists', effect: 'NoSchedule' })
  assert.deepEqual(filterResults(nodeUnschedulable, cycleOf(tolerant, cluster)), { open: 'ok', closed: 'ok' })
})

test('a pod waits for a taint that it does not tolerate to go', () => {
  const event = (before: string[], after: string[]) =>
    ({ about: 'node', name: 'node taints', before: nodeOf('n', { taints: before }), after: nodeOf('n', { taints: after }) }) as const
  const retries = (before: string[], after: string[]) =>
    taintToleration.queueingHints!['node taints']!(podOf(), event(before, after), {} as never)
  assert.equal(retries(['a:NoSchedule'], []), true)
  assert.equal(retries(['a:NoSchedule'], ['b:NoSchedule']), false)
  assert.equal(retries([], ['a:PreferNoSchedule']), false)
})
