import assert from 'node:assert/strict'
import test from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { nodeOf } from '../../../test/kits/scheduler.ts'
import { openSchedulerParts } from '../../../test/kits/scheduler-parts.ts'
import type { Node } from '../../kinds/core/node.ts'
import type { PodGroup } from '../../kinds/scheduling/podgroup.ts'
import type { WebhookTransport } from '../../transport/webhook-transport.ts'
import type { Binding } from '../binder.ts'
import { extendersFrom } from '../configuration/extenders.ts'
import { Extenders } from '../extenders/extenders.ts'
import { podInfoOf } from '../pod-info.ts'
import { GroupMetrics } from './group-metrics.ts'
import { GroupQueue } from './group-queue.ts'
import { GroupScheduler } from './group-scheduler.ts'
import type { GroupCondition } from './group-writer.ts'
import { PodGroups } from './pod-groups.ts'

/** The samples of a metric, as `label values: number`; of a histogram the number of values and, where these are no times, their sum. */
function countsIn(metrics: GroupMetrics, name: string): string[] {
  const found = metrics.families().find(family => family.name === name)
  assert.ok(found, name)
  return found.samples.map(([labels, value]) => {
    const shown = typeof value === 'number' ? value : name.endsWith('_seconds') ? value.count : `${value.count} of ${value.sum}`
    return `${Object.values(labels).join(' ')}: ${shown}`
  })
}

type OpenOptions = { readonly extenders?: Extenders }

function open(nodes: readonly Node[], gates: readonly string[] = [], { extenders }: OpenOptions = {}) {
  const parts = openSchedulerParts(nodes)
  const { queue, cluster } = parts
  const groups = new PodGroups({ hasComposites: false })
  const groupQueue = new GroupQueue({ queue, groups, gateOfPod: () => undefined, gateOfGroup: () => undefined, now: () => 0 })
  const metrics = new GroupMetrics()
  metrics.begun({ hasTopology: gates.includes('TopologyAwareWorkloadScheduling') })
  const bindings: Binding[] = []
  const conditions: GroupCondition[] = []
  const scheduler = new GroupScheduler({
    ...parts,
    groups,
    groupQueue,
    extenders,
    metrics: { groups: metrics },
    binder: { bind: async binding => void bindings.push(binding) as undefined },
    groupWriter: { report: async (_, condition) => void conditions.push(condition) },
    budgets: () => [],
    observe() {},
    onError: error => assert.fail(error as Error),
    gate: name => gates.includes(name),
    random: () => 0,
    now: () => 0,
  })
  return {
    ...{ ...parts, groups, groupQueue, bindings, conditions },
    counted: (name: string) => countsIn(metrics, `scheduler_${name}`),
    /** A gang with pods of one CPU each, or as many as said. */
    addGang(name: string, minCount: number, cpus: readonly string[], more: { priority?: number; spec?: object } = {}) {
      const { priority = 0, spec } = more
      const metadata = { namespace: 'default', name, uid: `uid of ${name}` }
      groups.setGroup({
        metadata,
        spec: { schedulingPolicy: { gang: { minCount } }, priority, ...spec },
        status: {},
      } as unknown as PodGroup)
      for (const [i, cpu] of cpus.entries()) {
        const pod = parts.store({ name: `${name}-${i}`, cpu, priority, spec: { schedulingGroup: { podGroupName: name } } })
        groups.join(podInfoOf(pod))
        groupQueue.add(podInfoOf(pod))
      }
    },
    /** Tries the next group, and makes the writes. */
    async run() {
      const queued = queue.pop()
      if (queued) await scheduler.schedule(queued)
      await parts.write()
      return queued?.name
    },
    onNodes: () => cluster.nodes.map(({ name, pods }) => `${name}: ${[...pods.values()].map(pod => pod.name).sort()}`),
  }
}

test('a gang that fits is bound as a whole and leaves the queue', async () => {
  const { addGang, run, bindings, conditions, queue, onNodes } = open([nodeOf('a'), nodeOf('b')])
  addGang('gang', 3, ['3', '2', '2'])
  assert.equal(await run(), 'gang')
  assert.equal(bindings.length, 3)
  assert.deepEqual(conditions, [{ status: 'True', reason: 'Scheduled', message: '' }])
  assert.equal(onNodes().join('; ').match(/gang/g)!.length, 3)
  assert.equal(queue.pop(), undefined)
})

test('of a gang that does not fit nothing is left on the nodes, and it waits the longer the more often it was tried', async () => {
  const { addGang, run, bindings, conditions, queue, onNodes, pass } = open([nodeOf('a')])
  addGang('gang', 2, ['3', '3'])
  await run()
  assert.deepEqual([bindings.length, onNodes()], [0, ['a: ']])
  assert.equal(conditions[0]!.reason, 'Unschedulable')
  assert.equal(queue.nextAfterMs, 1000)
  pass(1000)
  await run()
  assert.equal(queue.nextAfterMs, 2000)
})

