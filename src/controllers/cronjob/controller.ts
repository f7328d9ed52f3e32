/** Starts jobs at the times of a schedule. */

import { type Change, namedBy, queueKey } from '../../client/change.ts'
import { recordAll } from '../../client/event-recorder.ts'
import { CronJob } from '../../kinds/batch/cronjob.ts'
import { Job } from '../../kinds/batch/job.ts'
import { messageOf } from '../../lib/error-message.ts'
import { deepEqual } from '../../lib/json-value.ts'
import { isNamespaceTerminating } from '../../schema/status-error.ts'
import { defineController, watch } from '../controller.ts'
import { controlledBy, isControlledBy, watchDependents } from '../pods/ownership.ts'
import { jobFor, planStart, type Start, surplusJobs, trackJobs, withoutJob, withStarted } from './reconcile.ts'
import { scheduleOf, untilNext } from './schedule.ts'

export const cronJobController = defineController({
  name: 'cronjob-controller',
  identity: 'cronjob-controller',
  workers: 5,
  create({ client, recorder, enqueue }) {
    const [crons, jobs] = [client.of(CronJob), client.of(Job)]

    /** A schedule that has changed is about the future: nothing is started for times that have passed by it. */
    const onCronJob = ({ current, previous }: Change<CronJob>): string | undefined => {
      const key = queueKey(current)
      const [now, before] = [current.object?.spec, previous?.object?.spec]
      if (!now || !before || (now.schedule === before.schedule && now.timeZone === before.timeZone)) return key
      const parsed = scheduleOf(current.object!)
      const ms = parsed.ok ? untilNext(current.object!, parsed.schedule, client.now.getTime()) : undefined
      if (ms !== undefined) enqueue(key, ms)
      return undefined
    }

    /** Throws when it cannot be deleted. */
    async function deleteJob(cron: CronJob, job: Job): Promise<void> {
      try {
        await jobs.delete(job, { propagationPolicy: 'Background' })
      } catch (error) {
        recorder.event(cron, 'Warning', 'FailedDelete', `Deleted job: ${messageOf(error)}`)
        throw error
      }
      recorder.event(cron, 'Normal', 'SuccessfulDelete', `Deleted job ${job.metadata.name}`)
    }

    /** The job for a time; undefined when another job has its name. */
    async function createJob(cron: CronJob, at: number): Promise<Job | undefined> {
      const draft = jobFor(cron, at)
      try {
        const created = (await jobs.create(draft))?.object
        if (created) recorder.event(cron, 'Normal', 'SuccessfulCreate', `Created job ${created.metadata.name}`)
        // It was created before the server was ended, and the status does not say so.
        const job = created ?? jobs.get({ namespace: cron.metadata.namespace!, name: draft.metadata!.name! })
        return job && isControlledBy(job, cron) ? job : undefined
      } catch (error) {
        if (!isNamespaceTerminating(error)) recorder.event(cron, 'Warning', 'FailedCreate', `Error creating job: ${messageOf(error)}`)
        throw error
      }
    }

    /** The status after a job was started as planned, and the error that prevented it. */
    async function start(cron: CronJob, { at, replaces }: Start): Promise<{ status: CronJob['status']; error?: unknown }> {
      let { status } = cron
      if (at === undefined) return { status }
      try {
        for (const { namespace = '', name = '', uid = '' } of replaces) {
          const job = jobs.get({ namespace, name })
          if (job) await deleteJob(cron, job)
          status = withoutJob(status, uid)
        }
        const job = await createJob(cron, at)
        const isKnown = !job || status.active?.some(({ uid }) => uid === job.metadata.uid)
        return { status: isKnown ? status : withStarted(status, job, at) }
      } catch (error) {
        return { status, error }
      }
    }

    return {
      watches: [watch(CronJob, onCronJob), watchDependents(Job, { owners: crons, selectorOf: () => undefined })],
      async reconcile(key) {
        const cron = crons.get(namedBy(key))
        if (!cron) return undefined
        const own = [...controlledBy(jobs, cron)]
        // Those that cannot be deleted are tried again with the next change.
        for (const job of surplusJobs(cron, own)) await deleteJob(cron, job).catch(() => {})
        const tracked = trackJobs(cron, own, ({ namespace = '', name = '' }) => jobs.exists({ namespace, name }))
        recordAll(recorder, cron, tracked.events)
        const current = { ...cron, status: tracked.status }
        const plan = planStart(current, client.now.getTime())
        recordAll(recorder, cron, plan.events)
        const { status, error } = await start(current, plan)
        if (!deepEqual(status, cron.status)) await crons.updateStatus({ ...cron, status })
        if (error) throw error
        return plan.againMs
      },
    }
  },
})
