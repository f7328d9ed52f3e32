/** Runs the pods of jobs until enough of them have succeeded, or too many have failed. */

import { type Change, namedBy, queueKey } from '../../client/change.ts'
import { recordAll } from '../../client/event-recorder.ts'
import { OWNER_INDEX } from '../../client/informer.ts'
import { Job } from '../../kinds/batch/job.ts'
import { Pod } from '../../kinds/core/pod/pod.ts'
import { labelTermsOf } from '../../kinds/rules/meta.ts'
import { deepEqual } from '../../lib/json-value.ts'
import { matchesLabelTerms } from '../../schema/selectors.ts'
import { isNamespaceTerminating } from '../../schema/status-error.ts'
import { defineController, type Watch, watch } from '../controller.ts'
import { claimSelected, controllerOf, watchDependents } from '../pods/ownership.ts'
import { podControl } from '../pods/pod-control.ts'
import { slowStart } from '../pods/slow-start.ts'
import type { FailureRecord } from './back-off.ts'
import { isTracked, TRACKING_FINALIZER } from './job-pod.ts'
import { isFinished, isManagedHere } from './job-state.ts'
import { podForJob } from './pod-for-job.ts'
import { assess, countReleased, type PodPlan, planPods, trackPods } from './reconcile.ts'

/** Keys of pods that may have a finalizer that no job removes any more, and of all pods of a job that is over or gone. */
const LEFT_POD = 'pod:'
const LEFT_BY = 'pods-of:'

/** For how long changes of the pods of a job are collected: a look at it takes the longer, the more pods it has. */
const collectionMs = (pods: number): number => (pods < 20 ? 0 : Math.min(pods / 2, 1000))

const RELEASE = { metadata: { '$deleteFromPrimitiveList/finalizers': [TRACKING_FINALIZER] } }

