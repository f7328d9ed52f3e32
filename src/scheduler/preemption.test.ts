import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { clusterOf, cycleOf, nodeOf, type PodDraft, podOf } from '../../test/kits/scheduler.ts'
import type { Cluster } from './cluster.ts'
import { KeptResults } from './local-results.ts'
import { Nominations } from './nominations.ts'
import type { PodInfo } from './pod-info.ts'
import { type Budget, DEFAULT_PREEMPTION, preempt } from './preemption.ts'
import { DEFAULT_PROFILE } from './profile.ts'
import { schedulePod } from './schedule-pod.ts'

const NOW = Date.parse('2026-01-01T12:00:00Z')

function attempt(cluster: Cluster, draft: PodDraft, budgets: readonly Budget[] = []) {
  const nominations = new Nominations()
  const cycle = cycleOf(podOf({ name: 'new', ...draft }), cluster)
  const placement = schedulePod(cycle, {
    profile: DEFAULT_PROFILE,
    nominations,
    random: () => 0,
    rotation: { next: 0 },
    kept: new KeptResults(),
  })
  assert.ok(placement.type === 'rejected', 'there is room')
  return preempt(cycle, placement, { nominations, random: () => 0, now: NOW, budgets, args: DEFAULT_PREEMPTION })
}

/** `NODE: victims`, or the message. */
function resultOf(...args: Parameters<typeof attempt>): string {
  const preemption = attempt(...args)
  return preemption.type === 'none'
    ? preemption.message
    : `${preemption.node}: ${preemption.victims.map(({ name }: PodInfo) => name).join(' ')}`
}

const small = (name: string, cpu = '1') => nodeOf(name, { allocatable: { cpu } })
const there = (name: string, node: string, priority: number, more: PodDraft = {}) => podOf({ name, node, priority, cpu: '1', ...more })
const started = (time: string) => ({ status: { startTime: `2026-01-01T${time}Z` } })
const budget = (disruptionsAllowed: number, labels: Record<string, string>, disruptedPods: Record<string, string> = {}) =>
  ({
    metadata: { namespace: 'default' },
    spec: { selector: { matchLabels: labels } },
    status: { disruptionsAllowed, disruptedPods },
  }) as unknown as Budget

test('only pods of lower priority make room, and as few of them as possible', () => {
  const three = [there('low', 'a', 1), there('lower', 'a', 0), there('high', 'a', 10)]
  assert.equal(resultOf(clusterOf([small('a', '3')], three), { cpu: '1', priority: 5 }), 'a: lower')
  assert.equal(resultOf(clusterOf([small('a', '3')], three), { cpu: '2', priority: 5 }), 'a: low lower')
  assert.equal(
    resultOf(clusterOf([small('a', '3')], three), { cpu: '3', priority: 5 }),
    'preemption: 0/1 nodes are available: 1 Insufficient cpu.',
  )
  assert.equal(
    resultOf(clusterOf([small('a', '3')], three), { cpu: '1', priority: 0 }),
    'preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod.',
  )
})

test('nodes on which it cannot help are not tried', () => {
  const cluster = clusterOf([small('a'), nodeOf('b', { taints: ['x:NoSchedule'] })], [there('low', 'a', 0)])
  assert.equal(
    resultOf(cluster, { cpu: '2', priority: 5 }),
    'preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling.',
  )
})

test('a pod that must not preempt does not, and one for which room is being made waits', () => {
  const cluster = clusterOf([small('a')], [there('low', 'a', 0)])
  assert.equal(
    resultOf(cluster, { cpu: '1', priority: 5, spec: { preemptionPolicy: 'Never' } }),
    'preemption: not eligible due to preemptionPolicy=Never.',
  )
  const ending = there('low', 'a', 0, {
    metadata: { deletionTimestamp: '2026-01-01T12:00:30Z' },
    status: { conditions: [{ type: 'DisruptionTarget', status: 'True', reason: 'PreemptionByScheduler' }] },
  })
  const waiting = { cpu: '1', priority: 5, status: { nominatedNodeName: 'a' } }
  const result = attempt(clusterOf([small('a')], [ending]), waiting)
  assert.deepEqual(result, {
    type: 'none',
    keeps: true,
    message: 'preemption: not eligible due to a terminating pod on the nominated node.',
  })
})

test('the node is taken where the least is lost', () => {
  const two = [small('a', '2'), small('b', '2')]
  const cases: [what: string, pods: ReturnType<typeof podOf>[], expected: string][] = [
    ['the least important victim', [there('a1', 'a', 2, { cpu: '2' }), there('b1', 'b', 1, { cpu: '2' })], 'b: b1'],
    ['the smallest sum of priorities', [there('a1', 'a', 2), there('a2', 'a', 1), there('b1', 'b', 2), there('b2', 'b', 0)], 'b: b1 b2'],
    ['the fewest victims', [there('a1', 'a', 0), there('a2', 'a', 0), there('b1', 'b', 0, { cpu: '2' })], 'b: b1'],
    [
      'the one that has run the shortest',
      [there('a1', 'a', 0, { cpu: '2', ...started('01:00:00') }), there('b1', 'b', 0, { cpu: '2', ...started('02:00:00') })],
      'b: b1',
    ],
    [
      'fewer victims also when priorities are negative',
      [there('a1', 'a', -1), there('a2', 'a', -1), there('b1', 'b', -1, { cpu: '2' })],
      'b: b1',
    ],
  ]
  for (const [what, pods, expected] of cases) assert.equal(resultOf(clusterOf(two, pods), { cpu: '2', priority: 5 }), expected, what)
})