test('pods beyond the minimum are bound as far as they fit, and the rest is tried again at once', async () => {
  const { addGang, run, bindings, log } = open([nodeOf('a')])
  addGang('gang', 2, ['2', '2', '2'])
  await run()
  assert.deepEqual(
    [bindings.length, log.filter(line => line.startsWith('announce'))],
    [2, ['announce gang-2: 0/1 nodes are available: 1 Insufficient cpu.']],
  )
  assert.equal(await run(), 'gang')
  assert.equal(bindings.length, 2)
  assert.equal(await run(), undefined)
})

test('a gang preempts no more pods than it needs, and is nominated for their nodes', async () => {
  const { addGang, run, cluster, store, log, nominations, queue } = open([nodeOf('a'), nodeOf('b')])
  for (const [name, node] of [
    ['low-1', 'a'],
    ['low-2', 'a'],
    ['low-3', 'b'],
  ] as const)
    cluster.setPod(podInfoOf(store({ name, node, cpu: '2' })))
  addGang('gang', 2, ['2', '2'], { priority: 5 })
  await run()
  const evicted = log.filter(line => line.startsWith('evict'))
  assert.deepEqual([evicted.length, evicted.every(line => line.endsWith('for gang on cluster'))], [1, true])
  assert.ok(['gang-0', 'gang-1'].every(name => nominations.nodeOf(`default/${name}`)))
  assert.equal(queue.nextAfterMs, 1000)
})

test('a group that is disrupted as a whole is preempted as a whole', async () => {
  const { addGang, run, log } = open([nodeOf('a'), nodeOf('b')])
  addGang('low', 2, ['3', '3'], { spec: { disruptionMode: { all: {} } } })
  await run()
  addGang('gang', 1, ['3'], { priority: 5 })
  await run()
  assert.deepEqual(log.filter(line => line.startsWith('evict')).sort(), [
    'evict low-0: for gang on cluster',
    'evict low-1: for gang on cluster',
  ])
})

test('a topology constraint keeps a gang in one domain, and later pods with those before them', async () => {
  const rack = (value: string) => ({ labels: { rack: value } })
  const nodes = [nodeOf('a1', rack('a')), nodeOf('a2', rack('a')), nodeOf('b1', rack('b')), nodeOf('none')]
  const { addGang, run, cluster, conditions, store, groups, groupQueue } = open(nodes, ['TopologyAwareWorkloadScheduling'])
  const topology = [{ key: 'rack' }]
  addGang('gang', 2, ['3', '3'], { spec: { schedulingConstraints: { topology } } })
  await run()
  assert.deepEqual(['gang-0', 'gang-1'].map(name => cluster.pod(`default/${name}`)!.nodeName).sort(), ['a1', 'a2'])
  const late = podInfoOf(store({ name: 'late', cpu: '2', spec: { schedulingGroup: { podGroupName: 'gang' } } }))
  groups.join(late)
  groupQueue.add(late)
  await run()
  assert.equal(cluster.pod('default/late'), undefined)
  assert.match(conditions.at(-1)!.message, /^pod group is unschedulable, pod group preemption: No preemption victims/)
})

type ExtenderCall = { readonly verb: string; readonly pod: string; readonly nodes: readonly string[] }

/** An extender whose answers are made by functions; what they throw is a failure of the call. */
function extender(answers: Readonly<Record<string, (asked: ExtenderCall) => unknown>>): Extenders {
  const verbs = { ...('filter' in answers && { filterVerb: 'filter' }), ...('prioritize' in answers && { prioritizeVerb: 'prioritize' }) }
  const settings = extendersFrom([{ urlPrefix: 'http://extender', ...verbs, weight: 1n, nodeCacheCapable: true }])
  const transport = {
    async call({ path, body }: { readonly path: string; readonly body: string }) {
      await setImmediate()
      const { Pod, NodeNames } = JSON.parse(body)
      const verb = path.slice(1)
      return { status: 200, body: JSON.stringify(answers[verb]!({ verb, pod: Pod.metadata.name, nodes: NodeNames })) }
    },
  }
  return new Extenders(settings, { transport: transport as unknown as WebhookTransport, signal: new AbortController().signal })
}

test('extenders filter and score the nodes of a gang, and nobody sees the pods that are placed meanwhile', async () => {
  const asked: string[] = []
  const seen: string[] = []
  const extenders = extender({
    filter({ pod, nodes }) {
      seen.push(...opened.onNodes().filter(line => line.includes('gang')))
      asked.push(`${pod}: ${nodes}`)
      return { NodeNames: nodes.filter(name => name !== 'a') }
    },
    prioritize: ({ nodes }) => nodes.map(Host => ({ Host, Score: Host === 'd' ? 10 : 0 })),
  })
  const opened = open([nodeOf('a'), nodeOf('b'), nodeOf('c'), nodeOf('d')], [], { extenders })
  opened.addGang('gang', 2, ['3', '3'])
  await opened.run()
  assert.equal(opened.cluster.pod('default/gang-0')!.nodeName, 'd')
  assert.ok(['b', 'c'].includes(opened.cluster.pod('default/gang-1')!.nodeName))
  assert.deepEqual(asked, ['gang-0: a,b,c,d', 'gang-1: a,b,c'])
  assert.deepEqual(seen, [])
  assert.deepEqual([opened.bindings.length, opened.conditions], [2, [{ status: 'True', reason: 'Scheduled', message: '' }]])
  assert.ok([...opened.bindings].every(({ queued }) => queued.attempts === 1))
})