export const jobController = defineController({
  name: 'job-controller',
  identity: 'job-controller',
  workers: 5,
  backOff: { firstMs: 1000, lastMs: 60_000, perSecond: 100, burst: 1000 },
  create({ client, recorder, enqueue }) {
    const [jobs, pods] = [client.of(Job), client.of(Pod)]
    const control = podControl(pods, recorder)
    /** How often the pods of each job failed, by the job's key: jobs wait the longer, the more often they did. */
    const failures = new Map<string, { readonly uid: string; readonly record: FailureRecord }>()

    /** How many pods each job had the last time: changes of the pods of large jobs are collected for a while. */
    const sizes = new Map<string, number>()
    const watchPods = watchDependents(Pod, { owners: jobs, selectorOf: ({ spec }) => labelTermsOf(spec.selector) })
    const collectPods: Watch = {
      start: (client, _, signal) => watchPods.start(client, key => enqueue(key, collectionMs(sizes.get(key) ?? 0)), signal),
    }

    const release = (pod: Pod) => pods.patch(pod.metadata, RELEASE, { type: 'strategic' })

    const onJob = ({ type, current }: Change<Job>): string[] => {
      const isOver = type === 'deleted' || (current.object !== undefined && isFinished(current.object))
      return isOver ? [queueKey(current), `${LEFT_BY}${current.uid}`] : [queueKey(current)]
    }

    const onPod = ({ type, current, previous }: Change<Pod>): string | undefined => {
      const mayBeLeft = current.terminating || current.owners.length === 0 || (previous && previous.owners.length !== current.owners.length)
      return type !== 'deleted' && mayBeLeft && current.object && isTracked(current.object) ? `${LEFT_POD}${queueKey(current)}` : undefined
    }

    /** Whether a job is about to adopt a pod, whose finalizer then stays. */
    function isWanted({ metadata: { namespace = '', labels, deletionTimestamp } }: Pod): boolean {
      if (deletionTimestamp) return false
      for (const job of jobs.list({ namespace })) {
        const { metadata, spec } = job
        const terms = labelTermsOf(spec.selector)
        const mayAdopt = !metadata.deletionTimestamp && !isFinished(job) && isManagedHere(spec)
        if (mayAdopt && terms && matchesLabelTerms(terms, labels)) return true
      }
      return false
    }

    /** Removes the finalizer of a pod when there is no job that does. */
    async function releaseLeft(pod: Pod | undefined): Promise<void> {
      if (!pod || !isTracked(pod)) return
      const owner = controllerOf(pod)
      if (!owner && isWanted(pod)) return
      if (owner) {
        if (owner.kind !== 'Job' || owner.apiVersion !== 'batch/v1') return
        const job = jobs.get({ namespace: pod.metadata.namespace!, name: owner.name })
        if (job?.metadata.uid === owner.uid && !(isManagedHere(job.spec) && isFinished(job))) return
      }
      await release(pod)
    }

    async function carryOut(job: Job, plan: PodPlan) {
      const remove = await forEach(plan.remove, async pod => {
        if (!plan.removedCount && isTracked(pod)) await release(pod)
        await control.delete(job, pod)
      })
      const create = await slowStart(plan.create.length, async i => {
        try {
          await control.create(job, podForJob(job, plan.create[i]!))
        } catch (error) {
          if (!isNamespaceTerminating(error)) throw error
        }
      })
      return { removed: remove.done, created: create.done, error: remove.error ?? create.error }
    }

    async function reconcileJob(key: string): Promise<number | undefined> {
      const job = jobs.get(namedBy(key))
      if (!job || isFinished(job)) {
        failures.delete(key)
        sizes.delete(key)
      }
      const terms = job && labelTermsOf(job.spec.selector)
      if (!job || !terms || isFinished(job) || !isManagedHere(job.spec)) return undefined
      const { uid = '' } = job.metadata
      const claimed = await claimSelected({ owner: job, owners: jobs, objects: pods, finalizers: [TRACKING_FINALIZER] }, terms)

      sizes.set(key, claimed.length)
      const remembered = failures.get(key)
      const record = remembered?.uid === uid ? remembered.record : undefined
      const assessment = assess({ job, pods: claimed, now: client.now.getTime(), record })
      const plan = planPods(assessment)
      const outcome = await carryOut(job, plan)

      const progress = trackPods(assessment, plan, outcome)
      let written = job
      const write = async (status: Job['status']) => {
        if (deepEqual(status, written.status)) return
        written = (await jobs.updateStatus({ ...written, status }))?.object ?? written
      }
      await write(progress.status)
      failures.set(key, { uid, record: assessment.record })
      recordAll(recorder, job, progress.events)

      const released = await forEach(progress.release, release)
      const uids = new Set(released.done.map(({ metadata }) => metadata.uid!))
      const concluded = released.error ? { ...progress, ending: undefined } : progress
      const conclusion = countReleased(job, concluded, { released: uids, now: client.now.getTime() })
      await write(conclusion.status)
      recordAll(recorder, written, conclusion.events)

      const error = outcome.error ?? released.error
      if (error) throw error
      const waits = [plan.waitMs, assessment.ending ? undefined : assessment.deadlineMs].filter(ms => ms !== undefined)
      return waits.length > 0 ? Math.min(...waits) : undefined
    }

    return {
      watches: [watch(Job, onJob), collectPods, watch(Pod, onPod)],
      async reconcile(key) {
        if (key.startsWith(LEFT_POD)) return releaseLeft(pods.get(namedBy(key.slice(LEFT_POD.length))))
        if (!key.startsWith(LEFT_BY)) return reconcileJob(key)
        const left = [...pods.byIndex(OWNER_INDEX, key.slice(LEFT_BY.length))]
        const { error } = await forEach(left, releaseLeft)
        if (error) throw error
      },
    }
  },
})

/** How many writes for one job are under way at the same time. */
const AT_ONCE = 16

/** Does something to each item, some at a time; says to which it was done, and what failed first. */
async function forEach<T>(items: readonly T[], step: (item: T) => Promise<unknown>): Promise<{ done: T[]; error?: unknown }> {
  const done: T[] = []
  let error: unknown
  const rest = items.values()
  const work = async () => {
    for (const item of rest)
      try {
        await step(item)
        done.push(item)
      } catch (failure) {
        error ??= failure
      }
  }
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, items.length) }, work))
  return error === undefined ? { done } : { done, error }
}
