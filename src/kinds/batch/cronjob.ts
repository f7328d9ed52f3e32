/** CronJob creates a Job at the times of a schedule. */
import { cronFault } from '../../lib/cron.ts'
import { timeZoneFault } from '../../lib/time-zone.ts'
import { age, since } from '../../schema/columns.ts'
import { defineKind, type ObjectOf } from '../../schema/kind.ts'
import { ObjectMeta } from '../../schema/object-meta.ts'
import { type FieldError, invalid, type Ref, refTo, required, unsupported } from '../../schema/refs.ts'
import { atomic, bool, int32, int64, message, type Static, string, time } from '../../schema/types.ts'
import { formatLabelSelector } from '../rules/meta.ts'
import { ObjectReference } from '../rules/references.ts'
import { validateNonNegative } from '../rules/text-rules.ts'
import { warnAboutName } from '../rules/workload.ts'
import { dropDisabledJobFields, warnAboutJob } from './job.ts'
import { type JobWrite, validateJobTemplate } from './job-rules.ts'
import { JobSpec } from './job-shapes.ts'

const JobTemplateSpec = message('JobTemplateSpec', {
  metadata: [1, ObjectMeta.orEmpty(), 'Labels and annotations of the jobs.'],
  spec: [2, JobSpec.orEmpty(), 'The spec of the jobs.'],
})

const CronJobSpec = message('CronJobSpec', {
  schedule: [1, string.always(), 'When jobs are created, in cron format: 0 3 * * *.'],
  timeZone: [8, string.optional(), 'The time zone of the schedule, such as Europe/Berlin; that of the controller when absent.'],
  startingDeadlineSeconds: [2, int64.optional(), 'Seconds by which a job may be late; later ones are missed.'],
  concurrencyPolicy: [
    3,
    string.listed('Allow', 'Forbid', 'Replace').default('Allow'),
    'The action when a job is due while another runs: Allow, Forbid or Replace.',
  ],
  suspend: [4, bool.optional().default(false), 'No jobs are made while this is set.'],
  jobTemplate: [5, JobTemplateSpec.orEmpty().expected(), 'The template of the jobs.'],
  successfulJobsHistoryLimit: [6, int32.optional().default(3), 'How many jobs that succeeded are kept.'],
  failedJobsHistoryLimit: [7, int32.optional().default(1), 'How many jobs that failed are kept.'],
})
type Spec = Static<typeof CronJobSpec>

const CronJobStatus = message('CronJobStatus', {
  active: [1, atomic(ObjectReference), 'Jobs that run.'],
  lastScheduleTime: [4, time.optional(), 'When a job was last made.'],
  lastSuccessfulTime: [5, time.optional(), 'When a job last succeeded.'],
})

/** Names of jobs are eleven characters longer, and must still be labels. */
const MAX_NAME_LENGTH = 52

export const CronJob = defineKind({
  group: 'batch',
  version: 'v1',
  kind: 'CronJob',
  scope: 'Namespaced',
  names: { plural: 'cronjobs', short: ['cj'], categories: ['all'] },
  doc: 'Makes a job at the times of a schedule.',
  spec: CronJobSpec.expected(),
  status: CronJobStatus,
  generation: true,

  prepareForCreate: ({ spec }, ctx) => dropDisabledJobFields(spec.jobTemplate.spec, undefined, ctx),
  prepareForUpdate: ({ spec }, old, ctx) => dropDisabledJobFields(spec.jobTemplate.spec, old.spec.jobTemplate.spec, ctx),
  *validate({ metadata: { name = '' }, spec }, at, { old, gate }) {
    yield* validateSpec(spec, at.spec, { old: old?.spec, gate })
    if (!old && Buffer.byteLength(name) > MAX_NAME_LENGTH)
      yield invalid(at.metadata.name, `must be no more than ${MAX_NAME_LENGTH} characters`)
    if (!spec.schedule) yield required(at.spec.schedule)
  },
  *warn({ metadata, spec }, old) {
    if (old === undefined) yield* warnAboutName(metadata)
    const path = 'spec.jobTemplate.spec'
    if (old === undefined || metadata.generation !== old.metadata.generation)
      yield* warnAboutJob(spec.jobTemplate.spec, refTo(spec.jobTemplate.spec, path), path)
    if (old && spec.schedule.includes('TZ')) yield ZONE_IN_SCHEDULE
  },

  subresources: {
    status: { *validate() {}, *validateUpdate() {} },
  },

  columns: {
    Schedule: ['string', o => o.spec.schedule, 'The schedule in Cron format, see https://en.wikipedia.org/wiki/Cron.'],
    Timezone: [
      'string',
      o => o.spec.timeZone ?? '<none>',
      'The time zone name for the given schedule, see https://en.wikipedia.org/wiki/List_of_tz_database_time_zones. If not specified, this will default to the time zone of the kube-controller-manager process. The set of valid time zone names and the time zone offset is loaded from the system-wide time zone database by the API server during CronJob validation and the controller manager during execution. If no system-wide time zone database can be found a bundled version of the database is used instead. If the time zone name becomes invalid during the lifetime of a CronJob or due to a change in host configuration, the controller will stop creating new new Jobs and will create a system event with the reason UnknownTimeZone. More information can be found in https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/#time-zones',
    ],
    Suspend: [
      'boolean',
      o => (o.spec.suspend ? 'True' : 'False'),
      'This flag tells the controller to suspend subsequent executions, it does not apply to already started executions.  Defaults to false.',
    ],
    Active: ['integer', o => o.status.active?.length ?? 0, 'A list of pointers to currently running jobs.'],
    'Last Schedule': [
      'string',
      (o, ctx) => (o.status.lastScheduleTime ? since(o.status.lastScheduleTime, ctx) : '<none>'),
      'Information when was the last time the job was successfully scheduled.',
    ],
    Age: age,
    Containers: ['string', o => containers(o.spec, 'name'), 'Names of each container in the template.', 'wide'],
    Images: ['string', o => containers(o.spec, 'image'), 'Images referenced by each container in the template.', 'wide'],
    Selector: [
      'string',
      o => formatLabelSelector(o.spec.jobTemplate.spec.selector),
      'A label query over pods that should match the pod count. Normally, the system sets this field for you. More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors',
      'wide',
    ],
  },
})

