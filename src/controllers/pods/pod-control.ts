/** Creates and deletes the pods of workloads, and records an event about each. */

import type { Draft, ResourceClient } from '../../client/client.ts'
import type { EventRecorder } from '../../client/event-recorder.ts'
import type { Pod } from '../../kinds/core/pod/pod.ts'
import { messageOf } from '../../lib/error-message.ts'
import type { Envelope } from '../../schema/object-meta.ts'
import { generatedNameTaken, isNamespaceTerminating } from '../../schema/status-error.ts'

export interface PodControl {
  /** Creates a pod for a workload. Undefined when it has a name of its own and that is taken. */
  create(owner: Envelope, pod: Draft<Pod>): Promise<Pod | undefined>
  /** Deletes exactly this pod. False when it is gone already. */
  delete(owner: Envelope, pod: Pod): Promise<boolean>
}

export function podControl(pods: ResourceClient<Pod>, recorder: EventRecorder): PodControl {
  return {
    async create(owner, pod) {
      if (Object.keys(pod.metadata?.labels ?? {}).length === 0) throw new Error('unable to create pods, no labels')
      try {
        const created = (await pods.create(pod))?.object
        if (!created && pod.metadata?.name) return undefined
        if (!created) throw generatedNameTaken(pods.resource, pod.metadata?.generateName ?? '')
        recorder.event(owner, 'Normal', 'SuccessfulCreate', `Created pod: ${created.metadata.name}`)
        return created
      } catch (error) {
        if (!isNamespaceTerminating(error)) recorder.event(owner, 'Warning', 'FailedCreate', `Error creating: ${messageOf(error)}`)
        throw error
      }
    },
    async delete(owner, pod) {
      try {
        if (!(await pods.delete(pod))) return false
      } catch (error) {
        recorder.event(owner, 'Warning', 'FailedDelete', `Error deleting: ${messageOf(error)}`)
        throw error
      }
      recorder.event(owner, 'Normal', 'SuccessfulDelete', `Deleted pod: ${pod.metadata.name}`)
      return true
    },
  }
}
