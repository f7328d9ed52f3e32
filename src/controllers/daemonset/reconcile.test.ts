import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { DaemonSet } from '../../kinds/apps/daemonset.ts'
import { tolerationsInEffect } from '../../kinds/rules/pod/scheduling/tolerance.ts'
import { FailedPods } from './failed-pods.ts'
import { historyOf, surplusRevisions } from './history.ts'
import { placementOf, podFor, targetNode } from './placement.ts'
import { planUpdate, planUpkeep, type Situation, statusOf } from './reconcile.ts'

const NOW = new Date('2026-07-01T12:00:00Z')
const ago = (seconds: number) => new Date(NOW.getTime() - seconds * 1000).toISOString().replace('.000', '')

type SetShape = { pod?: object; strategy?: object; minReadySeconds?: number; status?: object; revisionHistoryLimit?: number }
const daemonSet = ({ pod = {}, strategy = { maxUnavailable: 1, maxSurge: 0 }, status, ...spec }: SetShape = {}): DaemonSet =>
  ({
    apiVersion: 'apps/v1',
    kind: 'DaemonSet',
    metadata: {
      name: 'agent',
      namespace: 'default',
      uid: 'd',
      generation: 3,
      annotations: { 'deprecated.daemonset.template.generation': '2' },
    },
    spec: {
      template: { metadata: { labels: { app: 'agent' } }, spec: { containers: [], ...pod } },
      updateStrategy: 'type' in strategy ? strategy : { type: 'RollingUpdate', rollingUpdate: strategy },
      minReadySeconds: 0,
      ...spec,
    },
    status: { currentNumberScheduled: 0, numberMisscheduled: 0, desiredNumberScheduled: 0, numberReady: 0, ...status },
  }) as never
const node = (name: string, labels: object = {}, ...taints: object[]) => ({ metadata: { name, labels }, spec: { taints } }) as never

type PodShape = {
  name?: string
  on: string
  hash?: string
  ready?: number
  phase?: string
  leaving?: true
  created?: number
  bound?: false
}
const pod = ({ on, name = `${on}-pod`, hash = 'new', ready, phase = 'Running', leaving, created = 100, bound }: PodShape) =>
  ({
    metadata: {
      name,
      namespace: 'default',
      uid: name,
      labels: { 'controller-revision-hash': hash },
      creationTimestamp: ago(created),
      ...(leaving && { deletionTimestamp: ago(1) }),
    },
    spec: bound === false ? podFor(daemonSet(), on, hash).spec : { nodeName: on },
    status: { phase, conditions: ready === undefined ? [] : [{ type: 'Ready', status: 'True', lastTransitionTime: ago(ready) }] },
  }) as never

const situation = (set: DaemonSet, nodes: never[], pods: never[]): Situation => ({ set, nodes, pods, hash: 'new', now: NOW, inEffect: ALL })
const ALL = tolerationsInEffect(() => true)
const [n1, n2, n3] = [node('n1'), node('n2'), node('n3')]
const names = (pods: readonly { metadata: { name?: string } }[]) => pods.map(({ metadata }) => metadata.name)
const upkeep = (set: DaemonSet, nodes: never[], pods: never[], wait = 0) => {
  const { create, remove, ...rest } = planUpkeep(situation(set, nodes, pods), () => wait)
  return { create, remove: names(remove), ...rest }
}
const update = (set: DaemonSet, nodes: never[], pods: never[]) => {
  const { create, remove } = planUpdate(situation(set, nodes, pods))
  return { create, remove: names(remove) }
}

test('nodes are chosen by name, labels and taints', () => {
  const on = (set: DaemonSet, target: never) => Object.values(placementOf(set, ALL)(target))
  assert.deepEqual(on(daemonSet(), n1), [true, true])
  assert.deepEqual(on(daemonSet({ pod: { nodeName: 'n2' } }), n1), [false, false])
  assert.deepEqual(on(daemonSet({ pod: { nodeSelector: { disk: 'fast' } } }), node('n', { disk: 'slow' })), [false, false])
  assert.deepEqual(on(daemonSet(), node('n', {}, { key: 'a', effect: 'NoSchedule' })), [false, true])
  assert.deepEqual(on(daemonSet(), node('n', {}, { key: 'a', effect: 'NoExecute' })), [false, false])
  assert.deepEqual(on(daemonSet(), node('n', {}, { key: 'a', effect: 'PreferNoSchedule' })), [true, true])
  assert.deepEqual(on(daemonSet(), node('n', {}, { key: 'node.kubernetes.io/not-ready', effect: 'NoExecute' })), [true, true])
  const offline = node('n', {}, { key: 'node.kubernetes.io/network-unavailable', effect: 'NoSchedule' })
  assert.deepEqual([on(daemonSet(), offline)[0], on(daemonSet({ pod: { hostNetwork: true } }), offline)[0]], [false, true])
})

