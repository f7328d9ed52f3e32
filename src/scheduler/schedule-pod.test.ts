import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { clusterOf, cycleOf, nodeOf, type PodDraft, podOf } from '../../test/kits/scheduler.ts'
import type { Cluster } from './cluster.ts'
import { describe } from './diagnosis.ts'
import { KeptResults } from './local-results.ts'
import { Nominations } from './nominations.ts'
import { podInfoOf } from './pod-info.ts'
import { DEFAULT_PROFILE } from './profile.ts'
import { schedulePod } from './schedule-pod.ts'

const partsWith = (nominations = new Nominations(), random = () => 0) => ({
  profile: DEFAULT_PROFILE,
  nominations,
  random,
  rotation: { next: 0 },
  kept: new KeptResults(),
})

function resultOf(cluster: Cluster, draft: PodDraft, parts = partsWith()): string {
  const placement = schedulePod(cycleOf(podOf(draft), cluster), parts)
  if (placement.type === 'placed') return placement.node
  return placement.type === 'no nodes' ? 'no nodes' : describe(placement.diagnosis)
}

test('without nodes nothing can be said', () => {
  assert.equal(resultOf(clusterOf([]), {}), 'no nodes')
})

test('the node with the highest score is taken, and chance decides between equals', () => {
  const cluster = clusterOf([nodeOf('a'), nodeOf('b'), nodeOf('c')], [podOf({ name: 'x', node: 'a', cpu: '3' })])
  assert.equal(
    resultOf(
      cluster,
      { cpu: '1' },
      partsWith(undefined, () => 0),
    ),
    'b',
  )
  assert.equal(
    resultOf(
      cluster,
      { cpu: '1' },
      partsWith(undefined, () => 0.99),
    ),
    'c',
  )
})

test('a pod that names nodes is told when they do not exist or do not fit', () => {
  const cluster = clusterOf([nodeOf('a'), nodeOf('b'), nodeOf('c', { taints: ['x:NoSchedule'] })])
  const only = (...names: string[]) => ({
    spec: {
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: {
            nodeSelectorTerms: names.map(name => ({ matchFields: [{ key: 'metadata.name', operator: 'In', values: [name] }] })),
          },
        },
      },
    },
  })
  assert.equal(resultOf(cluster, only('b')), 'b')
  assert.equal(resultOf(cluster, only('gone')), "0/3 nodes are available: 3 node(s) didn't satisfy plugin(s) [NodeAffinity].")
  assert.equal(
    resultOf(cluster, only('c')),
    "0/3 nodes are available: 1 node(s) had untolerated taint(s), 2 node(s) didn't satisfy plugin(s) [NodeAffinity].",
  )
})

test('room that is kept for a more important pod is not given away, and its own node is tried first', () => {
  const cluster = clusterOf([nodeOf('a', { allocatable: { cpu: '2' } }), nodeOf('b', { allocatable: { cpu: '1' } })])
  const nominations = new Nominations()
  const important = podOf({ name: 'important', cpu: '2', priority: 10 })
  nominations.set(podInfoOf(important), 'a')
  assert.equal(resultOf(cluster, { name: 'new', cpu: '1', priority: 5 }, partsWith(nominations)), 'b')
  assert.equal(
    resultOf(
      cluster,
      { name: 'more important', cpu: '1', priority: 11, spec: { nodeSelector: { 'kubernetes.io/hostname': 'a' } } },
      partsWith(nominations),
    ),
    'a',
  )
  assert.equal(resultOf(cluster, { name: 'important', cpu: '1', status: { nominatedNodeName: 'b' } }, partsWith()), 'b')
})

test('in a large cluster a share of the nodes is looked at, and every node has its turn', () => {
  const cluster = clusterOf(Array.from({ length: 500 }, (_, i) => nodeOf(`n${i}`)))
  const parts = partsWith()
  schedulePod(cycleOf(podOf(), cluster), parts)
  // 50 − 500/125 = 46 of a hundred.
  assert.equal(parts.rotation.next, 230)
})

// Whatever comes, the promise holds.

