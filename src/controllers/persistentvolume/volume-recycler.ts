/** Recycles released volumes: a pod empties each of them, and then it is available again. */

import { queueKey } from '../../client/change.ts'
import type { Client, ResourceClient } from '../../client/client.ts'
import type { EventRecorder } from '../../client/event-recorder.ts'
import type { PersistentVolume } from '../../kinds/core/persistentvolume.ts'
import { PersistentVolumeClaim } from '../../kinds/core/persistentvolumeclaim.ts'
import { Pod } from '../../kinds/core/pod/pod.ts'
import { CLAIM_INDEX, isOver } from '../protection/usage.ts'
import { claimKey } from './indexes.ts'
import { nextRecycleStep, RECYCLER_NAMESPACE, recyclerName } from './recycle.ts'
import type { VolumeWriter } from './volume-writer.ts'

/** A failed recycler is started again after this time. */
const RETRY_MS = 15_000

export type VolumeRecyclerParts = { readonly client: Client; readonly recorder: EventRecorder; readonly writer: VolumeWriter }

export class VolumeRecycler {
  readonly #claims: ResourceClient<PersistentVolumeClaim>
  readonly #pods: ResourceClient<Pod>
  readonly #parts: VolumeRecyclerParts
  /** The recycler pods that this process has started, by uid. */
  readonly #started = new Set<string>()
  /** The volumes that are recycled once the last pod that uses them has ended, by the key of their deleted claim. */
  readonly #heldBack = new Map<string, string>()

  constructor(parts: VolumeRecyclerParts) {
    this.#parts = parts
    this.#claims = parts.client.of(PersistentVolumeClaim)
    this.#pods = parts.client.of(Pod)
  }

  get isHoldingBack(): boolean {
    return this.#heldBack.size > 0
  }

  /** The volume that waits for the pods of a claim to end; it is looked at again, so that it no longer waits. */
  takeHeldBack(claim: string): string | undefined {
    const volume = this.#heldBack.get(claim)
    this.#heldBack.delete(claim)
    return volume
  }

  /** Takes the next step; resolves to the milliseconds until it has to be repeated. */
  async recycle(volume: PersistentVolume): Promise<number | undefined> {
    const { recorder, writer } = this.#parts
    const { name = '' } = volume.metadata
    const users = this.#usersOf(volume)
    if (users.length > 0) {
      this.#heldBack.set(claimKey(volume.spec.claimRef!), name)
      recorder.event(volume, 'Normal', 'VolumeFailedRecycle', `Volume is used by pods: ${users.join(',')}`)
      return undefined
    }
    const pod = this.#pods.get({ namespace: RECYCLER_NAMESPACE, name: recyclerName(name) })
    const next = nextRecycleStep(volume, pod, pod !== undefined && this.#started.has(pod.metadata.uid ?? ''))
    switch (next.step) {
      case 'start': {
        const created = await this.#pods.create(next.pod)
        if (created) this.#started.add(created.object.metadata.uid ?? '')
        return undefined
      }
      case 'clear':
        await this.#pods.delete(next.pod)
        return undefined
      case 'wait':
        return undefined
      case 'done':
        await this.#stop(next.pod)
        recorder.event(volume, 'Normal', 'VolumeRecycled', 'Volume recycled')
        await writer.unbind(volume)
        return undefined
      case 'failed':
        await this.#stop(next.pod)
        await writer.fail(volume, { type: 'Warning', reason: 'VolumeFailedRecycle', message: next.why })
        return RETRY_MS
    }
  }

  async #stop(pod: Pod): Promise<void> {
    await this.#pods.delete(pod)
    this.#started.delete(pod.metadata.uid ?? '')
  }

  /** The pods that still use a volume whose claim is gone. */
  #usersOf({ spec: { claimRef } }: PersistentVolume): string[] {
    if (!claimRef || this.#claims.exists(claimRef)) return []
    const users = [...this.#pods.byIndex(CLAIM_INDEX, queueKey(claimRef))].filter(({ status }) => !isOver(status.phase))
    return users.map(({ metadata }) => queueKey(metadata)).sort()
  }
}
