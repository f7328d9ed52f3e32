import assert from 'node:assert/strict'
import test from 'node:test'
import {
  clusterOf,
  cycleOf,
  filterResults,
  type NodeDraft,
  nodeOf,
  type PodDraft,
  podOf,
  scoreResults,
} from '../../../test/kits/scheduler.ts'
import { tolerationsInEffect } from '../../kinds/rules/pod/scheduling/tolerance.ts'
import { podInfoOf } from '../pod-info.ts'
import { podTopologySpreadWith } from './pod-topology-spread.ts'

const ALL = tolerationsInEffect(() => true)
const podTopologySpread = podTopologySpreadWith({}, ALL)

const SKEWED = "node(s) didn't match pod topology spread constraints"
const UNLABELLED = `unresolvable: ${SKEWED} (missing required label)`
const FOO = { foo: '' }
const SELECTOR = { matchExpressions: [{ key: 'foo', operator: 'Exists' }] }

const constraint = (topologyKey: string, maxSkew = 1, more: object = {}) => ({
  maxSkew,
  topologyKey,
  whenUnsatisfiable: 'DoNotSchedule',
  labelSelector: SELECTOR,
  ...more,
})
const spreading = (constraints: object[], more: PodDraft = {}) =>
  podOf({ name: 'new', labels: FOO, ...more, spec: { topologySpreadConstraints: constraints, ...more.spec } })

/** Two zones of two nodes: a and b, x and y. */
const nodes = (more: Record<string, NodeDraft> = {}) =>
  [
    ['a', 'zone1'],
    ['b', 'zone1'],
    ['x', 'zone2'],
    ['y', 'zone2'],
  ].map(([name, zone]) => nodeOf(name!, { ...more[name!], labels: { zone: zone!, node: name!, ...more[name!]?.labels } }))
let names = 0
const on = (node: string, more: PodDraft = {}) => podOf({ name: `there-${names++}`, node, labels: FOO, ...more })
const several = (counts: Record<string, number>) =>
  Object.entries(counts).flatMap(([node, count]) => Array.from({ length: count }, () => on(node)))

test('the difference between topology domains stays within the skew', () => {
  const cases: [what: string, constraints: object[], counts: Record<string, number>, expected: string[]][] = [
    ['no pods', [constraint('zone')], {}, ['ok', 'ok', 'ok', 'ok']],
    ['one in a zone', [constraint('zone')], { a: 1 }, [SKEWED, SKEWED, 'ok', 'ok']],
    ['even zones', [constraint('zone')], { a: 1, x: 1 }, ['ok', 'ok', 'ok', 'ok']],
    ['a wider skew', [constraint('zone', 2)], { a: 2, b: 1, x: 1 }, [SKEWED, SKEWED, 'ok', 'ok']],
    ['by node', [constraint('node')], { a: 2, b: 1, y: 3 }, [SKEWED, SKEWED, 'ok', SKEWED]],
    ['by zone and node', [constraint('zone'), constraint('node')], { a: 2, b: 1, x: 1, y: 2 }, [SKEWED, 'ok', 'ok', SKEWED]],
    ['a key that no node has', [constraint('rack')], {}, [UNLABELLED, UNLABELLED, UNLABELLED, UNLABELLED]],
    ['too few domains', [constraint('zone', 1, { minDomains: 3 })], { a: 1, x: 1 }, [SKEWED, SKEWED, SKEWED, SKEWED]],
    ['enough domains', [constraint('zone', 1, { minDomains: 2 })], { a: 1, x: 1 }, ['ok', 'ok', 'ok', 'ok']],
    ['an empty selector counts the pod alone', [constraint('zone', 1, { labelSelector: {} })], { a: 5 }, ['ok', 'ok', 'ok', 'ok']],
    ['no selector counts nothing', [constraint('zone', 1, { labelSelector: undefined })], { a: 5 }, ['ok', 'ok', 'ok', 'ok']],
  ]
  for (const [what, constraints, counts, expected] of cases) {
    const cycle = cycleOf(spreading(constraints), clusterOf(nodes(), several(counts)))
    assert.deepEqual(Object.values(filterResults(podTopologySpread, cycle)), expected, what)
  }
})

test('pods of other namespaces, pods that do not match and pods that are being deleted do not count', () => {
  const there = [
    on('a', { namespace: 'other' }),
    on('a', { labels: { bar: '' } }),
    on('a', { metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } }),
  ]
  const cycle = cycleOf(spreading([constraint('zone')]), clusterOf(nodes(), there))
  assert.deepEqual(Object.values(filterResults(podTopologySpread, cycle)), ['ok', 'ok', 'ok', 'ok'])
})

test('nodes that the pod does not accept count or not, as the policies say', () => {
  const cluster = clusterOf(nodes({ x: { taints: ['t:NoSchedule'] }, y: { taints: ['t:NoSchedule'] } }), several({ a: 1 }))
  const resultsOf = (more: object, spec: object = {}) =>
    Object.values(filterResults(podTopologySpread, cycleOf(spreading([constraint('zone', 1, more)], { spec }), cluster)))
  assert.deepEqual(resultsOf({}).slice(0, 2), [SKEWED, SKEWED])
  assert.deepEqual(resultsOf({ nodeTaintsPolicy: 'Honor' }).slice(0, 2), ['ok', 'ok'])
  const selected = { nodeSelector: { zone: 'zone1' } }
  assert.deepEqual(resultsOf({}, selected).slice(0, 2), ['ok', 'ok'])
  assert.deepEqual(resultsOf({ nodeAffinityPolicy: 'Ignore' }, selected).slice(0, 2), [SKEWED, SKEWED])
})

