/**
 * Makes the Workload and the PodGroup of a job before its first pod, so that the pods are scheduled together. A job that has a
 * controller gets a PodGroup only if that controller says so, from the template that it names in its own Workload.
 */
import type { Client, ResourceClient } from '../../client/client.ts'
import type { EventRecorder } from '../../client/event-recorder.ts'
import { OWNER_INDEX } from '../../client/informer.ts'
import type { Job } from '../../kinds/batch/job.ts'
import type { Pod } from '../../kinds/core/pod/pod.ts'
import { PodGroup } from '../../kinds/scheduling/podgroup.ts'
import { Workload } from '../../kinds/scheduling/workload.ts'
import { messageOf } from '../../lib/error-message.ts'
import { conditionOf } from '../../schema/conditions.ts'
import type { OwnerReference } from '../../schema/object-meta.ts'
import { controllerOf, isControlledBy } from '../pods/ownership.ts'
import { minCountOf, type PodGroupTemplate, podGroupForJob, podGroupNameOf, workloadForJob, workloadNameOf } from './workload-for-job.ts'

/** Names the template for the PodGroup of a job that has a controller. */
const TEMPLATE_NAME = 'scheduling.k8s.io/group-template-name'

type Parts = { readonly workloads: ResourceClient<Workload>; readonly groups: ResourceClient<PodGroup>; readonly recorder: EventRecorder }
/** The template of a PodGroup, and whether its Workload is the job's own. */
type Origin = { readonly template: PodGroupTemplate; readonly isOwn: boolean }

/** Undefined when the server does not have groups. */
export function jobGroups({ client, recorder }: { readonly client: Client; readonly recorder: EventRecorder }): JobGroups | undefined {
  const [workloads, groups] = [client.find(Workload), client.find(PodGroup)]
  return workloads && groups && new JobGroups({ workloads, groups, recorder })
}

export class JobGroups {
  readonly #parts: Parts

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** Resolves to the group of the job's pods; undefined when they are scheduled as any others. */
  async groupOf(job: Job, pods: readonly Pod[]): Promise<PodGroup | undefined> {
    if (job.spec.template.spec.schedulingGroup) return undefined
    const parent = controllerOf(job)
    const isNew = isNewJob(job, pods)
    if (!parent) return this.#ownGroup(job, isNew)
    return job.metadata.annotations?.[TEMPLATE_NAME] === undefined ? undefined : this.#delegatedGroup(job, parent, isNew)
  }

