/** Computes when a finished job is deleted. */
import type { Job } from '../../kinds/batch/job.ts'
import { millisecondsAt } from '../../lib/time.ts'
import { finishedCondition } from '../job/job-state.ts'

/** In how many milliseconds a job is to be deleted; undefined when it is not over, is to stay or goes already. */
export function remainingLife({ metadata, spec, status }: Job, now: number): number | undefined {
  const finished = finishedCondition(status)
  if (metadata.deletionTimestamp || spec.ttlSecondsAfterFinished === undefined || !finished?.lastTransitionTime) return undefined
  const expires = millisecondsAt(finished.lastTransitionTime) + spec.ttlSecondsAfterFinished * 1000
  return Math.max(expires - now, 0)
}