test('a gang of which an extender leaves too few nodes is not placed, and asks again with less important pods away', async () => {
  const asked: string[] = []
  const extenders = extender({
    filter({ pod, nodes }) {
      asked.push(`${pod}: ${nodes}`)
      return { NodeNames: nodes.filter(name => name === 'a'), FailedNodes: { b: 'not that one' } }
    },
  })
  const { addGang, run, bindings, conditions, onNodes, cluster, store, log } = open([nodeOf('a'), nodeOf('b')], [], { extenders })
  cluster.setPod(podInfoOf(store({ name: 'low', node: 'a', cpu: '2' })))
  addGang('gang', 2, ['2', '2'], { priority: 5 })
  await run()
  assert.deepEqual([bindings.length, log.filter(line => line.startsWith('evict'))], [0, ['evict low: for gang on cluster']])
  assert.deepEqual(asked, ['gang-0: a,b', 'gang-1: b', 'gang-0: a,b', 'gang-1: a,b'])
  assert.match(conditions[0]!.message, /found a placement for podgroup, preempting 1 victims$/)
  assert.deepEqual(onNodes(), ['a: low', 'b: '])
})

test('the failure of an extender is an error of the gang', async () => {
  const extenders = extender({
    filter() {
      throw new Error('no answer')
    },
  })
  const { addGang, run, bindings, conditions, log } = open([nodeOf('a')], [], { extenders })
  addGang('gang', 2, ['1', '1'])
  await run()
  assert.equal(bindings.length, 0)
  assert.deepEqual(conditions, [
    { status: 'False', reason: 'SchedulerError', message: 'failed to schedule other pod from a pod group: no answer' },
  ])
  assert.ok(log.includes("status gang-0: SchedulerError on ''"))
})

test('changes while an extender is asked count for the decision', async () => {
  const extenders = extender({
    filter({ pod, nodes }) {
      if (pod === 'gang-1') {
        opened.cluster.removeNode('b')
        opened.pods.delete('default/gang-2')
      }
      return { NodeNames: nodes }
    },
  })
  const opened = open([nodeOf('a'), nodeOf('b'), nodeOf('c')], [], { extenders })
  opened.addGang('gang', 2, ['3', '3', '3'])
  await opened.run()
  assert.deepEqual(opened.bindings.map(({ info }) => info.nodeName).sort(), ['a', 'c'])
})

test('attempts, preemptions and topology domains are counted under the names of kube-scheduler', async () => {
  const { addGang, run, counted, cluster, store } = open([nodeOf('a', { labels: { rack: 'x' } })], ['TopologyAwareWorkloadScheduling'])
  addGang('first', 1, ['1'])
  await run()
  addGang('large', 2, ['9', '9'])
  await run()
  cluster.setPod(podInfoOf(store({ name: 'low', node: 'a', cpu: '2' })))
  const schedulingConstraints = { topology: [{ key: 'rack' }] }
  addGang('gang', 2, ['1500m', '1500m'], { priority: 5, spec: { schedulingConstraints } })
  await run()
  const profile = 'default-scheduler'
  const attempts = [`scheduled ${profile}: 1`, `unschedulable ${profile}: 1`, `waiting_on_preemption ${profile}: 1`]
  assert.deepEqual(counted('podgroup_schedule_attempts_total'), attempts)
  assert.deepEqual(counted('podgroup_scheduling_attempt_duration_seconds'), attempts)
  assert.deepEqual(counted('podgroup_scheduling_algorithm_duration_seconds'), [': 3'])
  assert.deepEqual(counted('workload_preemption_attempts_total'), ['UnschedulableAndUnresolvable: 1', 'Success: 1'])
  assert.deepEqual(counted('preemption_evaluation_duration_seconds'), ['podgroup UnschedulableAndUnresolvable: 1', 'podgroup Success: 1'])
  assert.deepEqual(counted('workload_preemption_victims'), [': 1 of 1'])
  assert.deepEqual(counted('preemption_workload_disruptions'), [])
  assert.deepEqual(counted('preemption_pdb_violations_total'), [])
  assert.deepEqual(counted('placement_evaluations_total'), [`feasible ${profile}: 2`, `infeasible ${profile}: 2`])
  assert.deepEqual(counted('generated_placements_total'), [`${profile}: 4`])
})
