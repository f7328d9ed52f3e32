/** Decides when a pod is evicted because of taints that it does not tolerate, or only for a limited time. */
import type { Pod } from '../../kinds/core/pod/pod.ts'
import { type InEffect, isTolerated } from '../../kinds/rules/pod/scheduling/tolerance.ts'
import type { Taint } from '../../kinds/rules/taints.ts'
import { disruptionPatch } from '../pods/disruption-target.ts'

/** The taints that evict running pods. */
export const drivingTaints = (taints: readonly Taint[] | undefined): Taint[] =>
  (taints ?? []).filter(({ effect }) => effect === 'NoExecute')

/** After how many milliseconds a pod has to leave; undefined when it may stay. */
export function timeToLeave({ spec }: Pod, taints: readonly Taint[], inEffect: InEffect): number | undefined {
  if (taints.length === 0) return undefined
  const used = []
  for (const taint of taints) {
    const toleration = inEffect(spec.tolerations).find(each => isTolerated(taint, [each]))
    if (!toleration) return 0
    used.push(toleration)
  }
  const seconds = used.flatMap(({ tolerationSeconds }) => (tolerationSeconds === undefined ? [] : [Number(tolerationSeconds)]))
  return seconds.length === 0 ? undefined : Math.max(0, Math.min(...seconds)) * 1000
}

export const evictionPatch = (pod: Pod, now: string): object =>
  disruptionPatch(pod, { reason: 'DeletionByTaintManager', message: 'Taint manager: deleting due to NoExecute taint' }, now)