test('keys of labels restrict the pods to those of the same value', () => {
  const labels = { foo: '', revision: '2' }
  const pod = spreading([constraint('zone', 1, { matchLabelKeys: ['revision', 'absent'] })], { labels })
  const cluster = clusterOf(nodes(), [on('a'), on('a', { labels: { foo: '', revision: '1' } }), on('x', { labels })])
  assert.deepEqual(Object.values(filterResults(podTopologySpread, cycleOf(pod, cluster))), ['ok', 'ok', SKEWED, SKEWED])
})

test('added and removed pods are taken into account, and the original state is not changed', () => {
  const there = several({ a: 1 })
  const cluster = clusterOf(nodes(), there)
  const filter = podTopologySpread.filter!(cycleOf(spreading([constraint('zone')]), cluster))!
  assert.ok(!('reasons' in filter))
  const copy = filter.copy!()
  const a = cluster.node('a')!
  assert.equal(copy.test(a)?.reasons[0], SKEWED)
  copy.adjust!(podInfoOf(there[0]!), a, -1)
  assert.equal(copy.test(a), undefined)
  assert.equal(filter.test(a)?.reasons[0], SKEWED)
})

const soft = (key: string, maxSkew = 1) => constraint(key, maxSkew, { whenUnsatisfiable: 'ScheduleAnyway' })

test('domains with fewer pods are better', () => {
  const four = clusterOf(nodes(), several({ a: 2, b: 1, x: 0, y: 3 }))
  assert.deepEqual(scoreResults(podTopologySpread, cycleOf(spreading([soft('node')]), four)), { a: 20, b: 60, x: 100, y: 0 })
  assert.deepEqual(scoreResults(podTopologySpread, cycleOf(spreading([soft('node', 2)]), four)), { a: 33, b: 66, x: 100, y: 16 })
  assert.equal(scoreResults(podTopologySpread, cycleOf(podOf(), four)), undefined)
  assert.deepEqual(scoreResults(podTopologySpread, cycleOf(spreading([soft('node')]), clusterOf(nodes()))), {
    a: 100,
    b: 100,
    x: 100,
    y: 100,
  })
})

test('nodes without the label get nothing', () => {
  const cluster = clusterOf([...nodes(), nodeOf('bare')], several({ a: 1 }))
  assert.deepEqual(scoreResults(podTopologySpread, cycleOf(spreading([soft('zone')]), cluster)), { a: 0, b: 0, x: 100, y: 100, bare: 0 })
})

test('pods of services and workloads are spread over nodes and zones by default', () => {
  const zoned = ['a', 'b', 'x'].map(name => nodeOf(name, { labels: { 'topology.kubernetes.io/zone': name === 'x' ? 'z2' : 'z1' } }))
  const cluster = clusterOf(zoned, [on('a'), on('a')])
  const pod = podOf({ labels: FOO })
  assert.equal(scoreResults(podTopologySpread, cycleOf(pod, cluster)), undefined)
  const scores = scoreResults(podTopologySpread, cycleOf(pod, cluster, { services: [{ foo: '' }, { other: 'x' }] }))!
  assert.ok(scores['x']! > scores['b']! && scores['b']! > scores['a']!, JSON.stringify(scores))
  const owned = podOf({
    labels: FOO,
    metadata: { ownerReferences: [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'rs', uid: '1', controller: true }] },
  })
  const world = { workloads: { rs: { selector: { matchLabels: { foo: '' } } } } }
  assert.deepEqual(scoreResults(podTopologySpread, cycleOf(owned, cluster, world)), scores)
})

test('a pod waits for pods and nodes that count', () => {
  const pod = spreading([constraint('zone')])
  const { queueingHints } = podTopologySpread
  const gone = (draft: PodDraft) =>
    queueingHints!['pod deleted']!(pod, { about: 'pod', name: 'pod deleted', before: podInfoOf(on('a', draft)) }, {} as never)
  assert.deepEqual([gone({}), gone({ namespace: 'other' }), gone({ labels: {} })], [true, false, false])
  const moved = (before: string | undefined, after: string | undefined) =>
    queueingHints!['node labels']!(
      pod,
      {
        about: 'node',
        name: 'node labels',
        before: nodeOf('n', { labels: before ? { zone: before } : {} }),
        after: nodeOf('n', { labels: after ? { zone: after } : {} }),
      },
      {} as never,
    )
  assert.deepEqual([moved('a', 'b'), moved('a', 'a'), moved(undefined, 'a'), moved(undefined, undefined)], [true, false, true, false])
})

test('default constraints of a list hold for pods that have none, also those that must be satisfied', () => {
  const plugin = podTopologySpreadWith(
    {
      defaultConstraints: [
        { topologyKey: 'zone', maxSkew: 1, whenUnsatisfiable: 'DoNotSchedule' },
        { topologyKey: 'kubernetes.io/hostname', maxSkew: 1, whenUnsatisfiable: 'ScheduleAnyway' },
      ],
    },
    ALL,
  )
  const cluster = clusterOf([...nodes(), nodeOf('lost')], [podOf({ name: 'p', labels: FOO, node: 'a' })])
  const cycle = cycleOf(podOf({ name: 'new', labels: FOO }), cluster, { services: [FOO] })
  assert.deepEqual(filterResults(plugin, cycle), { a: SKEWED, b: SKEWED, x: 'ok', y: 'ok', lost: UNLABELLED })
  assert.deepEqual(scoreResults(plugin, cycle), { a: 0, b: 100, x: 100, y: 100, lost: 100 })
  assert.equal(filterResults(plugin, cycleOf(podOf({ name: 'alone' }), cluster)), 'nothing to say')
  assert.equal(scoreResults(podTopologySpreadWith({ defaultConstraints: [] }, ALL), cycle), undefined)
})
