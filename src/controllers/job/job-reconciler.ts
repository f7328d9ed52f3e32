/** Reconciles one job: creates and deletes its pods, counts those that have ended, and writes its status. */
import { namedBy } from '../../client/change.ts'
import type { Client, ResourceClient } from '../../client/client.ts'
import { type EventRecorder, recordAll } from '../../client/event-recorder.ts'
import { Job } from '../../kinds/batch/job.ts'
import { Pod } from '../../kinds/core/pod/pod.ts'
import { labelTermsOf } from '../../kinds/rules/meta.ts'
import type { PodGroup } from '../../kinds/scheduling/podgroup.ts'
import { deepEqual } from '../../lib/json-value.ts'
import { isNamespaceTerminating } from '../../schema/status-error.ts'
import { claimSelected } from '../pods/ownership.ts'
import { type PodControl, podControl } from '../pods/pod-control.ts'
import { slowStart } from '../pods/slow-start.ts'
import type { FailureRecord } from './back-off.ts'
import { concurrently } from './concurrently.ts'
import type { JobGroups } from './job-groups.ts'
import { isTracked, TRACKING_FINALIZER, UNTRACK } from './job-pod.ts'
import { isFinished, isManagedHere } from './job-state.ts'
import { podForJob } from './pod-for-job.ts'
import { type Assessment, assess, countReleased, type PodOutcome, type PodPlan, type Progress, planPods, trackPods } from './reconcile.ts'

export type JobReconcilerParts = {
  readonly client: Client
  readonly recorder: EventRecorder
  /** Whether a feature gate is on. */
  readonly gate: (name: string) => boolean
  /** The groups of the pods of jobs; undefined when they have none. */
  readonly groups?: JobGroups | undefined
}

/** State of a job between two reconciles. */
type Memory = { readonly uid: string; readonly podCount: number; readonly record: FailureRecord | undefined }

export class JobReconciler {
  readonly #parts: JobReconcilerParts
  readonly #jobs: ResourceClient<Job>
  readonly #pods: ResourceClient<Pod>
  readonly #control: PodControl
  /** How many pods each job had, and how often they failed, by the job's key: jobs wait the longer, the more often they did. */
  readonly #memories = new Map<string, Memory>()

  constructor(parts: JobReconcilerParts) {
    this.#parts = parts
    this.#jobs = parts.client.of(Job)
    this.#pods = parts.client.of(Pod)
    this.#control = podControl(this.#pods, parts.recorder)
  }

  /** How many pods the job had when it was reconciled last. */
  podCountOf(key: string): number {
    return this.#memories.get(key)?.podCount ?? 0
  }

  /** Resolves to the milliseconds until the job has to be reconciled again. */
  async reconcile(key: string): Promise<number | undefined> {
    const job = this.#jobs.get(namedBy(key))
    if (!job || isFinished(job)) this.#memories.delete(key)
    const terms = job && labelTermsOf(job.spec.selector)
    if (!job || !terms || isFinished(job) || !isManagedHere(job.spec)) return undefined
    const { uid = '' } = job.metadata
    const owned = { owner: job, owners: this.#jobs, objects: this.#pods, finalizers: [TRACKING_FINALIZER] }
    const pods = await claimSelected(owned, terms)
    const known = this.#memories.get(key)
    const memory: Memory = { uid, podCount: pods.length, record: known?.uid === uid ? known.record : undefined }
    this.#memories.set(key, memory)

    const { client, gate } = this.#parts
    const group = await this.#parts.groups?.groupOf(job, pods)
    const assessment = assess({
      job,
      pods,
      now: client.now.getTime(),
      record: memory.record,
      forgetsStart: gate('MutableSchedulingDirectivesForSuspendedJobs'),
    })
    const plan = planPods(assessment)
    const { outcome, error } = await this.#carryOut(job, plan, group)
    const progress = trackPods(assessment, plan, outcome)
    const announced = await this.#writeStatus(job, progress.status)
    this.#memories.set(key, { ...memory, record: assessment.record })
    recordAll(this.#parts.recorder, job, progress.events)

    const releaseError = await this.#count(job, announced, progress)
    if (error ?? releaseError) throw error ?? releaseError
    return nextLook(plan, assessment)
  }

  async #carryOut(
    job: Job,
    plan: PodPlan,
    group: PodGroup | undefined,
  ): Promise<{ readonly outcome: PodOutcome; readonly error: unknown }> {
    const remove = await concurrently(plan.remove, async pod => {
      if (!plan.removedCount && isTracked(pod)) await this.#untrack(pod)
      await this.#control.delete(job, pod)
    })
    const create = await slowStart(plan.create.length, async i => {
      try {
        await this.#control.create(job, podForJob(job, plan.create[i]!, group))
      } catch (error) {
        if (!isNamespaceTerminating(error)) throw error
      }
    })
    return { outcome: { removed: remove.done, created: create.done }, error: remove.error ?? create.error }
  }

  /** Removes the finalizers of pods that the status names, and counts them. Resolves to the first error. */
  async #count(job: Job, announced: Job, progress: Progress): Promise<unknown> {
    const { client, recorder } = this.#parts
    const { done, error } = await concurrently(progress.release, pod => this.#untrack(pod))
    const released = new Set(done.map(({ metadata }) => metadata.uid!))
    const concluded = error ? { ...progress, ending: undefined } : progress
    const conclusion = countReleased(job, concluded, { released, now: client.now.getTime() })
    const written = await this.#writeStatus(announced, conclusion.status)
    recordAll(recorder, written, conclusion.events)
    return error
  }

  /** Resolves to the job as it is stored then. */
  async #writeStatus(job: Job, status: Job['status']): Promise<Job> {
    if (deepEqual(status, job.status)) return job
    return (await this.#jobs.updateStatus({ ...job, status }))?.object ?? job
  }

  async #untrack(pod: Pod): Promise<void> {
    await this.#pods.patch(pod.metadata, UNTRACK, { type: 'strategic' })
  }
}

/** The earlier of the time when a pod may be replaced and of the job's deadline, in milliseconds from now. */
function nextLook({ waitMs }: PodPlan, { ending, deadlineMs }: Assessment): number | undefined {
  const waits = [waitMs, ending ? undefined : deadlineMs].filter(ms => ms !== undefined)
  return waits.length > 0 ? Math.min(...waits) : undefined
}
