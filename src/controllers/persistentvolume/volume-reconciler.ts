/** Brings one volume up to date: its phase, its binding, and its reclaim once its claim is gone. */
import type { Client, ResourceClient } from '../../client/client.ts'
import { type EventRecorder, recordAll } from '../../client/event-recorder.ts'
import { PersistentVolume } from '../../kinds/core/persistentvolume.ts'
import { PersistentVolumeClaim } from '../../kinds/core/persistentvolumeclaim.ts'
import { matchingVolume } from '../../kinds/rules/persistent-volume/binding.ts'
import { classOf } from '../../kinds/rules/storage-class.ts'
import { IN_TREE_FINALIZER, settledVolume } from './in-tree.ts'
import { CLAIMS_BY_VOLUME_OR_CLASS, claimKey, classKey } from './indexes.ts'
import { nextVolumeStep, reclaimOf } from './reconcile.ts'
import type { VolumeRecycler } from './volume-recycler.ts'
import type { VolumeWriter } from './volume-writer.ts'

export type VolumeReconcilerParts = {
  readonly client: Client
  readonly recorder: EventRecorder
  readonly writer: VolumeWriter
  readonly recycler: Pick<VolumeRecycler, 'recycle'>
  readonly enqueue: (key: string) => void
}

export class VolumeReconciler {
  readonly #claims: ResourceClient<PersistentVolumeClaim>
  readonly #volumes: ResourceClient<PersistentVolume>
  readonly #parts: VolumeReconcilerParts

  constructor(parts: VolumeReconcilerParts) {
    this.#parts = parts
    this.#claims = parts.client.of(PersistentVolumeClaim)
    this.#volumes = parts.client.of(PersistentVolume)
  }

  /** Resolves to the milliseconds until the volume has to be reconciled again. */
  async reconcile(name: string): Promise<number | undefined> {
    const { recorder, writer, enqueue } = this.#parts
    const stored = this.#volumes.get({ name })
    if (!stored) return undefined
    const settled = settledVolume(stored)
    const volume = settled ? (await this.#volumes.update(settled))?.object : stored
    if (!volume) return undefined
    const { claimRef } = volume.spec
    const claim = claimRef && this.#claims.get(claimRef)
    const next = nextVolumeStep(volume, claim)
    switch (next.step) {
      case 'phase': {
        const written = await writer.setPhase(volume, next.phase)
        if (written && next.phase === 'Available') this.#offer(written)
        return undefined
      }
      case 'claim':
        enqueue(claimKey(claim!.metadata))
        return undefined
      case 'mismatch':
        recordAll(recorder, volume, [next.ofVolume])
        recordAll(recorder, claim!, [next.ofClaim])
        return undefined
      case 'unbind':
        await writer.unbind(volume)
        return undefined
      case 'reclaim': {
        const isReleased = volume.status.phase === 'Released' || volume.status.phase === 'Failed'
        const released = isReleased ? volume : await writer.setPhase(volume, 'Released')
        return released && this.#reclaim(released)
      }
    }
  }

  /** Enqueues the claims that may be bound to a volume that became available. */
  #offer(volume: PersistentVolume): void {
    const { enqueue } = this.#parts
    const { claimRef } = volume.spec
    if (claimRef) {
      enqueue(claimKey(claimRef))
      return
    }
    for (const claim of this.#claims.byIndex(CLAIMS_BY_VOLUME_OR_CLASS, classKey(classOf(volume))))
      if (matchingVolume(claim, [volume])) enqueue(claimKey(claim.metadata))
  }

  async #reclaim(volume: PersistentVolume): Promise<number | undefined> {
    const next = reclaimOf(volume)
    switch (next.type) {
      case 'keep':
        return undefined
      case 'delete':
        await this.#delete(volume)
        return undefined
      case 'fail':
        await this.#parts.writer.fail(volume, next.notice)
        return undefined
      case 'recycle':
        return this.#parts.recycler.recycle(volume)
    }
  }

  async #delete(volume: PersistentVolume): Promise<void> {
    const { finalizers = [] } = volume.metadata
    const others = finalizers.filter(each => each !== IN_TREE_FINALIZER)
    const isFree = others.length === finalizers.length
    const metadata = { ...volume.metadata, finalizers: others }
    const current = isFree ? volume : (await this.#volumes.update({ ...volume, metadata }))?.object
    if (current && !current.metadata.deletionTimestamp) await this.#volumes.delete(current)
  }
}