const zones = ['z1', 'z2', 'z3']
const anyPod = fc.record({
  cpu: fc.integer({ min: 0, max: 20 }),
  app: fc.constantFrom('a', 'b'),
  port: fc.option(fc.constantFrom(80, 81), { freq: 4 }),
  isExclusive: fc.boolean(),
  isSpread: fc.boolean(),
  leaves: fc.boolean(),
})

test('no node is given too much, no demand to be apart is broken, and the skew is kept', () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 5, max: 40 }), { minLength: 1, maxLength: 8 }),
      fc.array(anyPod, { maxLength: 40 }),
      fc.infiniteStream(fc.nat(1000)),
      (sizes, pods, chances) => {
        const cluster = clusterOf(
          sizes.map((size, i) =>
            nodeOf(`n${i}`, { labels: { zone: zones[i % 3]! }, allocatable: { cpu: `${size}00m`, memory: '1Gi', pods: '5' } }),
          ),
        )
        const parts = partsWith(undefined, () => chances.next().value / 1001)
        const placed: { node: string; pod: (typeof pods)[number]; name: string }[] = []
        for (const [i, pod] of pods.entries()) {
          const selector = { matchLabels: { app: pod.app } }
          const draft = podOf({
            name: `p${i}`,
            labels: { app: pod.app, exclusive: String(pod.isExclusive), spread: String(pod.isSpread) },
            spec: {
              containers: [
                {
                  name: 'c',
                  resources: { requests: { cpu: `${pod.cpu}00m` } },
                  ...(pod.port && { ports: [{ hostPort: pod.port, containerPort: 1 }] }),
                },
              ],
              ...(pod.isExclusive && {
                affinity: {
                  podAntiAffinity: {
                    requiredDuringSchedulingIgnoredDuringExecution: [
                      { topologyKey: 'kubernetes.io/hostname', labelSelector: { matchLabels: { app: pod.app, exclusive: 'true' } } },
                    ],
                  },
                },
              }),
              ...(pod.isSpread && {
                topologySpreadConstraints: [
                  {
                    maxSkew: 1,
                    topologyKey: 'zone',
                    whenUnsatisfiable: 'DoNotSchedule',
                    labelSelector: { ...selector, matchExpressions: [{ key: 'spread', operator: 'In', values: ['true'] }] },
                  },
                ],
              }),
            },
          })
          const placement = schedulePod(cycleOf(draft, cluster), parts)
          if (placement.type !== 'placed') continue
          if (pod.isSpread) assertSkew(placed, pod.app, placement.node, sizes.length)
          cluster.setPod({ ...podInfoOf(draft), nodeName: placement.node })
          if (pod.leaves) cluster.removePod(`default/p${i}`)
          else placed.push({ node: placement.node, pod, name: `p${i}` })
        }
        for (const [i, size] of sizes.entries()) {
          const here = placed.filter(({ node }) => node === `n${i}`).map(({ pod }) => pod)
          assert.ok(here.reduce((sum, { cpu }) => sum + cpu, 0) <= size)
          assert.equal(
            cluster.node(`n${i}`)!.requested.cpu,
            here.reduce((sum, { cpu }) => sum + cpu * 100, 0),
          )
          assert.ok(here.length <= 5)
          const ports = here.flatMap(({ port }) => port ?? [])
          assert.equal(new Set(ports).size, ports.length)
          for (const app of ['a', 'b']) assert.ok(here.filter(pod => pod.app === app && pod.isExclusive).length <= 1)
        }
      },
    ),
    { numRuns: 150 },
  )
})

function assertSkew(
  placed: readonly { node: string; pod: { app: string; isSpread: boolean } }[],
  app: string,
  node: string,
  nodes: number,
): void {
  const zoneOf = (name: string) => Number(name.slice(1)) % 3
  const counts = Array.from({ length: Math.min(nodes, 3) }, () => 0)
  for (const each of placed) if (each.pod.app === app && each.pod.isSpread) counts[zoneOf(each.node)]!++
  const least = Math.min(...counts)
  assert.ok(counts[zoneOf(node)]! + 1 - least <= 1)
}
