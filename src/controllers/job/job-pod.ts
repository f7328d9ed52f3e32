/** Reads from a pod its part in a job: index, failure count, and when it ended. */

import type { JobSpec } from '../../kinds/batch/job-shapes.ts'
import type { Pod } from '../../kinds/core/pod/pod.ts'
import { millisecondsAt } from '../../lib/time.ts'
import { podCondition } from '../pods/pod-state.ts'

/** Keeps a pod until it is counted. */
export const TRACKING_FINALIZER = 'batch.kubernetes.io/job-tracking'
/** A strategic merge patch that removes it. */
export const UNTRACK = { metadata: { '$deleteFromPrimitiveList/finalizers': [TRACKING_FINALIZER] } }
/** Both an annotation and a label. */
export const COMPLETION_INDEX = 'batch.kubernetes.io/job-completion-index'
export const FAILURE_COUNT = 'batch.kubernetes.io/job-index-failure-count'
export const IGNORED_FAILURE_COUNT = 'batch.kubernetes.io/job-index-ignored-failure-count'

export const isTracked = ({ metadata }: Pod): boolean => metadata.finalizers?.includes(TRACKING_FINALIZER) ?? false
export const isSucceeded = ({ status }: Pod): boolean => status.phase === 'Succeeded'
export const isIndexed = ({ completionMode }: JobSpec): boolean => completionMode === 'Indexed'
export const replacesOnlyFailed = ({ podReplacementPolicy }: JobSpec): boolean => podReplacementPolicy === 'Failed'

/** A pod that is deleted before it has ended failed, unless the job waits for its end. */
export function isFailed({ metadata, status }: Pod, spec: JobSpec): boolean {
  if (status.phase === 'Failed') return true
  return !replacesOnlyFailed(spec) && metadata.deletionTimestamp !== undefined && status.phase !== 'Succeeded'
}

/** The index a pod works on; undefined when it says none, or none below `completions`. */
export function completionIndex({ metadata }: Pod, completions = Number.POSITIVE_INFINITY): number | undefined {
  const text = metadata.annotations?.[COMPLETION_INDEX] ?? ''
  const index = /^\+?[0-9]{1,15}$/.test(text) ? Number(text) : undefined
  return index !== undefined && index < completions ? index : undefined
}

/** How often pods of the same index failed before this one: failures that count, and those that a policy ignores. */
export function earlierFailures({ metadata: { annotations = {} } }: Pod): { readonly counted: number; readonly ignored: number } {
  return { counted: readCount(annotations[FAILURE_COUNT]), ignored: readCount(annotations[IGNORED_FAILURE_COUNT]) }
}

function readCount(text = ''): number {
  const count = /^\+?[0-9]{1,10}$/.test(text) ? Number(text) : 0
  return count < 2 ** 31 ? count : 0
}

/** When a pod ended: when its last container did, or else when it stopped being ready, was deleted or, failing all that, created. */
export function endOf(pod: Pod): number {
  const { deletionTimestamp, deletionGracePeriodSeconds = 0, creationTimestamp } = pod.metadata
  const ended = endOfContainers(pod)
  if (ended !== undefined) return ended
  const ready = podCondition(pod, 'Ready')
  if (ready?.status === 'False' && ready.lastTransitionTime) return millisecondsAt(ready.lastTransitionTime)
  if (deletionTimestamp) return millisecondsAt(deletionTimestamp) - Number(deletionGracePeriodSeconds) * 1000
  return millisecondsAt(creationTimestamp)
}

/** Containers that run beside the others count, containers that run before them do not. */
function endOfContainers({ spec, status }: Pod): number | undefined {
  const sidecars = new Set(spec.initContainers?.filter(c => c.restartPolicy === 'Always').map(c => c.name))
  const beside = status.initContainerStatuses?.filter(({ name }) => sidecars.has(name)) ?? []
  let last: number | undefined
  for (const statuses of [status.containerStatuses ?? [], beside])
    for (const { state } of statuses) {
      const finishedAt = state?.terminated?.finishedAt
      if (!finishedAt) return undefined
      last = Math.max(last ?? 0, millisecondsAt(finishedAt))
    }
  return last
}
