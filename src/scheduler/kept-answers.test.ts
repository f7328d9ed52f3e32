// Kept answers: whatever has happened in between, decisions are those of a scheduler that has just been started.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { clusterOf, lookupsIn, nodeOf, podOf, type World } from '../../test/kits/scheduler.ts'
import { describe } from './diagnosis.ts'
import { KeptResults } from './local-results.ts'
import { Nominations } from './nominations.ts'
import type { Cycle } from './plugin.ts'
import { podInfoOf } from './pod-info.ts'
import { DEFAULT_PROFILE } from './profile.ts'
import { type Placement, schedulePod } from './schedule-pod.ts'

const ZONE = 'topology.kubernetes.io/zone'
const term = (app: string, topologyKey: string) => ({ labelSelector: { matchLabels: { app } }, topologyKey })
const spread = (app: string, whenUnsatisfiable: string) => ({
  topologySpreadConstraints: [{ maxSkew: 1, topologyKey: ZONE, whenUnsatisfiable, labelSelector: { matchLabels: { app } } }],
})
const required = (terms: object[]) => ({ requiredDuringSchedulingIgnoredDuringExecution: terms })
const preferred = (terms: object[]) => ({
  preferredDuringSchedulingIgnoredDuringExecution: terms.map(podAffinityTerm => ({ weight: 10, podAffinityTerm })),
})
const SPECS = [
  {},
  spread('a', 'DoNotSchedule'),
  spread('b', 'ScheduleAnyway'),
  { affinity: { podAffinity: required([term('a', ZONE)]) } },
  { affinity: { podAntiAffinity: required([term('b', 'kubernetes.io/hostname')]) } },
  { affinity: { podAffinity: preferred([term('b', ZONE)]), podAntiAffinity: preferred([term('a', ZONE)]) } },
  { nodeSelector: { [ZONE]: 'z1' }, ...spread('a', 'DoNotSchedule') },
  { containers: [{ name: 'main', image: 'image', resources: { requests: { cpu: '500m', 'x.com/gpu': '1' } } }] },
]

/** Pods of a service are spread by default. The last node has devices, and the class says whether they stand for the resource. */
const worldWith = (extendedResourceName: string): World => {
  const slice = { driver: 'x.com', pool: { name: 'n3', generation: 1, resourceSliceCount: 1 }, nodeName: 'n3', devices: [{ name: 'one' }] }
  return { services: [{ app: 'a' }], devices: { slices: { n3: slice }, classes: { gpu: { extendedResourceName } } } }
}

/** A node without the label. */
const NO_ZONE = 'none'
const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ do: fc.constant('place' as const), spec: fc.nat(SPECS.length - 1), app: fc.constantFrom('a', 'b') }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('remove' as const), which: fc.nat(30) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('terminate' as const), which: fc.nat(30) }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('relabel' as const), node: fc.nat(3), zone: fc.constantFrom('z1', 'z2', '', NO_ZONE) }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('replace node' as const), node: fc.nat(3) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('name resource' as const), resource: fc.constantFrom('x.com/gpu', 'x.com/other') }) },
)

test('a decision with kept answers is the one that is made from scratch', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), steps => {
      const zones = ['z1', 'z1', 'z2', 'z2']
      const names = zones.map((_, i) => `n${i}`)
      const nodes = () =>
        zones.map((zone, i) => {
          const allocatable = { cpu: '3', ...(i === 0 && { 'x.com/gpu': '2' }) }
          return nodeOf(names[i]!, { labels: zone === NO_ZONE ? {} : { [ZONE]: zone }, allocatable })
        })
      const cluster = clusterOf(nodes())
      const kept = new KeptResults()
      const pods = new Map<string, ReturnType<typeof podOf>>()
      const nominations = new Nominations()
      let world = worldWith('x.com/other')
      const decide = (pod: ReturnType<typeof podOf>, where: typeof cluster, results: KeptResults) => {
        const cycle: Cycle = { pod, info: podInfoOf(pod), cluster: where, lookups: lookupsIn(world), state: new Map() }
        return told(schedulePod(cycle, { profile: DEFAULT_PROFILE, nominations, random: () => 0, rotation: { next: 0 }, kept: results }))
      }
      for (const [i, each] of steps.entries()) {
        const name = [...pods.keys()][each.do === 'remove' || each.do === 'terminate' ? each.which : -1]
        if (each.do === 'place') {
          const pod = podOf({ name: `p${i}`, labels: { app: each.app }, cpu: '1', spec: SPECS[each.spec]! })
          const decision = decide(pod, cluster, kept)
          // The first of equal nodes is taken, so they are in the same order.
          const inOrder = cluster.nodes.map(({ node }) => node!)
          assert.equal(decision, decide(pod, clusterOf(inOrder, [...pods.values()]), new KeptResults()))
          if (!decision.startsWith('n')) continue
          const placed = { ...pod, spec: { ...pod.spec, nodeName: decision } }
          pods.set(`p${i}`, placed)
          cluster.setPod(podInfoOf(placed))
        } else if (each.do === 'relabel') {
          zones[each.node] = each.zone
          cluster.setNode(nodes()[each.node]!)
        } else if (each.do === 'name resource') {
          world = worldWith(each.resource)
        } else if (each.do === 'replace node') {
          // Another node takes the slot of the one that has gone; pods may still be bound to that.
          cluster.removeNode(names[each.node]!)
          names[each.node] = `n${each.node}-${i}`
          cluster.setNode(nodes()[each.node]!)
        } else if (name !== undefined && each.do === 'remove') {
          pods.delete(name)
          cluster.removePod(`default/${name}`)
        } else if (name !== undefined) {
          const pod = pods.get(name)!
          const ending = { ...pod, metadata: { ...pod.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } }
          pods.set(name, ending)
          cluster.setPod(podInfoOf(ending))
        }
      }
    }),
    { numRuns: 300 },
  )
})

const told = (placement: Placement): string =>
  placement.type === 'placed' ? placement.node : placement.type === 'rejected' ? describe(placement.diagnosis) : placement.type
