/** Profiles: which plugins decide about the pods that name a scheduler, in the order in which they are asked. */
import { tolerationsInEffect } from '../kinds/rules/pod/scheduling/tolerance.ts'
import type { Plugin } from './plugin.ts'
import { balancedAllocation } from './plugins/balanced-allocation.ts'
import { deferredPodScheduling } from './plugins/deferred-pod-scheduling.ts'
import { defaultDynamicResources } from './plugins/dynamic-resources.ts'
import { imageLocality } from './plugins/image-locality.ts'
import { interPodAffinity } from './plugins/inter-pod-affinity.ts'
import { nodeAffinity } from './plugins/node-affinity.ts'
import { nodeDeclaredFeatures } from './plugins/node-declared-features.ts'
import { nodeName } from './plugins/node-name.ts'
import { nodePorts } from './plugins/node-ports.ts'
import { nodeResourcesFit } from './plugins/node-resources-fit.ts'
import { nodeUnschedulableWith } from './plugins/node-unschedulable.ts'
import { nodeVolumeLimits } from './plugins/node-volume-limits.ts'
import { podTopologySpreadWith } from './plugins/pod-topology-spread.ts'
import { schedulingGates } from './plugins/scheduling-gates.ts'
import { taintTolerationWith } from './plugins/taint-toleration.ts'
import { BIND_TIMEOUT_MS, volumeBinding, volumeBindingWith } from './plugins/volume-binding.ts'
import { volumeRestrictions } from './plugins/volume-restrictions.ts'
import { volumeZone } from './plugins/volume-zone.ts'
import { DEFAULT_PREEMPTION, type PreemptionArgs } from './preemption.ts'

export const DEFAULT_SCHEDULER = 'default-scheduler'

/** A plugin may take part at some points of a decision and not at others, at each in another order. */
export type Profile = {
  /** Pods that have this scheduler name are decided by the profile. */
  readonly schedulerName: string
  readonly gates: readonly Plugin[]
  readonly filters: readonly Plugin[]
  readonly scorers: readonly WeightedPlugin[]
  readonly postFilters: readonly Plugin[]
  readonly groupPostFilters: readonly Plugin[]
  readonly reservers: readonly Plugin[]
  /** How room is made for pods that no node fits; undefined when it is not. */
  readonly preemption: PreemptionArgs | undefined
  /** The share of nodes that is enough to choose from, in percent; 0 for one by the number of nodes. */
  readonly percentageOfNodesToScore: number
  /** Every plugin that takes part anywhere. */
  readonly byName: ReadonlyMap<string, Plugin>
}
export type WeightedPlugin = { readonly plugin: Plugin; readonly weight: number }

/** The profile that decides about the pods with a scheduler name. */
export type ProfileOf = (schedulerName: string | undefined) => Profile

/** The profile in which every plugin takes part wherever it can. */
export function profileWith(plugins: readonly Plugin[], schedulerName = DEFAULT_SCHEDULER): Profile {
  return {
    schedulerName,
    gates: plugins.filter(({ gate }) => gate),
    filters: plugins.filter(({ filter }) => filter),
    scorers: plugins.flatMap(plugin => (plugin.score ? [{ plugin, weight: plugin.weight ?? 1 }] : [])),
    postFilters: plugins.filter(({ postFilter }) => postFilter),
    groupPostFilters: plugins.filter(({ groupPostFilter }) => groupPostFilter),
    reservers: plugins.filter(({ reserve }) => reserve),
    preemption: DEFAULT_PREEMPTION,
    percentageOfNodesToScore: 0,
    byName: new Map(plugins.map(plugin => [plugin.name, plugin])),
  }
}

/** The plugins of the default profile of kube-scheduler; feature gates decide about some. */
const defaultPlugins = (gate: (name: string) => boolean): readonly Plugin[] => [
  schedulingGates,
  nodeName,
  nodeUnschedulableWith(tolerationsInEffect(gate)),
  taintTolerationWith(tolerationsInEffect(gate)),
  nodeAffinity,
  nodePorts,
  ...(gate('InPlacePodVerticalScalingSchedulerPreemption') ? [deferredPodScheduling] : []),
  nodeResourcesFit,
  volumeRestrictions,
  nodeVolumeLimits,
  gate('StorageCapacityScoring') ? volumeBinding : volumeBindingWith({ bindTimeoutMs: BIND_TIMEOUT_MS, shape: undefined }),
  volumeZone,
  podTopologySpreadWith({}, tolerationsInEffect(gate)),
  interPodAffinity,
  defaultDynamicResources(gate),
  balancedAllocation,
  imageLocality,
  ...(gate('NodeDeclaredFeatures') ? [nodeDeclaredFeatures] : []),
]

/** The profile of a scheduler without a configuration file. */
export const defaultProfile = (gate: (name: string) => boolean): Profile => profileWith(defaultPlugins(gate))

/** The same with all features. */
export const DEFAULT_PROFILE = defaultProfile(() => true)
