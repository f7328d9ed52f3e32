/** The writes of the scheduler to pods: bindings, conditions, preemptions, and the events about these. */
import type { Client } from '../client/client.ts'
import type { SeriesRecorder } from '../client/series-recorder.ts'
import { Pod } from '../kinds/core/pod/pod.ts'
import type { PodInfo } from './pod-info.ts'
import { type Failure, failurePatch, victimPatch } from './pod-status.ts'

/** Identifies one pod, not any pod of its name. */
export type PodIdentity = Pick<PodInfo, 'namespace' | 'name' | 'uid'>

export interface PodWriter {
  /** The pod as it is now. */
  read(pod: PodIdentity): Pod | undefined
  /** Binds a pod to its node. False when it is gone; throws when it cannot be bound. */
  bind(pod: Pod, info: PodInfo): Promise<boolean>
  /** An event that says why a pod has no node. */
  announceFailure(pod: Pod, note: string): void
  /** The same in the status of the pod, unless it has a node by now. */
  writeFailure(pod: PodIdentity, failure: Failure): Promise<void>
  clearNomination(pod: PodIdentity): Promise<void>
  /** Deletes a pod that is preempted by another one. */
  evict(victim: PodIdentity, by: PodIdentity, node: string): Promise<void>
}

export type PodWriterParts = { readonly client: Client; readonly events: SeriesRecorder; readonly schedulerName: string }

const STATUS = { type: 'strategic', subresource: 'status' } as const

export function podWriter({ client, events, schedulerName }: PodWriterParts): PodWriter {
  const pods = client.of(Pod)

  function read({ namespace, name, uid }: PodIdentity): Pod | undefined {
    const pod = pods.get({ namespace, name })
    return pod?.metadata.uid === uid ? pod : undefined
  }

  return {
    read,
    async bind(pod, { namespace, name, uid, nodeName }) {
      const target = { kind: 'Node', name: nodeName }
      const body = { apiVersion: 'v1', kind: 'Binding', metadata: { namespace, name, uid }, target }
      if (!(await pods.createSubresource({ namespace, name }, 'binding', body))) return false
      const note = `Successfully assigned ${namespace}/${name} to ${nodeName}`
      events.event(pod, { type: 'Normal', reason: 'Scheduled', action: 'Binding', note })
      return true
    },
    announceFailure: (pod, note) => events.event(pod, { type: 'Warning', reason: 'FailedScheduling', action: 'Scheduling', note }),
    async writeFailure(identity, failure) {
      const pod = read(identity)
      if (!pod || pod.spec.nodeName) return
      const patch = failurePatch(pod, failure, client.now)
      if (patch) await pods.patch(identity, patch, STATUS)
    },
    async clearNomination({ namespace, name }) {
      await pods.patch({ namespace, name }, { status: { nominatedNodeName: null } }, STATUS)
    },
    async evict({ namespace, name, uid }, by, node) {
      const victim = read({ namespace, name, uid })
      if (!victim || victim.metadata.deletionTimestamp) return
      const patch = victimPatch(victim, schedulerName, client.now)
      if (patch && !(await pods.patch({ namespace, name }, patch, STATUS))) return
      if (!(await pods.delete({ metadata: { namespace, name, uid } }))) return
      const note = `Preempted by pod ${by.uid} on node ${node}`
      const related = read(by)
      events.event(victim, { type: 'Normal', reason: 'Preempted', action: 'Preempting', note, ...(related && { related }) })
    },
  }
}
