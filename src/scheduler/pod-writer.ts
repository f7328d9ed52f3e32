/** The writes of the scheduler to pods: bindings, conditions, preemptions, and the events about these. */
import type { Client } from '../client/client.ts'
import type { Involved } from '../client/event-recorder.ts'
import type { SeriesRecorder } from '../client/series-recorder.ts'
import { Pod } from '../kinds/core/pod/pod.ts'
import type { PodInfo } from './pod-info.ts'
import { type Failure, failurePatch, victimPatch } from './pod-status.ts'

/** Identifies one pod, not any pod of its name. */
export type PodIdentity = Pick<PodInfo, 'namespace' | 'name' | 'uid'>

/** A pod, or a group of pods, that takes the place of others. */
export type Preempting = PodIdentity & {
  readonly priority: number
  /** The group, and one of its pods. */
  readonly asGroup?: { readonly type: 'podgroup' | 'compositepodgroup'; readonly object: Involved; readonly pod: Pod }
}

export interface PodWriter {
  /** The pod as it is now. */
  read(pod: PodIdentity): Pod | undefined
  /** Binds a pod to its node. False when it is gone; throws when it cannot be bound. */
  bind(pod: Pod, info: PodInfo): Promise<boolean>
  /** An event that says that a pod is bound. */
  announceBinding(pod: Pod, node: string): void
  /** An event that says why a pod has no node. */
  announceFailure(pod: Pod, note: string): void
  /** The same in the status of the pod, unless it has a node by now. */
  writeFailure(pod: PodIdentity, failure: Failure): Promise<void>
  clearNomination(pod: PodIdentity): Promise<void>
  /** Says which node a pod is about to be bound to. */
  nominate(pod: PodIdentity, node: string): Promise<void>
  /** Deletes a pod that is preempted by another one, or by a group. */
  evict(victim: PodIdentity, by: Preempting, node: string): Promise<void>
}

export type PodWriterParts = {
  readonly client: Client
  /** Records the events of the scheduler that decides about a pod. */
  readonly eventsOf: (pod: Pod | undefined) => SeriesRecorder
}

const STATUS = { type: 'strategic', subresource: 'status' } as const

export function podWriter({ client, eventsOf }: PodWriterParts): PodWriter {
  const pods = client.of(Pod)

  function read({ namespace, name, uid }: PodIdentity): Pod | undefined {
    const pod = pods.get({ namespace, name })
    return pod?.metadata.uid === uid ? pod : undefined
  }

  function announceBinding(pod: Pod, node: string): void {
    const note = `Successfully assigned ${pod.metadata.namespace}/${pod.metadata.name} to ${node}`
    eventsOf(pod).event(pod, { type: 'Normal', reason: 'Scheduled', action: 'Binding', note })
  }

  return {
    read,
    async bind(pod, { namespace, name, uid, nodeName }) {
      const target = { kind: 'Node', name: nodeName }
      const body = { apiVersion: 'v1', kind: 'Binding', metadata: { namespace, name, uid }, target }
      if (!(await pods.createSubresource({ namespace, name }, 'binding', body))) return false
      announceBinding(pod, nodeName)
      return true
    },
    announceBinding,
    announceFailure: (pod, note) => eventsOf(pod).event(pod, { type: 'Warning', reason: 'FailedScheduling', action: 'Scheduling', note }),
    async writeFailure(identity, failure) {
      const pod = read(identity)
      if (!pod || pod.spec.nodeName) return
      const patch = failurePatch(pod, failure, client.now)
      if (patch) await pods.patch(identity, patch, STATUS)
    },
    async clearNomination({ namespace, name }) {
      await pods.patch({ namespace, name }, { status: { nominatedNodeName: null } }, STATUS)
    },
    async nominate({ namespace, name }, node) {
      await pods.patch({ namespace, name }, { status: { nominatedNodeName: node } }, STATUS)
    },
    async evict({ namespace, name, uid }, by, node) {
      const victim = read({ namespace, name, uid })
      if (!victim || victim.metadata.deletionTimestamp) return
      const pod = by.asGroup?.pod ?? read(by)
      const kind = by.asGroup?.type ?? 'pod'
      const patch = victimPatch(victim, { scheduler: pod?.spec.schedulerName ?? '', kind }, client.now)
      if (patch && !(await pods.patch({ namespace, name }, patch, STATUS))) return
      if (!(await pods.delete({ metadata: { namespace, name, uid } }))) return
      const note = `Preempted by ${kind} ${by.uid} on node ${node}`
      // kube-scheduler names only a group: it cannot refer to its own type of a preempting pod.
      const related = by.asGroup?.object
      eventsOf(pod).event(victim, { type: 'Normal', reason: 'Preempted', action: 'Preempting', note, ...(related && { related }) })
    },
  }
}
