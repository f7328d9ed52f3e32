/** A new pod of a job. */

import type { Draft } from '../../client/client.ts'
import type { Job } from '../../kinds/batch/job.ts'
import type { JobSpec } from '../../kinds/batch/job-shapes.ts'
import type { Pod } from '../../kinds/core/pod/pod.ts'
import type { PodTemplateSpec } from '../../kinds/rules/pod/spec.ts'
import type { PodGroup } from '../../kinds/scheduling/podgroup.ts'
import { podFromTemplate } from '../pods/pod-template.ts'
import { judgeFailure } from './failure-policy.ts'
import { COMPLETION_INDEX, earlierFailures, FAILURE_COUNT, IGNORED_FAILURE_COUNT, TRACKING_FINALIZER } from './job-pod.ts'
import type { NewPod } from './reconcile.ts'

const INDEX_VARIABLE = 'JOB_COMPLETION_INDEX'
/** Names that the server makes have a prefix of at most so many characters. */
const MAX_PREFIX_LENGTH = 58

/** A pod of a group is scheduled with it. */
export function podForJob(job: Job, pod: NewPod, group?: PodGroup): Draft<Pod> {
  const { template } = job.spec
  if (!group) return podOfJob(job, template, pod)
  const schedulingGroup = { podGroupName: group.metadata.name ?? '' }
  return podOfJob(job, { ...template, spec: { ...template.spec, schedulingGroup } }, pod)
}

function podOfJob(job: Job, template: PodTemplateSpec, { index, replaced }: NewPod): Draft<Pod> {
  const finalizers = [...new Set([...(template.metadata.finalizers ?? []), TRACKING_FINALIZER])]
  const metadata = { ...template.metadata, finalizers }
  if (index === undefined) return podFromTemplate({ ...template, metadata }, job)
  const name = job.metadata.name ?? ''
  const labels = { ...metadata.labels, [COMPLETION_INDEX]: String(index) }
  const annotations = { ...metadata.annotations, [COMPLETION_INDEX]: String(index), ...failureCounts(job.spec, replaced) }
  const spec = { ...template.spec, ...withIndexVariable(template.spec), hostname: `${name}-${index}` }
  return podFromTemplate({ metadata: { ...metadata, labels, annotations }, spec }, job, { generateName: indexedPrefix(name, index) })
}

function indexedPrefix(name: string, index: number): string {
  const end = `-${index}-`
  return name.length + end.length > MAX_PREFIX_LENGTH ? `${name.slice(0, MAX_PREFIX_LENGTH - end.length)}${end}` : `${name}${end}`
}

/** How often the index has failed before, for the pod that comes after. */
function failureCounts(spec: JobSpec, replaced: Pod | undefined): Record<string, string> {
  if (spec.backoffLimitPerIndex === undefined) return {}
  if (!replaced) return { [FAILURE_COUNT]: '0' }
  const { counted, ignored } = earlierFailures(replaced)
  const { counts } = judgeFailure(spec, replaced)
  const ignoredNow = counts ? ignored : ignored + 1
  return {
    [FAILURE_COUNT]: String(counts ? counted + 1 : counted),
    ...(ignoredNow > 0 && { [IGNORED_FAILURE_COUNT]: String(ignoredNow) }),
  }
}

type Containers = Pick<PodTemplateSpec['spec'], 'containers' | 'initContainers'>

function withIndexVariable({ containers, initContainers }: Containers): Partial<Containers> {
  const fieldRef = { fieldPath: `metadata.labels['${COMPLETION_INDEX}']` }
  const variable = { name: INDEX_VARIABLE, valueFrom: { fieldRef } } as NonNullable<NonNullable<typeof containers>[number]['env']>[number]
  const extended = (list: NonNullable<typeof containers>) =>
    list.map(container => {
      const { env = [] } = container
      return env.some(({ name }) => name === INDEX_VARIABLE) ? container : { ...container, env: [...env, variable] }
    })
  return {
    ...(containers && { containers: extended(containers) }),
    ...(initContainers && { initContainers: extended(initContainers) }),
  }
}
