/** Runs the pods of jobs until enough of them have succeeded, or too many have failed. */

import { type Change, namedBy, queueKey } from '../../client/change.ts'
import { Job } from '../../kinds/batch/job.ts'
import { Pod } from '../../kinds/core/pod/pod.ts'
import { labelTermsOf } from '../../kinds/rules/meta.ts'
import { type Controller, defineController, type Watch, watch } from '../controller.ts'
import { watchDependents } from '../pods/ownership.ts'
import type { jobGroups } from './job-groups.ts'
import { isTracked } from './job-pod.ts'
import { JobReconciler } from './job-reconciler.ts'
import { isFinished } from './job-state.ts'
import { OrphanReleaser } from './orphan-releaser.ts'

/** Keys of pods that may have a finalizer that no job removes any more, and of all pods of a job that is over or gone. */
const ORPHAN = 'pod:'
const ORPHANS_OF = 'pods-of:'

/** How long changes of the pods of a job are collected: the more pods a job has, the longer its reconcile takes. */
const collectionMs = (pods: number): number => (pods < 20 ? 0 : Math.min(pods / 2, 1000))

/** `groups` makes the part that has the pods of a job scheduled together; without it they are scheduled as any others. */
export const jobControllerWith = (groups: typeof jobGroups | undefined): Controller =>
  defineController({
    name: 'job-controller',
    identity: 'job-controller',
    workers: 5,
    backOff: { firstMs: 1000, lastMs: 60_000, perSecond: 100, burst: 1000 },
    create({ client, recorder, gate, enqueue }) {
      const pods = client.of(Pod)
      const jobs = new JobReconciler({ client, recorder, gate, groups: groups?.({ client, recorder }) })
      const orphans = new OrphanReleaser(client)
      const watchPods = watchDependents(Pod, { owners: client.of(Job), selectorOf: ({ spec }) => labelTermsOf(spec.selector) })
      const collectPods: Watch = {
        start: (client, _, signal) => watchPods.start(client, key => enqueue(key, collectionMs(jobs.podCountOf(key))), signal),
      }
      return {
        watches: [watch(Job, keysOfJob), collectPods, watch(Pod, keyOfOrphan)],
        async reconcile(key) {
          if (key.startsWith(ORPHAN)) return orphans.release(pods.get(namedBy(key.slice(ORPHAN.length))))
          if (key.startsWith(ORPHANS_OF)) return orphans.releaseAllOf(key.slice(ORPHANS_OF.length))
          return jobs.reconcile(key)
        },
      }
    },
  })

export const jobController: Controller = jobControllerWith(undefined)

function keysOfJob({ type, current }: Change<Job>): string[] {
  const isOver = type === 'deleted' || (current.object !== undefined && isFinished(current.object))
  return isOver ? [queueKey(current), `${ORPHANS_OF}${current.uid}`] : [queueKey(current)]
}

/** The key of a pod that has lost its job, or is about to be deleted. */
function keyOfOrphan({ type, current, previous }: Change<Pod>): string | undefined {
  const mayBeOrphan = current.terminating || current.owners.length === 0 || (previous && previous.owners.length !== current.owners.length)
  return type !== 'deleted' && mayBeOrphan && current.object && isTracked(current.object) ? `${ORPHAN}${queueKey(current)}` : undefined
}
