/** Brings one claim up to date: binds it to a volume, requests one from a provisioner, or marks it as pending or lost. */

import { type Named, queueKey } from '../../client/change.ts'
import type { Client, ResourceClient } from '../../client/client.ts'
import { type EventRecorder, type Notice, recordAll } from '../../client/event-recorder.ts'
import { PersistentVolume } from '../../kinds/core/persistentvolume.ts'
import { PersistentVolumeClaim } from '../../kinds/core/persistentvolumeclaim.ts'
import { Pod } from '../../kinds/core/pod/pod.ts'
import { isDefaultStorageClass, newestDefault } from '../../kinds/rules/default-class.ts'
import { volumeBoundTo } from '../../kinds/rules/persistent-volume/binding.ts'
import { classOf } from '../../kinds/rules/storage-class.ts'
import { StorageClass } from '../../kinds/storage/storageclass.ts'
import { CLAIM_INDEX, isOver } from '../protection/usage.ts'
import { settledClaim } from './in-tree.ts'
import { claimKey, classKey, VOLUMES_BY_CLAIM_OR_CLASS } from './indexes.ts'
import { type ClaimSurroundings, claimBoundTo, claimStatus, claimToBeMadeBy, nextClaimStep } from './reconcile.ts'
import type { VolumeWriter } from './volume-writer.ts'

export type ClaimReconcilerParts = {
  readonly client: Client
  readonly recorder: EventRecorder
  readonly writer: Pick<VolumeWriter, 'setPhase'>
  readonly enqueue: (key: string) => void
}

export class ClaimReconciler {
  readonly #claims: ResourceClient<PersistentVolumeClaim>
  readonly #volumes: ResourceClient<PersistentVolume>
  readonly #parts: ClaimReconcilerParts

  constructor(parts: ClaimReconcilerParts) {
    this.#parts = parts
    this.#claims = parts.client.of(PersistentVolumeClaim)
    this.#volumes = parts.client.of(PersistentVolume)
  }

  async reconcile(named: Named): Promise<void> {
    const stored = this.#claims.get(named)
    if (!stored) return
    const settled = settledClaim(stored)
    const claim = settled ? (await this.#claims.update(settled))?.object : stored
    if (!claim) return
    const next = nextClaimStep(claim, this.#around(claim))
    switch (next.step) {
      case 'bind':
        return this.#bind(claim, next.volume)
      case 'class':
        await this.#claims.update({ ...claim, spec: { ...claim.spec, storageClassName: next.name } })
        return
      case 'provision':
        return this.#provision(claim, next.provisioner, next.notice)
      case 'pending':
        if (next.notice) this.#record(claim, next.notice)
        return this.#setStatus(claim, 'Pending')
      case 'report':
        this.#record(claim, next.notice)
        return
      case 'lose':
        if (claim.status.phase === 'Lost') return
        await this.#setStatus(claim, 'Lost')
        this.#record(claim, next.notice)
        return
    }
  }

  #around(claim: PersistentVolumeClaim): ClaimSurroundings {
    const { client } = this.#parts
    const [volumes, classes, pods] = [this.#volumes, client.of(StorageClass), client.of(Pod)]
    return {
      *volumes() {
        yield* volumes.byIndex(VOLUMES_BY_CLAIM_OR_CLASS, claimKey(claim.metadata))
        yield* volumes.byIndex(VOLUMES_BY_CLAIM_OR_CLASS, classKey(classOf(claim)))
      },
      volume: name => volumes.get({ name }),
      storageClass: name => classes.get({ name }),
      defaultClass: () => newestDefault(classes.list(), isDefaultStorageClass)?.metadata.name,
      waitingPods() {
        const users = [...pods.byIndex(CLAIM_INDEX, queueKey(claim.metadata))]
        return users.filter(({ spec, status }) => !spec.nodeName && !isOver(status.phase)).map(({ metadata }) => metadata.name ?? '')
      },
    }
  }

  /** Writes the volume first: that write decides which claim gets it. */
  async #bind(claim: PersistentVolumeClaim, name: string): Promise<void> {
    const { writer, enqueue } = this.#parts
    const stored = this.#volumes.get({ name })
    const changed = stored && volumeBoundTo(stored, claim)
    const written = changed ? (await this.#volumes.update(changed))?.object : stored
    const volume = written && (await writer.setPhase(written, 'Bound'))
    // The volume was deleted before it named the claim: another one may match.
    if (!volume) return enqueue(claimKey(claim.metadata))
    const changedClaim = claimBoundTo(claim, name)
    const bound = changedClaim ? (await this.#claims.update(changedClaim))?.object : claim
    if (bound) await this.#setStatus(bound, 'Bound', volume)
  }

  async #provision(claim: PersistentVolumeClaim, provisioner: string, notice: Notice): Promise<void> {
    const annotated = claimToBeMadeBy(claim, provisioner)
    const written = annotated ? (await this.#claims.update(settledClaim(annotated) ?? annotated))?.object : claim
    if (written) this.#record(written, notice)
  }

  async #setStatus(claim: PersistentVolumeClaim, phase: 'Pending' | 'Bound' | 'Lost', volume?: PersistentVolume): Promise<void> {
    const status = claimStatus(claim, phase, volume)
    if (status) await this.#claims.updateStatus({ ...claim, status })
  }

  #record(claim: PersistentVolumeClaim, notice: Notice): void {
    recordAll(this.#parts.recorder, claim, [notice])
  }
}