test('among equals those that have run longer are kept', () => {
  const pods = [
    there('young', 'a', 0, started('03:00:00')),
    there('old', 'a', 0, started('01:00:00')),
    there('middle', 'a', 0, started('02:00:00')),
  ]
  assert.equal(resultOf(clusterOf([small('a', '3')], pods), { cpu: '1', priority: 5 }), 'a: young')
})

test('disruption budgets are respected as long as another choice exists', () => {
  const pods = [there('guarded', 'a', 0, { labels: { app: 'db' } }), there('free', 'a', 1)]
  assert.equal(resultOf(clusterOf([small('a', '2')], pods), { cpu: '1', priority: 5 }), 'a: guarded')
  assert.equal(resultOf(clusterOf([small('a', '2')], pods), { cpu: '1', priority: 5 }, [budget(0, { app: 'db' })]), 'a: free')
  assert.equal(resultOf(clusterOf([small('a', '2')], pods), { cpu: '1', priority: 5 }, [budget(1, { app: 'db' })]), 'a: guarded')
  assert.equal(
    resultOf(clusterOf([small('a', '2')], pods), { cpu: '1', priority: 5 }, [budget(0, { app: 'db' }, { guarded: 'x' })]),
    'a: guarded',
  )
  // Also between nodes: the violation weighs more than the priority.
  const apart = clusterOf([small('a'), small('b')], [there('guarded', 'a', 0, { labels: { app: 'db' } }), there('free', 'b', 1)])
  assert.equal(resultOf(apart, { cpu: '1', priority: 5 }, [budget(0, { app: 'db' })]), 'b: free')
  // When there is no other way they are violated.
  const only = clusterOf([small('a')], [there('guarded', 'a', 0, { labels: { app: 'db' } })])
  assert.equal(resultOf(only, { cpu: '1', priority: 5 }, [budget(0, { app: 'db' })]), 'a: guarded')
})

test('pods that conflict for other reasons than resources are preempted too', () => {
  const apart = (labels: Record<string, string>) => ({
    affinity: {
      podAntiAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: 'kubernetes.io/hostname', labelSelector: { matchLabels: labels } }],
      },
    },
  })
  const cluster = clusterOf([nodeOf('a')], [there('hated', 'a', 0, { labels: { app: 'x' } }), there('other', 'a', 0)])
  assert.equal(resultOf(cluster, { priority: 5, spec: apart({ app: 'x' }) }), 'a: hated')
  const ports = { containers: [{ name: 'c', ports: [{ hostPort: 80, containerPort: 80 }] }] }
  const taken = clusterOf([nodeOf('a')], [there('listening', 'a', 0, { spec: ports }), there('other', 'a', 0)])
  assert.equal(resultOf(taken, { priority: 5, spec: ports }), 'a: listening')
})

test('after the victims have gone the pod fits, without any of them going it does not', () => {
  const anyPods = fc.array(fc.record({ cpu: fc.integer({ min: 1, max: 4 }), priority: fc.integer({ min: 0, max: 9 }) }), {
    minLength: 1,
    maxLength: 12,
  })
  fc.assert(
    fc.property(anyPods, fc.integer({ min: 1, max: 4 }), (drafts, wanted) => {
      const nodes = ['a', 'b', 'c'].map(name => small(name, '4'))
      const pods: ReturnType<typeof podOf>[] = []
      const used: Record<string, number> = { a: 0, b: 0, c: 0 }
      for (const [i, { cpu, priority }] of drafts.entries()) {
        const node = Object.keys(used).find(name => used[name]! + cpu <= 4)
        if (!node) continue
        used[node]! += cpu
        pods.push(there(`p${i}`, node, priority, { cpu: String(cpu) }))
      }
      if (Object.values(used).some(sum => sum + wanted <= 4)) return
      const cluster = clusterOf(nodes, pods)
      const result = attempt(cluster, { cpu: String(wanted), priority: 5 })
      if (result.type === 'none') {
        for (const name of Object.keys(used)) {
          const firm = pods.filter(({ spec }) => spec.nodeName === name && spec.priority! >= 5)
          assert.ok(firm.reduce((sum, pod) => sum + Number(pod.spec.containers![0]!.resources!.requests!['cpu']), 0) + wanted > 4)
        }
        return
      }
      assert.ok(result.victims.every(({ priority }) => priority < 5))
      const freed = result.victims.map(({ requests }) => requests.cpu / 1000)
      const sum = freed.reduce((total, cpu) => total + cpu, 0)
      assert.ok(used[result.node]! - sum + wanted <= 4)
      for (const cpu of freed) assert.ok(used[result.node]! - sum + cpu + wanted > 4)
    }),
    { numRuns: 200 },
  )
})