/** An object of the kind CronJob. */
export type CronJob = ObjectOf<typeof CronJob>

const ZONE_IN_SCHEDULE =
  'cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details'

type Write = { readonly old: Spec | undefined; readonly gate: JobWrite['gate'] }
const POLICIES = ['Allow', 'Forbid', 'Replace']

function* validateSpec(spec: Spec, at: Ref<Spec>, { old, gate }: Write): Iterable<FieldError> {
  if (spec.schedule) yield* validateSchedule(spec, at.schedule, old)
  yield* validateNonNegative(spec.startingDeadlineSeconds, at.startingDeadlineSeconds)
  if (spec.timeZone !== undefined && spec.timeZone !== old?.timeZone) yield* validateTimeZone(spec.timeZone, at.timeZone)
  if (!POLICIES.includes(spec.concurrencyPolicy)) yield unsupported(at.concurrencyPolicy, ...POLICIES)
  const { spec: job } = spec.jobTemplate
  yield* validateJobTemplate(job, at.jobTemplate.spec, { old: old?.jobTemplate.spec, gate })
  if (job.selector) yield invalid(at.jobTemplate.spec.selector, '`selector` will be auto-generated')
  if (job.manualSelector) yield unsupported(at.jobTemplate.spec.manualSelector, 'nil', 'false')
  yield* validateNonNegative(spec.successfulJobsHistoryLimit, at.successfulJobsHistoryLimit)
  yield* validateNonNegative(spec.failedJobsHistoryLimit, at.failedJobsHistoryLimit)
}

/** A zone inside the schedule is accepted only where one is stored already. */
function* validateSchedule({ schedule, timeZone }: Spec, at: Ref<string>, old: Spec | undefined): Iterable<FieldError> {
  const fault = cronFault(schedule)
  if (fault !== undefined) yield invalid(at, fault)
  if (!schedule.includes('TZ')) return
  if (!old?.schedule.includes('TZ')) yield invalid(at, 'cannot use TZ or CRON_TZ in schedule, use timeZone field instead')
  else if (timeZone !== undefined) yield invalid(at, 'cannot use both timeZone field and TZ or CRON_TZ in schedule')
}

const ZONE_PART = /^[A-Za-z._0-9+][A-Za-z.\-_0-9+]{0,13}$/

function* validateTimeZone(zone: string, at: Ref<string>): Iterable<FieldError> {
  if (zone === '') return yield invalid(at, 'timeZone must be nil or non-empty string')
  if (zone.split('/').some(part => part === '.' || part === '..' || !ZONE_PART.test(part)))
    return yield invalid(at, `unknown time zone ${zone}`)
  if (zone.toLowerCase() === 'local')
    yield invalid(at, 'timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones')
  const fault = timeZoneFault(zone)
  if (fault !== undefined) yield invalid(at, fault)
}

const containers = ({ jobTemplate }: Spec, part: 'name' | 'image') =>
  jobTemplate.spec.template.spec.containers?.map(c => c[part] ?? '').join(',') ?? ''