test('a pod is for one node, and keeps the rest of its affinity', () => {
  const preferred = { preferredDuringSchedulingIgnoredDuringExecution: [] }
  const made = podFor(daemonSet({ pod: { affinity: { nodeAffinity: preferred, podAffinity: {} } } }), 'n1', 'h')
  assert.equal(targetNode(made as never), 'n1')
  assert.deepEqual(Object.keys(made.spec?.affinity ?? {}), ['nodeAffinity', 'podAffinity'])
  assert.deepEqual(made.metadata?.labels, { app: 'agent', 'pod-template-generation': '2', 'controller-revision-hash': 'h' })
  assert.equal(made.spec?.tolerations?.length, 6)
  const own = { key: 'node.kubernetes.io/not-ready', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 5 }
  assert.deepEqual(podFor(daemonSet({ pod: { tolerations: [own] } }), 'n1', 'h').spec?.tolerations?.[0], {
    key: 'node.kubernetes.io/not-ready',
    operator: 'Exists',
    effect: 'NoExecute',
  })
})

test('every node that is to have a pod gets one, and no other keeps one', () => {
  const tainted = node('n2', {}, { key: 'a', effect: 'NoExecute' })
  const { create, remove } = upkeep(daemonSet(), [n1, tainted, n3], [pod({ on: 'n2' }), pod({ on: 'n3' })])
  assert.deepEqual([create, remove], [['n1'], ['n2-pod']])
})

test('pods of deleted nodes are deleted', () => {
  const { remove } = upkeep(daemonSet(), [n1], [pod({ on: 'n1' }), pod({ on: 'gone', bound: false }), pod({ on: 'gone', name: 'bound' })])
  assert.deepEqual(remove, ['gone-pod'])
})

test('a terminating pod keeps its node until it is removed, but not with surge', () => {
  assert.deepEqual(upkeep(daemonSet(), [n1], [pod({ on: 'n1', leaving: true })]).create, [])
  assert.deepEqual(upkeep(daemonSet({ strategy: { maxSurge: 1, maxUnavailable: 0 } }), [n1], [pod({ on: 'n1', leaving: true })]).create, [
    'n1',
  ])
  assert.deepEqual(upkeep(daemonSet(), [n1], [pod({ on: 'n1', leaving: true, phase: 'Failed' })]).create, ['n1'])
})

test('pods that have ended are deleted, failed ones not too often', () => {
  const pods = [pod({ on: 'n1', phase: 'Failed' }), pod({ on: 'n2', phase: 'Succeeded' })]
  const { remove, events, failedOn } = upkeep(daemonSet(), [n1, n2], pods)
  assert.deepEqual([remove, failedOn], [['n1-pod', 'n2-pod'], ['n1']])
  assert.deepEqual(
    events.map(e => `${e.type} ${e.reason}: ${e.message}`),
    [
      'Warning FailedDaemonPod: Found failed daemon pod default/n1-pod on node n1, will try to kill it',
      'Normal SucceededDaemonPod: Found succeeded daemon pod default/n2-pod on node n2, will try to delete it',
    ],
  )
  const waiting = upkeep(daemonSet(), [n1], [pods[0]!], 500)
  assert.deepEqual([waiting.remove, waiting.waitMs, waiting.failedOn], [[], 500, []])
})

test('failed pods wait twice as long each time, and not at all after a long while', () => {
  const failed = new FailedPods()
  assert.equal(failed.waitMs('k', 0), 0)
  failed.deleted('k', 0)
  assert.deepEqual([failed.waitMs('k', 400), failed.waitMs('k', 1000), failed.waitMs('other', 0)], [600, 0, 0])
  failed.deleted('k', 1000)
  assert.equal(failed.waitMs('k', 1000), 2000)
  failed.deleted('k', 10_000_000)
  assert.equal(failed.waitMs('k', 10_000_000), 1000)
})

test('of several pods on a node the oldest stays', () => {
  const pods = [pod({ on: 'n1', name: 'b', created: 5 }), pod({ on: 'n1', name: 'a', created: 50 })]
  assert.deepEqual(upkeep(daemonSet(), [n1], pods).remove, ['b'])
})

test('without surge, as many pods are replaced as may be missing', () => {
  const old = (on: string, ready?: number) => pod({ on, hash: 'old', ...(ready !== undefined && { ready }) })
  const nodes = [n1, n2, n3]
  assert.deepEqual(update(daemonSet(), nodes, [old('n1', 9), old('n2', 9), old('n3', 9)]), { create: [], remove: ['n1-pod'] })
  assert.deepEqual(update(daemonSet(), nodes, [pod({ on: 'n1' }), old('n2', 9), old('n3', 9)]).remove, [])
  assert.deepEqual(update(daemonSet(), nodes, [pod({ on: 'n1', ready: 9 }), old('n2', 9), old('n3', 9)]).remove, ['n2-pod'])
  // One that is not available costs nothing.
  assert.deepEqual(update(daemonSet(), nodes, [old('n1', 9), old('n2'), old('n3', 9)]).remove, ['n2-pod'])
  const half = daemonSet({ strategy: { maxUnavailable: '50%', maxSurge: 0 } })
  assert.deepEqual(update(half, nodes, [old('n1', 9), old('n2', 9), old('n3', 9)]).remove, ['n1-pod', 'n2-pod'])
  assert.deepEqual(update(daemonSet({ strategy: { type: 'OnDelete' } }), nodes, [old('n1', 9)]), { create: [], remove: [] })
})