  /** The PodGroup of a job in a Workload of its own. */
  async #ownGroup(job: Job, isNew: boolean): Promise<PodGroup | undefined> {
    const itself = { apiVersion: 'batch/v1', kind: 'Job', name: job.metadata.name }
    const found = ownedBy(this.#parts.workloads, job, workloadNameOf(job)).filter(each => isMadeFor(each, itself))
    if (found.length > 1 || (found.length === 0 && !isNew)) return undefined
    const workload = found[0] ?? (await this.#createWorkload(job))
    const templates = templatesOf(workload)
    const { namespace, name } = workload.metadata
    if (templates.length !== 1)
      throw new Error(
        `workload ${namespace}/${name} for job ${job.metadata.namespace}/${job.metadata.name} has ${templates.length} PodGroupTemplates, want exactly 1`,
      )
    const [template] = templates as [PodGroupTemplate]
    const group = await this.#groupIn(job, workload, { template, isOwn: true, isNew })
    const minCount = minCountOf(job)
    const { gang } = template.schedulingPolicy
    if (minCount !== undefined && gang && gang.minCount !== minCount) {
      const patch = { spec: { podGroupTemplates: [{ name: template.name, schedulingPolicy: { gang: { minCount } } }] } }
      await this.#parts.workloads.patch(workload.metadata, patch, { type: 'strategic' })
    }
    await this.#setMinCount(group, minCount)
    return group
  }

  /** The PodGroup of a job whose Workload belongs to its parent. */
  async #delegatedGroup(job: Job, parent: OwnerReference, isNew: boolean): Promise<PodGroup | undefined> {
    const workload = [...this.#parts.workloads.list({ namespace: job.metadata.namespace ?? '' })].find(each => isMadeFor(each, parent))
    const template = workload && templatesOf(workload).find(({ name }) => name === job.metadata.annotations?.[TEMPLATE_NAME])
    if (!workload || !template) return undefined
    const group = await this.#groupIn(job, workload, { template, isOwn: false, isNew })
    await this.#setMinCount(group, template.schedulingPolicy.gang?.minCount)
    return group
  }

  /** The group of a job in a Workload; it is made if the job is new. Undefined if there are several, or none. */
  async #groupIn(job: Job, workload: Workload, from: Origin & { readonly isNew: boolean }) {
    const { name: workloadName = '' } = workload.metadata
    const all = ownedBy(this.#parts.groups, job, podGroupNameOf(workloadName, from.template.name))
    const found = all.filter(({ spec }) => spec.workloadRef?.workloadName === workloadName)
    if (found.length === 0 && from.isNew) return this.#createGroup(job, workload, from)
    return from.isOwn && found.length > 1 ? undefined : found[0]
  }

  async #createWorkload(job: Job): Promise<Workload> {
    const { name } = job.metadata
    const draft = workloadForJob(job)
    try {
      const written = await this.#parts.workloads.create(draft)
      if (!written) throw new Error(`workloads.scheduling.k8s.io "${draft.metadata!.name}" already exists`)
      this.#parts.recorder.event(job, 'Normal', 'WorkloadCreated', `Created Workload ${draft.metadata!.name} for Job ${name}`)
      return written.object
    } catch (error) {
      this.#parts.recorder.event(job, 'Warning', 'FailedWorkloadCreate', `Failed to create Workload for Job ${name}: ${messageOf(error)}`)
      throw error
    }
  }

  async #createGroup(job: Job, workload: Workload, from: Origin): Promise<PodGroup> {
    const draft = podGroupForJob(job, workload, from)
    const written = await this.#parts.groups.create(draft)
    if (!written) throw new Error(`podgroups.scheduling.k8s.io "${draft.metadata!.name}" already exists`)
    this.#parts.recorder.event(job, 'Normal', 'PodGroupCreated', `Created PodGroup ${draft.metadata!.name} for Job ${job.metadata.name}`)
    return written.object
  }

  async #setMinCount(group: PodGroup | undefined, minCount: number | undefined): Promise<void> {
    const { gang } = group?.spec.schedulingPolicy ?? {}
    if (!group || !gang || minCount === undefined || gang.minCount === minCount) return
    await this.#parts.groups.patch(group.metadata, { spec: { schedulingPolicy: { gang: { minCount } } } }, { type: 'strategic' })
  }
}

/** The objects of a job that its controller has made. One that was made just now may be found by its name alone. */
function ownedBy<O extends Workload | PodGroup>(objects: ResourceClient<O>, job: Job, name: string): O[] {
  const found = [...objects.byIndex(OWNER_INDEX, job.metadata.uid ?? '')].filter(object => isControlledBy(object, job))
  const named = found.length === 0 ? objects.get({ namespace: job.metadata.namespace ?? '', name }) : undefined
  return named && isControlledBy(named, job) ? [named] : found
}

/** Whether a job has never started: one that is older than the feature goes on without a group. */
const isNewJob = ({ status }: Job, pods: readonly Pod[]): boolean =>
  pods.length === 0 && !status.startTime && !status.succeeded && !status.failed && !conditionOf(status.conditions, 'Suspended')

const templatesOf = ({ spec }: Workload): readonly PodGroupTemplate[] => spec.podGroupTemplates ?? []

/** Whether a Workload says that it was made for an object, by its kind and name. */
function isMadeFor(
  { spec: { controllerRef } }: Workload,
  { apiVersion, kind, name }: Pick<OwnerReference, 'apiVersion' | 'kind'> & { readonly name?: string | undefined },
): boolean {
  const group = apiVersion.includes('/') ? apiVersion.slice(0, apiVersion.indexOf('/')) : ''
  return (
    controllerRef !== undefined && (controllerRef.apiGroup ?? '') === group && controllerRef.kind === kind && controllerRef.name === name
  )
}
