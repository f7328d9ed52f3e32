/** The plugins of the scheduler, in the order in which they are asked. */
import type { Plugin } from './plugin.ts'
import { balancedAllocation } from './plugins/balanced-allocation.ts'
import { dynamicResources } from './plugins/dynamic-resources.ts'
import { imageLocality } from './plugins/image-locality.ts'
import { interPodAffinity } from './plugins/inter-pod-affinity.ts'
import { nodeAffinity } from './plugins/node-affinity.ts'
import { nodeDeclaredFeatures } from './plugins/node-declared-features.ts'
import { nodeName } from './plugins/node-name.ts'
import { nodePorts } from './plugins/node-ports.ts'
import { nodeResourcesFit } from './plugins/node-resources-fit.ts'
import { nodeUnschedulable } from './plugins/node-unschedulable.ts'
import { nodeVolumeLimits } from './plugins/node-volume-limits.ts'
import { podTopologySpread } from './plugins/pod-topology-spread.ts'
import { schedulingGates } from './plugins/scheduling-gates.ts'
import { taintToleration } from './plugins/taint-toleration.ts'
import { volumeBinding } from './plugins/volume-binding.ts'
import { volumeRestrictions } from './plugins/volume-restrictions.ts'
import { volumeZone } from './plugins/volume-zone.ts'

/** The default profile of kube-scheduler. */
export const PLUGINS: readonly Plugin[] = [
  schedulingGates,
  nodeName,
  nodeUnschedulable,
  taintToleration,
  nodeAffinity,
  nodePorts,
  nodeResourcesFit,
  volumeRestrictions,
  nodeVolumeLimits,
  volumeBinding,
  volumeZone,
  podTopologySpread,
  interPodAffinity,
  dynamicResources,
  balancedAllocation,
  imageLocality,
  nodeDeclaredFeatures,
]

export const PLUGINS_BY_NAME: ReadonlyMap<string, Plugin> = new Map(PLUGINS.map(plugin => [plugin.name, plugin]))
