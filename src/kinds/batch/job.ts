/** Job runs pods until enough of them have succeeded. */
import { goQuote } from '../../lib/go-text.ts'
import { humanDuration, millisecondsOf, parseTime } from '../../lib/time.ts'
import { age, type CellContext } from '../../schema/columns.ts'
import { defineKind } from '../../schema/kind.ts'
import { type Ref, refTo } from '../../schema/refs.ts'
import type { RequestContext } from '../../schema/request-context.ts'
import { dropDisabledTemplateFields } from '../shapes/pod/features.ts'
import { containersColumn, imagesColumn, selectorCell, warnAboutName, warnAboutTemplate } from '../shapes/workload.ts'
import { CONTROLLER_UID_LABELS, hasCondition, JOB_NAME_LABELS, type Job as JobObject, validateJob } from './job-rules.ts'
import { defaultJobSpec, JobSpec, JobStatus } from './job-shapes.ts'
import { validateJobStatus } from './job-status-rules.ts'

export const Job = defineKind({
  group: 'batch',
  version: 'v1',
  kind: 'Job',
  scope: 'Namespaced',
  names: { plural: 'jobs', categories: ['all'] },
  doc: 'Runs pods until enough of them have succeeded.',
  spec: JobSpec,
  status: JobStatus,
  generation: true,

  defaults(job) {
    defaultJobSpec(job.spec)
    labelLikeTemplate(job)
  },
  prepareForCreate(job, ctx) {
    if (!job.spec.manualSelector) makeSelector(job)
    // Whoever reads it finds defaults that follow from what the server has just written.
    labelLikeTemplate(job)
    dropDisabledJobFields(job.spec, undefined, ctx)
  },
  prepareForUpdate: ({ spec }, old, ctx) => dropDisabledJobFields(spec, old.spec, ctx),
  validate: (o, at, { old, gate }) => validateJob(o, at, { old, gate }),
  *warn({ metadata, spec }, old) {
    if (old === undefined) yield* warnAboutName(metadata)
    if (old === undefined || metadata.generation !== old.metadata.generation) yield* warnAboutJob(spec, refTo(spec, 'spec'), 'spec')
  },

  deletion: { propagation: 'Orphan' },

  subresources: {
    status: {
      *validate() {},
      validateUpdate: (o, old, { status: at }) => validateJobStatus(o, old, at),
    },
  },

  selectable: { 'status.successful': o => o.status.succeeded ?? 0 },
  fieldSelectors: { unsupported: field => `field label ${goQuote(field)} not supported for Job` },
  columns: {
    Status: ['string', statusWord, 'Status of the job.'],
    Completions: ['string', completions, 'How many pods succeeded, of how many.'],
    Duration: ['string', duration, 'Time required to complete the job.'],
    Age: age,
    Containers: containersColumn,
    Images: imagesColumn,
    Selector: ['string', o => selectorCell({ spec: { selector: o.spec.selector ?? {} } }), 'Which pods belong to it.', 'wide'],
  },
})

/** Drops what the features that are off would add, unless it is stored already. */
export function dropDisabledJobFields(spec: JobSpec, old: JobSpec | undefined, { gate }: RequestContext): void {
  if (!gate('WorkloadWithJob') && !old?.scheduling) delete spec.scheduling
  dropDisabledTemplateFields(spec.template, old?.template, gate)
}

/** Warnings about what a job is to do. */
export function* warnAboutJob(spec: JobSpec, at: Ref<JobSpec>, path: string): Iterable<string> {
  const { completionMode, completions = 0, parallelism = 0 } = spec
  if (completionMode === 'Indexed' && completions > 100_000 && parallelism > 10_000)
    yield `${path}: In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, Kubernetes might not be able to track completedIndexes when a big number of indexes fail`
  yield* warnAboutTemplate(spec.template, at.template)
}

/** A job without labels has those of its pods. */
function labelLikeTemplate({ metadata, spec }: JobObject): void {
  const { labels } = spec.template.metadata
  if (labels && Object.keys(metadata.labels ?? {}).length === 0) metadata.labels = { ...labels }
}

/** A selector that finds exactly the pods of this job, and the labels that it finds them by. */
function makeSelector({ metadata: { name = '', uid = '' }, spec }: JobObject): void {
  const labels = (spec.template.metadata.labels ??= {})
  for (const label of JOB_NAME_LABELS) labels[label] ??= name
  for (const label of CONTROLLER_UID_LABELS) labels[label] ??= uid
  spec.selector ??= {}
  spec.selector.matchLabels ??= {}
  spec.selector.matchLabels[CONTROLLER_UID_LABELS[1]] ??= uid
}

function statusWord({ metadata, status }: JobObject): string {
  if (hasCondition(status, 'Complete')) return 'Complete'
  if (hasCondition(status, 'Failed')) return 'Failed'
  if (metadata.deletionTimestamp) return 'Terminating'
  return ['Suspended', 'FailureTarget', 'SuccessCriteriaMet'].find(type => hasCondition(status, type)) ?? 'Running'
}

function completions({ spec, status: { succeeded = 0 } }: JobObject): string {
  if (spec.completions !== undefined) return `${succeeded}/${spec.completions}`
  return (spec.parallelism ?? 0) > 1 ? `${succeeded}/1 of ${spec.parallelism}` : `${succeeded}/1`
}

function duration({ status: { startTime, completionTime } }: JobObject, { now }: CellContext): string {
  if (!startTime) return ''
  const end = completionTime ? millisecondsOf(parseTime(completionTime)) : now.getTime()
  return humanDuration(end - millisecondsOf(parseTime(startTime)))
}
