/** The Workload and the PodGroup of a job, for gang scheduling of its pods. */
import type { Draft } from '../../client/client.ts'
import type { Job } from '../../kinds/batch/job.ts'
import type { PodGroup } from '../../kinds/scheduling/podgroup.ts'
import type { Workload } from '../../kinds/scheduling/workload.ts'
import { fnv32a } from '../../lib/fnv.ts'
import { safeText } from '../../lib/safe-text.ts'
import { controllerReference } from '../pods/pod-template.ts'

export type PodGroupTemplate = NonNullable<Workload['spec']['podGroupTemplates']>[number]

const MAX_NAME_LENGTH = 253

const hashOf = (text: string): string => safeText(String(fnv32a(text)))

/** `JOB-HASH`: the same for the same job after every restart, and another for the next job of its name. */
export function workloadNameOf({ metadata: { name = '', uid = '' } }: Job): string {
  // Kubernetes hashes the value together with the name of its type.
  const hash = hashOf(`(types.UID)${uid}`)
  return `${name.slice(0, MAX_NAME_LENGTH - hash.length - 1)}-${hash}`
}

/** `WORKLOAD-TEMPLATE-HASH`; where that is too long, both names are cut to their fair share. */
export function podGroupNameOf(workload: string, template: string): string {
  const hash = hashOf(`${workload}${template}`)
  const most = MAX_NAME_LENGTH - hash.length - 2
  if (workload.length + template.length <= most) return `${workload}-${template}-${hash}`
  const half = Math.floor(most / 2)
  if (workload.length <= half) return `${workload}-${template.slice(0, most - workload.length)}-${hash}`
  if (template.length <= half) return `${workload.slice(0, most - template.length)}-${template}-${hash}`
  return `${workload.slice(0, most - half)}-${template.slice(0, half)}-${hash}`
}

/** How many pods of a job must be schedulable at once; undefined for a job whose pods are scheduled one by one. */
export function minCountOf({ spec: { scheduling, parallelism = 1 } }: Job): number | undefined {
  const { basic, gang } = scheduling?.schedulingPolicy ?? {}
  return basic || !gang ? undefined : (gang.minCount ?? Math.max(1, parallelism))
}

/** The Workload of a job that has no parent: one template, as the job's own scheduling fields say. */
export function workloadForJob(job: Job): Draft<Workload> {
  const { name = '', namespace } = job.metadata
  const { schedulingConstraints, disruptionMode, resourceClaims = [] } = job.spec.scheduling ?? {}
  const { priorityClassName } = job.spec.template.spec
  const minCount = minCountOf(job)
  const { topology = [] } = schedulingConstraints ?? {}
  const template = {
    name: `${name}-pgt-0`,
    schedulingPolicy: minCount === undefined ? { basic: {} } : { gang: { minCount } },
    ...(topology.length > 0 && { schedulingConstraints: { topology } }),
    ...(disruptionMode && (disruptionMode.single || disruptionMode.all) && { disruptionMode }),
    ...(resourceClaims.length > 0 && { resourceClaims }),
    ...(priorityClassName && { priorityClassName }),
  }
  return {
    metadata: { name: workloadNameOf(job), namespace, ownerReferences: [controllerReference(job)] },
    spec: { controllerRef: { apiGroup: 'batch', kind: 'Job', name }, podGroupTemplates: [template] },
  }
}

/** A PodGroup of a job, from a template of a Workload. If the job has made the Workload, the group goes with that. */
export function podGroupForJob(
  job: Job,
  workload: Workload,
  { template, isOwn }: { template: PodGroupTemplate; isOwn: boolean },
): Draft<PodGroup> {
  const { name: workloadName = '', uid = '' } = workload.metadata
  const { name: templateName, schedulingConstraints, preemptionPolicy: _, ...fields } = template
  const owner = { apiVersion: workload.apiVersion, kind: workload.kind, name: workloadName, uid }
  return {
    metadata: {
      name: podGroupNameOf(workloadName, templateName),
      namespace: job.metadata.namespace,
      ownerReferences: [controllerReference(job), ...(isOwn ? [owner] : [])],
    },
    spec: { workloadRef: { workloadName, templateName }, ...fields, ...(schedulingConstraints && { schedulingConstraints }) },
  }
}
