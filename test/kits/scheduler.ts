/** Small clusters for tests of the scheduler. */

import { allocatorFeatures } from '../../src/devices/features.ts'
import { isMadeFor } from '../../src/devices/pod-claims.ts'
import type { Node } from '../../src/kinds/core/node.ts'
import type { Pod } from '../../src/kinds/core/pod/pod.ts'
import type { ResourceClaim } from '../../src/kinds/resource/resourceclaim.ts'
import type { PodGroup } from '../../src/kinds/scheduling/podgroup.ts'
import { Cluster } from '../../src/scheduler/cluster.ts'
import type { ClaimWriter } from '../../src/scheduler/devices/claim-writer.ts'
import { ClusterDevices } from '../../src/scheduler/devices/cluster-devices.ts'
import type { Devices, Lookups, Volumes } from '../../src/scheduler/lookups.ts'
import { type Cycle, isRejection, type Plugin } from '../../src/scheduler/plugin.ts'
import { podInfoOf } from '../../src/scheduler/pod-info.ts'
import { Assumed } from '../../src/scheduler/volumes/assumed.ts'

type Labels = Record<string, string>

export type NodeDraft = {
  readonly labels?: Labels
  readonly taints?: readonly string[]
  readonly unschedulable?: boolean
  readonly allocatable?: Labels
  readonly images?: readonly { names: string[]; sizeBytes: number }[]
  readonly features?: readonly string[]
  readonly spec?: object
}

/** A node with a host name, 4 CPUs, 8 GiB and a limit of 110 pods. Taints are written `key=value:Effect`. */
export function nodeOf(name: string, { labels, taints = [], unschedulable, allocatable, images, features, spec }: NodeDraft = {}): Node {
  return {
    metadata: { name, labels: { 'kubernetes.io/hostname': name, ...labels } },
    spec: { unschedulable, taints: taints.map(taintOf), ...spec },
    status: { allocatable: { cpu: '4', memory: '8Gi', pods: '110', ...allocatable }, images, declaredFeatures: features },
  } as unknown as Node
}

function taintOf(text: string) {
  const [, key, value, effect] = /^([^=:]+)(?:=([^:]*))?:(.*)$/.exec(text)!
  return { key, effect, ...(value !== undefined && { value }) }
}

export type PodDraft = {
  readonly name?: string
  readonly namespace?: string
  readonly labels?: Labels
  readonly node?: string
  readonly cpu?: string
  readonly memory?: string
  readonly priority?: number
  readonly spec?: object
  readonly status?: object
  readonly metadata?: object
}

/** A pod with one container. */
export function podOf({ name = 'pod', namespace = 'default', labels = {}, node, cpu, memory, priority, ...more }: PodDraft = {}): Pod {
  const requests = { ...(cpu && { cpu }), ...(memory && { memory }) }
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace, uid: `${namespace}/${name}`, labels, ...more.metadata },
    spec: {
      containers: [{ name: 'main', image: 'image', resources: { requests } }],
      ...(node && { nodeName: node }),
      ...(priority !== undefined && { priority }),
      ...more.spec,
    },
    status: { ...more.status },
  } as unknown as Pod
}

/** A cluster of nodes and of the pods on them. */
export function clusterOf(nodes: readonly Node[], pods: readonly Pod[] = []): Cluster {
  const cluster = new Cluster()
  for (const node of nodes) cluster.setNode(node)
  for (const pod of pods) cluster.setPod(podInfoOf(pod))
  return cluster
}

/** Other objects, by name; namespaces with their labels. */
export type World = {
  readonly namespaces?: Record<string, Labels>
  readonly services?: readonly Labels[]
  readonly workloads?: Record<string, ReturnType<Lookups['workloadSelector']>>
  readonly claims?: Record<string, object>
  readonly volumes?: Record<string, object>
  readonly classes?: Record<string, object>
  readonly csiNodes?: Record<string, object>
  readonly csiDrivers?: Record<string, object>
  readonly attachments?: readonly { spec: { nodeName: string } }[]
  readonly capacities?: readonly object[]
  readonly resourceClaims?: Record<string, object>
  readonly devices?: DeviceWorld
}

/** Slices, classes and rules by name; allocated claims of others. */
export type DeviceWorld = {
  readonly slices?: Record<string, object>
  readonly classes?: Record<string, object>
  readonly rules?: Record<string, object>
  readonly writer?: Partial<ClaimWriter>
  /** Pod groups by name. */
  readonly groups?: Record<string, object>
  readonly gate?: (name: string) => boolean
  readonly now?: number
}

