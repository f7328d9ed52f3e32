/** Tells pods in events whether their volumes were attached, or which node holds them. */

import { type Change, namedBy, queueKey } from '../../client/change.ts'
import type { Client, ResourceClient } from '../../client/client.ts'
import type { EventRecorder } from '../../client/event-recorder.ts'
import { PersistentVolume } from '../../kinds/core/persistentvolume.ts'
import { Pod } from '../../kinds/core/pod/pod.ts'
import type { VolumeAttachment } from '../../kinds/storage/volumeattachment.ts'
import { blockedMessage, type NodePlan } from './reconcile.ts'
import type { VolumeUsage } from './volume-usage.ts'

export type AttachEventsParts = { readonly client: Client; readonly recorder: EventRecorder; readonly usage: VolumeUsage }

export class AttachEvents {
  readonly #pods: ResourceClient<Pod>
  readonly #volumes: ResourceClient<PersistentVolume>
  readonly #parts: AttachEventsParts
  /** The nodes that wait until another node releases a volume, by volume. */
  readonly #blocked = new Map<string, Set<string>>()

  constructor(parts: AttachEventsParts) {
    this.#parts = parts
    this.#pods = parts.client.of(Pod)
    this.#volumes = parts.client.of(PersistentVolume)
  }

  /** A node needs a volume that another one holds. Its pods are told once. */
  blocked(node: string, { volume, pods, by }: NodePlan<VolumeAttachment>['blocked'][number]): void {
    const { recorder, usage } = this.#parts
    const name = volume.metadata.name ?? ''
    const nodes = this.#blocked.get(name) ?? new Set()
    if (nodes.has(node)) return
    this.#blocked.set(name, nodes.add(node))
    const others = usage.usersOn(by, volume).map(({ metadata }) => queueKey(metadata))
    for (const key of pods) {
      const pod = this.#pods.get(namedBy(key))
      if (pod) recorder.event(pod, 'Warning', 'FailedAttachVolume', blockedMessage(name, pod.metadata.namespace ?? '', others))
    }
  }

  /** The driver has reported whether a volume is attached. Returns the nodes that have to be reconciled. */
  attachmentChanged({ type, current, previous }: Change<VolumeAttachment>): string[] {
    const { spec, status } = current.object ?? {}
    const volume = spec?.source.persistentVolumeName
    if (!spec || volume === undefined) return []
    const before = previous?.object?.status
    const error = status?.attachError?.message
    if (type === 'updated' && status?.attached && !before?.attached)
      this.#tellUsers(volume, spec.nodeName, { type: 'Normal', message: `AttachVolume.Attach succeeded for volume "${volume}" ` })
    else if (type === 'updated' && error !== undefined && error !== before?.attachError?.message)
      this.#tellUsers(volume, spec.nodeName, { type: 'Warning', message: `AttachVolume.Attach failed for volume "${volume}" : ${error}` })
    if (type !== 'deleted') return [spec.nodeName]
    const waiting = [...(this.#blocked.get(volume) ?? [])]
    this.#blocked.delete(volume)
    return [spec.nodeName, ...waiting]
  }

  #tellUsers(name: string, node: string, { type, message }: { readonly type: 'Normal' | 'Warning'; readonly message: string }): void {
    const { recorder, usage } = this.#parts
    const volume = this.#volumes.get({ name })
    const reason = type === 'Normal' ? 'SuccessfulAttachVolume' : 'FailedAttachVolume'
    for (const pod of volume ? usage.usersOn(node, volume) : []) recorder.event(pod, type, reason, message)
  }
}
