/** Removes the tracking finalizer from pods that no job tracks any more, so that they can be deleted. */
import type { Client, ResourceClient } from '../../client/client.ts'
import { OWNER_INDEX } from '../../client/informer.ts'
import { Job } from '../../kinds/batch/job.ts'
import { Pod } from '../../kinds/core/pod/pod.ts'
import { labelTermsOf } from '../../kinds/rules/meta.ts'
import { matchesLabelTerms } from '../../schema/selectors.ts'
import { controllerOf } from '../pods/ownership.ts'
import { concurrently } from './concurrently.ts'
import { isTracked, UNTRACK } from './job-pod.ts'
import { isFinished, isManagedHere } from './job-state.ts'

export class OrphanReleaser {
  readonly #jobs: ResourceClient<Job>
  readonly #pods: ResourceClient<Pod>

  constructor(client: Client) {
    this.#jobs = client.of(Job)
    this.#pods = client.of(Pod)
  }

  /** Releases a pod, if no job does. */
  async release(pod: Pod | undefined): Promise<void> {
    if (pod && isTracked(pod) && !this.#hasJob(pod)) await this.#pods.patch(pod.metadata, UNTRACK, { type: 'strategic' })
  }

  /** Releases all pods of a job that is finished or deleted. */
  async releaseAllOf(jobUid: string): Promise<void> {
    const { error } = await concurrently([...this.#pods.byIndex(OWNER_INDEX, jobUid)], pod => this.release(pod))
    if (error) throw error
  }

  /** Whether a job counts the pod, or is about to adopt it; a controller of another kind has to remove the finalizer itself. */
  #hasJob(pod: Pod): boolean {
    const owner = controllerOf(pod)
    if (!owner) return this.#isAdoptable(pod)
    if (owner.kind !== 'Job' || owner.apiVersion !== 'batch/v1') return true
    const job = this.#jobs.get({ namespace: pod.metadata.namespace!, name: owner.name })
    return job?.metadata.uid === owner.uid && !(isManagedHere(job.spec) && isFinished(job))
  }

  #isAdoptable({ metadata: { namespace = '', labels, deletionTimestamp } }: Pod): boolean {
    if (deletionTimestamp) return false
    for (const job of this.#jobs.list({ namespace })) {
      const { metadata, spec } = job
      const terms = labelTermsOf(spec.selector)
      const mayAdopt = !metadata.deletionTimestamp && !isFinished(job) && isManagedHere(spec)
      if (mayAdopt && terms && matchesLabelTerms(terms, labels)) return true
    }
    return false
  }
}