/** The devices of a cluster; by default all features are on. */
export function devicesIn({ resourceClaims = {}, devices = {} }: World): Devices {
  const { slices = {}, classes = {}, rules = {}, groups = {}, writer = {}, gate = () => true, now = 0 } = devices
  const cluster = new ClusterDevices(allocatorFeatures(gate))
  const named = (name: string, spec: object): any => ({ metadata: { name }, spec })
  for (const [name, spec] of Object.entries(slices)) cluster.pools.setSlice(named(name, spec))
  for (const [name, spec] of Object.entries(classes)) cluster.classes.set(named(name, spec))
  for (const [name, spec] of Object.entries(rules)) cluster.pools.setRule(named(name, spec))
  const claims = Object.entries(resourceClaims).map(
    ([name, { metadata, ...claim }]: [string, any]) =>
      ({ metadata: { namespace: 'default', name, uid: name, ...metadata }, spec: { devices: {} }, status: {}, ...claim }) as ResourceClaim,
  )
  for (const { metadata, status } of claims) cluster.usage.store(metadata.uid ?? '', status.allocation?.devices.results, 1)
  const { features, pools, usage, expressions, classes: resourceClasses } = cluster
  let made = 0
  return {
    features,
    pools,
    usage,
    expressions,
    classes: resourceClasses,
    writer: writer as ClaimWriter,
    claim: (_, name) => claims.find(({ metadata }) => metadata.name === name),
    hasGroupClaims: gate('DRAWorkloadResourceClaims'),
    group: (_, name) =>
      groups[name] &&
      ({ apiVersion: 'scheduling.k8s.io/v1beta1', metadata: { name, uid: `group-${name}` }, spec: groups[name] } as PodGroup),
    extendedClaimOf: pod => claims.find(claim => isMadeFor(pod, claim)),
    now: () => now,
    uuid: () => `uuid-${++made}`,
  }
}

/** Claims and volumes; writes are visible immediately. */
function volumesIn({ claims = {}, volumes = {}, capacities = [] }: World): Volumes {
  const [assumedClaims, assumedVolumes] = [new Assumed<any>(), new Assumed<any>()]
  const stored = {
    claim: (_: string, name: string) => claims[name] as any,
    volume: (name: string) => volumes[name] as any,
  }
  const put = (objects: Record<string, object>, object: any) => {
    const resourceVersion = String(Number(object.metadata.resourceVersion ?? 0) + 1)
    objects[object.metadata.name] = { ...object, metadata: { ...object.metadata, resourceVersion } }
  }
  return {
    claim: (_, name) => assumedClaims.current(name, stored.claim('', name)),
    volume: name => assumedVolumes.current(name, stored.volume(name)),
    *ofClass(name) {
      for (const key of Object.keys(volumes))
        if ((stored.volume(key).spec.storageClassName ?? '') === name) yield assumedVolumes.current(key, stored.volume(key))
    },
    capacities: () => capacities as any,
    stored,
    assumeVolume: volume => assumedVolumes.assume(volume.metadata.name ?? '', volume),
    assumeClaim: claim => assumedClaims.assume(claim.metadata.name ?? '', claim),
    forgetVolume: ({ metadata }) => assumedVolumes.forget(metadata.name ?? ''),
    forgetClaim: ({ metadata }) => assumedClaims.forget(metadata.name ?? ''),
    writeVolume: async volume => put(volumes, volume),
    writeClaim: async claim => put(claims, claim),
    waiting: new Map(),
    now: () => 0,
  }
}

export function lookupsIn(world: World = {}): Lookups {
  const volumes = volumesIn(world)
  const from = (objects: Record<string, object> | undefined) => (name: string) => objects?.[name] as any
  return {
    namespaceLabels: name => world.namespaces?.[name] ?? {},
    namespacesMatching: ({ matches }) =>
      Object.entries(world.namespaces ?? {}).flatMap(([name, labels]) => (matches(labels) ? [name] : [])),
    serviceSelectors: () => world.services ?? [],
    workloadSelector: ({ name }) => world.workloads?.[name],
    claim: volumes.claim,
    volume: volumes.volume,
    volumes,
    storageClass: from(world.classes),
    csiNode: from(world.csiNodes),
    csiDriver: from(world.csiDrivers),
    attachmentsOn: node => (world.attachments ?? []).filter(({ spec }) => spec.nodeName === node) as any,
    devices: devicesIn(world),
  }
}

export const cycleOf = (pod: Pod, cluster: Cluster, world: World = {}): Cycle => ({
  pod,
  info: podInfoOf(pod),
  cluster,
  lookups: lookupsIn(world),
  state: new Map(),
})

/**
 * The result of a plugin for each node: `ok`, or the reason; `final` where preemption does not help. One string when it is about all of
 * them.
 */
export function filterResults(plugin: Plugin, cycle: Cycle): string | Record<string, string> {
  const filter = plugin.filter?.(cycle)
  if (!filter) return 'nothing to say'
  if (isRejection(filter)) return filter.reasons.join(', ')
  return Object.fromEntries(
    cycle.cluster.nodes.map(node => {
      const rejection = filter.test(node)
      return [node.name, rejection ? `${rejection.isUnresolvable ? 'unresolvable: ' : ''}${rejection.reasons.join(', ')}` : 'ok']
    }),
  )
}

/** The scores of a plugin, or undefined when it makes no difference. */
export function scoreResults(plugin: Plugin, cycle: Cycle): Record<string, number> | undefined {
  const { nodes } = cycle.cluster
  const scorer = plugin.score?.(cycle, nodes)
  if (!scorer) return undefined
  const scores = nodes.map(node => scorer.score(node))
  scorer.normalize?.(scores, nodes)
  return Object.fromEntries(nodes.map(({ name }, i) => [name, scores[i]!]))
}
