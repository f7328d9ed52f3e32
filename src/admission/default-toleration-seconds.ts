/** Pods stay five minutes on nodes that are not ready or out of reach, unless they say how long. */
import type { Toleration } from '../kinds/shapes/pod/scheduling/affinity.ts'
import type { PodSpec } from '../kinds/shapes/pod/spec.ts'
import type { Attributes, Plugin } from './plugin.ts'

const TAINTS = ['node.kubernetes.io/not-ready', 'node.kubernetes.io/unreachable']
const EFFECT = 'NoExecute'
const SECONDS = 300

export const defaultTolerationSeconds: Plugin = {
  name: 'DefaultTolerationSeconds',
  mutate({ operation, resource, subresource, object }: Attributes) {
    if ((operation !== 'CREATE' && operation !== 'UPDATE') || subresource !== '') return
    if (resource.group !== '' || resource.plural !== 'pods' || !object) return
    const spec = object['spec'] as PodSpec
    const given = spec.tolerations ?? []
    const missing = TAINTS.filter(taint => !given.some(toleration => covers(toleration, taint)))
    if (missing.length > 0)
      spec.tolerations = [...given, ...missing.map(key => ({ key, operator: 'Exists', effect: EFFECT, tolerationSeconds: SECONDS }))]
  },
}

const covers = ({ key, effect }: Toleration, taint: string): boolean => (!key || key === taint) && (!effect || effect === EFFECT)
