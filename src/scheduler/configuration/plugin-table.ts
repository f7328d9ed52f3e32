/** The plugins of kube-scheduler: the extension points of each, and the constructor of each that this scheduler implements. */

import { tolerationsInEffect } from '../../kinds/rules/pod/scheduling/tolerance.ts'
import type { Plugin } from '../plugin.ts'
import { balancedAllocationWith } from '../plugins/balanced-allocation.ts'
import { deferredPodScheduling } from '../plugins/deferred-pod-scheduling.ts'
import { dynamicResourcesWith } from '../plugins/dynamic-resources.ts'
import { imageLocality } from '../plugins/image-locality.ts'
import { interPodAffinityWith } from '../plugins/inter-pod-affinity.ts'
import { nodeAffinityWith } from '../plugins/node-affinity.ts'
import { nodeDeclaredFeatures } from '../plugins/node-declared-features.ts'
import { nodeName } from '../plugins/node-name.ts'
import { nodePorts } from '../plugins/node-ports.ts'
import { nodeResourcesFitWith } from '../plugins/node-resources-fit.ts'
import { nodeUnschedulableWith } from '../plugins/node-unschedulable.ts'
import { nodeVolumeLimits } from '../plugins/node-volume-limits.ts'
import { podTopologySpreadWith } from '../plugins/pod-topology-spread.ts'
import { schedulingGates } from '../plugins/scheduling-gates.ts'
import { taintTolerationWith } from '../plugins/taint-toleration.ts'
import { volumeBindingWith } from '../plugins/volume-binding.ts'
import { volumeRestrictions } from '../plugins/volume-restrictions.ts'
import { volumeZone } from '../plugins/volume-zone.ts'
import type { CompleteArgs, Gate } from './args.ts'
import type { Plugins } from './types.ts'

/** A point of a decision, as the configuration calls it. */
export type Point = Exclude<keyof Plugins, 'multiPoint'>

/** The points in the order in which kube-scheduler looks at them, each with the interface that its errors name. */
export const POINTS: readonly (readonly [point: Point, interfaceName: string])[] = [
  ['preFilter', 'PreFilterPlugin'],
  ['filter', 'FilterPlugin'],
  ['postFilter', 'PostFilterPlugin'],
  ['reserve', 'ReservePlugin'],
  ['preScore', 'PreScorePlugin'],
  ['score', 'ScorePlugin'],
  ['preBind', 'PreBindPlugin'],
  ['bind', 'BindPlugin'],
  ['postBind', 'PostBindPlugin'],
  ['permit', 'PermitPlugin'],
  ['preEnqueue', 'PreEnqueuePlugin'],
  ['queueSort', 'QueueSortPlugin'],
  ['placementGenerate', 'PlacementGeneratePlugin'],
  ['placementScore', 'PlacementScorePlugin'],
  ['podGroupPostFilter', 'PodGroupPostFilterPlugin'],
]

export type PluginEntry = {
  readonly points: readonly Point[]
  /** Undefined for plugins that are missing, and for those whose work another part of this scheduler does. */
  readonly make?: (args: CompleteArgs, gate: Gate) => Plugin
}

const FILTER = ['preFilter', 'filter'] as const
const SCORE = ['preScore', 'score'] as const

export const PLUGIN_TABLE: ReadonlyMap<string, PluginEntry> = new Map<string, PluginEntry>([
  ['DefaultBinder', { points: ['bind'] }],
  ['DefaultPreemption', { points: ['postFilter', 'preEnqueue'] }],
  ['DeferredPodScheduling', { points: [...FILTER, 'permit'], make: () => deferredPodScheduling }],
  [
    'DynamicResources',
    {
      points: ['preEnqueue', ...FILTER, 'postFilter', 'podGroupPostFilter', 'score', 'reserve', 'preBind'],
      make: args => dynamicResourcesWith(args.DynamicResources),
    },
  ],
  ['GangScheduling', { points: ['preEnqueue', 'permit'] }],
  ['ImageLocality', { points: ['score'], make: () => imageLocality }],
  ['InterPodAffinity', { points: [...FILTER, ...SCORE], make: args => interPodAffinityWith(args.InterPodAffinity) }],
  ['NodeAffinity', { points: [...FILTER, ...SCORE], make: args => nodeAffinityWith(args.NodeAffinity) }],
  ['NodeDeclaredFeatures', { points: FILTER, make: () => nodeDeclaredFeatures }],
  ['NodeName', { points: FILTER, make: () => nodeName }],
  ['NodePorts', { points: FILTER, make: () => nodePorts }],
  ['NodeResourcesBalancedAllocation', { points: SCORE, make: args => balancedAllocationWith(args.NodeResourcesBalancedAllocation) }],
  ['NodeResourcesFit', { points: [...FILTER, ...SCORE, 'placementScore'], make: args => nodeResourcesFitWith(args.NodeResourcesFit) }],
  ['NodeUnschedulable', { points: FILTER, make: (_, gate) => nodeUnschedulableWith(tolerationsInEffect(gate)) }],
  ['NodeVolumeLimits', { points: FILTER, make: () => nodeVolumeLimits }],
  ['PodGroupPodsCount', { points: ['placementScore'] }],
  [
    'PodTopologySpread',
    { points: [...FILTER, ...SCORE], make: (args, gate) => podTopologySpreadWith(args.PodTopologySpread, tolerationsInEffect(gate)) },
  ],
  ['PrioritySort', { points: ['queueSort'] }],
  ['SchedulingGates', { points: ['preEnqueue'], make: () => schedulingGates }],
  ['TaintToleration', { points: [...FILTER, ...SCORE], make: (_, gate) => taintTolerationWith(tolerationsInEffect(gate)) }],
  ['TopologyPlacementGenerator', { points: ['placementGenerate'] }],
  ['VolumeBinding', { points: [...FILTER, 'reserve', 'preBind', ...SCORE], make: args => volumeBindingWith(args.VolumeBinding) }],
  ['VolumeRestrictions', { points: FILTER, make: () => volumeRestrictions }],
  ['VolumeZone', { points: FILTER, make: () => volumeZone }],
])
