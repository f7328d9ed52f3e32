/** The plugins that take part without being named, and how a profile adds to them, replaces and removes some. */
import type { PluginSet, Plugins } from './types.ts'

type PluginEntry = NonNullable<PluginSet['enabled']>[number]

/** All of these take part wherever they can; the feature gates decide about some. */
export function defaultPlugins(gate: (name: string) => boolean): readonly PluginEntry[] {
  return [
    { name: 'SchedulingGates' },
    { name: 'PrioritySort' },
    { name: 'NodeName' },
    { name: 'NodeUnschedulable' },
    { name: 'TaintToleration', weight: 3 },
    { name: 'NodeAffinity', weight: 2 },
    { name: 'NodePorts' },
    ...(gate('InPlacePodVerticalScalingSchedulerPreemption') ? [{ name: 'DeferredPodScheduling' }] : []),
    { name: 'NodeResourcesFit', weight: 1 },
    { name: 'VolumeRestrictions' },
    { name: 'NodeVolumeLimits' },
    { name: 'VolumeBinding' },
    { name: 'VolumeZone' },
    { name: 'PodTopologySpread', weight: 2 },
    { name: 'InterPodAffinity', weight: 2 },
    // Idle devices are given back before pods are evicted.
    { name: 'DynamicResources', weight: 2 },
    { name: 'DefaultPreemption' },
    { name: 'NodeResourcesBalancedAllocation', weight: 1 },
    { name: 'ImageLocality', weight: 1 },
    { name: 'DefaultBinder' },
    ...(gate('NodeDeclaredFeatures') ? [{ name: 'NodeDeclaredFeatures' }] : []),
    ...(gate('GenericWorkload') ? [{ name: 'GangScheduling' }] : []),
    ...(gate('TopologyAwareWorkloadScheduling') ? [{ name: 'TopologyPlacementGenerator' }, { name: 'PodGroupPodsCount', weight: 1 }] : []),
  ]
}

/** The plugins of a profile together with the default ones. */
export function withDefaults(custom: Plugins | undefined, gate: (name: string) => boolean): Plugins {
  const multiPoint = { enabled: [...defaultPlugins(gate)] }
  return custom ? { ...custom, multiPoint: merged(multiPoint, custom.multiPoint) } : ({ multiPoint } as Plugins)
}

/** A default plugin that is enabled again keeps its place and takes the new weight; the other ones come after all defaults. */
function merged(defaults: PluginSet, { enabled = [], disabled = [] }: PluginSet): PluginSet {
  const removed = new Set(disabled.map(({ name }) => name))
  const replaced = new Set<number>()
  const kept = removed.has('*') ? [] : (defaults.enabled ?? []).filter(({ name }) => !removed.has(name))
  const plugins = kept.map(plugin => {
    // The last of several with the same name counts; the others stay, and are refused as registered twice.
    const i = enabled.findLastIndex(({ name }) => name === plugin.name)
    if (i < 0) return plugin
    replaced.add(i)
    return enabled[i]!
  })
  return { enabled: [...plugins, ...enabled.filter((_, i) => !replaced.has(i))], disabled }
}

/** The plugins that take part at any point. */
export function neededPlugins({ multiPoint, ...points }: Plugins): ReadonlySet<string> {
  return new Set([multiPoint, ...Object.values(points)].flatMap(set => (set?.enabled ?? []).map(({ name }) => name)))
}