test('a pod of the same template generation is up to date', () => {
  const same = pod({ on: 'n1', hash: 'old', ready: 9 }) as { metadata: { labels: Record<string, string> } }
  same.metadata.labels['pod-template-generation'] = '2'
  assert.deepEqual(update(daemonSet(), [n1], [same as never]).remove, [])
})

const surging = (more: SetShape = {}) => daemonSet({ strategy: { maxSurge: 1, maxUnavailable: 0 }, ...more })

test('with surge, new pods start beside old ones, which are deleted when the new ones are available', () => {
  const [a, b] = [pod({ on: 'n1', hash: 'old', ready: 9 }), pod({ on: 'n2', hash: 'old', ready: 9 })]
  assert.deepEqual(update(surging(), [n1, n2], [a, b]), { create: ['n1'], remove: [] })
  const started = pod({ on: 'n1', name: 'next' })
  assert.deepEqual(update(surging(), [n1, n2], [a, b, started]), { create: [], remove: [] })
  assert.deepEqual(upkeep(surging(), [n1, n2], [a, b, started]).remove, [])
  const ready = pod({ on: 'n1', name: 'next', ready: 5 })
  assert.deepEqual(update(surging(), [n1, n2], [a, b, ready]), { create: ['n2'], remove: ['n1-pod'] })
  assert.deepEqual(upkeep(surging(), [n1, n2], [a, b, ready]).remove, ['n1-pod'])
  assert.deepEqual(upkeep(surging({ minReadySeconds: 10 }), [n1, n2], [a, b, ready]).remove, [])
  const broken = pod({ on: 'n1', hash: 'old' })
  assert.deepEqual(update(surging(), [n1, n2], [broken, b]).create, ['n1', 'n2'])
  assert.deepEqual(upkeep(surging(), [n1, n2], [broken, b, started]).remove, ['n1-pod'])
})

test('with surge, a pod whose node is not to have one any more waits for enough others', () => {
  const set = surging({ pod: { nodeSelector: { disk: 'fast' } } })
  const [slow, fast] = [node('slow', { disk: 'slow' }), node('fast', { disk: 'fast' })]
  const old = pod({ on: 'slow', hash: 'old', ready: 9 })
  assert.deepEqual(update(set, [slow, fast], [old, pod({ on: 'fast' })]).remove, [])
  assert.deepEqual(update(set, [slow, fast], [old, pod({ on: 'fast', ready: 9 })]).remove, ['slow-pod'])
})

test('the status counts nodes', () => {
  const tainted = node('n4', {}, { key: 'a', effect: 'NoSchedule' })
  const pods = [pod({ on: 'n1', ready: 20 }), pod({ on: 'n2', hash: 'old', ready: 5 }), pod({ on: 'n4' })]
  const set = daemonSet({ minReadySeconds: 10, status: { collisionCount: 2, numberUnavailable: 7 } })
  const status = statusOf(situation(set, [n1, n2, n3, tainted], pods))!
  assert.deepEqual(status, {
    currentNumberScheduled: 2,
    numberMisscheduled: 1,
    desiredNumberScheduled: 3,
    numberReady: 2,
    collisionCount: 2,
    observedGeneration: 3,
    updatedNumberScheduled: 1,
    numberAvailable: 1,
    numberUnavailable: 2,
  })
  assert.equal(statusOf(situation({ ...set, status }, [n1, n2, n3, tainted], pods)), undefined)
})

test('one revision is current, and old ones without pods are deleted', () => {
  const set = daemonSet({ revisionHistoryLimit: 1 })
  const revision = (name: string, number: number, image?: string) =>
    ({
      metadata: { name, labels: { 'controller-revision-hash': name } },
      revision: number,
      data: { spec: { template: image ? { spec: { containers: [{ image }] } } : { ...set.spec.template, $patch: 'replace' } } },
    }) as never
  const [a, b, c, same, twice] = [
    revision('a', 1, 'a'),
    revision('b', 2, 'b'),
    revision('c', 5, 'c'),
    revision('same', 3),
    revision('twice', 4),
  ]
  const history = historyOf(set, [a, b, c, same, twice])
  assert.deepEqual([history.current, history.duplicates, history.old, history.number], [twice, [same], [a, b, c], 6])
  assert.deepEqual(historyOf(set, []), { current: undefined, duplicates: [], old: [], number: 1 })
  assert.deepEqual(surplusRevisions(set, [c, b, a], [pod({ on: 'n1', hash: 'a' })]), [b, c])
  assert.deepEqual(surplusRevisions(set, [c, b, a], []), [a, b])
})
