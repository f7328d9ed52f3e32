/** LimitPodHardAntiAffinityTopology: required anti-affinity keeps pods off single nodes only, never off whole zones. */
import type { Plugin } from '../plugin.ts'
import { forbidden, podSpecOf } from '../refusal.ts'

const HOSTNAME = 'kubernetes.io/hostname'

export const limitPodHardAntiAffinityTopology: Plugin = {
  name: 'LimitPodHardAntiAffinityTopology',
  validate(attributes) {
    const terms = podSpecOf(attributes)?.affinity?.podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []
    const other = terms.find(({ topologyKey }) => topologyKey !== HOSTNAME)
    if (other)
      throw forbidden(
        attributes,
        `affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey ${other.topologyKey} but only key ${HOSTNAME} is allowed`,
      )
  },
}
