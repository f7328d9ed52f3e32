/** The condition that says why a pod is deleted. */
import type { ObjectMeta } from '../../schema/object-meta.ts'

type Why = { readonly reason: string; readonly message: string }
type Deleted = { readonly metadata: Pick<ObjectMeta, 'uid' | 'generation'> }

export const disruptionTarget = ({ metadata: { generation } }: Deleted, { reason, message }: Why, now: string) => ({
  type: 'DisruptionTarget',
  ...(generation !== undefined && { observedGeneration: generation }),
  status: 'True',
  lastTransitionTime: now,
  reason,
  message,
})

/** The condition as a strategic merge patch of the status. */
export const disruptionPatch = (pod: Deleted, why: Why, now: string): object => ({
  metadata: { uid: pod.metadata.uid },
  status: { conditions: [disruptionTarget(pod, why, now)] },
})
