/** Decides which pods the pod garbage collector deletes: those that no kubelet will end. */
import { isConditionTrue } from '../../schema/conditions.ts'
import type { AnyObject } from '../../schema/object-meta.ts'
import { disruptionTarget } from '../pods/disruption-target.ts'

export type Verdict =
  /** Mark it as failed and delete it at once; `isLost` when its node is gone. */
  | { readonly step: 'delete'; readonly isLost: boolean }
  /** Look again when its node has been missing for a while. */
  | { readonly step: 'wait'; readonly ms: number }

/** How long a node may be missing before its pods are deleted. */
export const QUARANTINE_MS = 40_000
const OUT_OF_SERVICE = 'node.kubernetes.io/out-of-service'

/** Whether a node has the taint out-of-service. */
export const isOutOfService = (node: AnyObject | undefined): boolean =>
  (node?.['spec']?.taints ?? []).some(({ key }: { key: string }) => key === OUT_OF_SERVICE)

/** `node` is the one that the pod is bound to, if it is there; `missingMs` how long it has been missing if it is not. */
export function verdictOn(pod: AnyObject, node: AnyObject | undefined, missingMs: number): Verdict | undefined {
  const { deletionTimestamp, deletionGracePeriodSeconds, finalizers = [] } = pod.metadata
  const isBound = Boolean(pod['spec'].nodeName)
  const isMissing = isBound && !node
  if (deletionTimestamp === undefined)
    return !isMissing
      ? undefined
      : missingMs < QUARANTINE_MS
        ? { step: 'wait', ms: QUARANTINE_MS - missingMs }
        : { step: 'delete', isLost: true }
  const isLeft = !isBound || isMissing || (!isReady(node!) && isOutOfService(node))
  // Nothing is left to do: finalizers of others keep it.
  const isDone = Number(deletionGracePeriodSeconds ?? 0) === 0 && finalizers.length > 0 && isOver(pod)
  return isLeft && !isDone ? { step: 'delete', isLost: isMissing } : undefined
}

/** A strategic merge patch that marks such a pod as failed; undefined when it has ended already. */
export function failedStatus(pod: AnyObject, isLost: boolean, now: string): object | undefined {
  if (isOver(pod)) return undefined
  const { uid, generation } = pod.metadata
  const observed = generation === undefined ? {} : { observedGeneration: generation }
  const condition = disruptionTarget(pod, { reason: 'DeletionByPodGC', message: 'PodGC: node no longer exists' }, now)
  return { metadata: { uid }, status: { phase: 'Failed', ...observed, ...(isLost && { conditions: [condition] }) } }
}

const isOver = ({ status }: AnyObject): boolean => status?.phase === 'Succeeded' || status?.phase === 'Failed'
const isReady = ({ status }: AnyObject): boolean => isConditionTrue(status?.conditions, 'Ready')
