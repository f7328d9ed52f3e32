/** Creates volumes for claims and deletes them when they are released, as the external-provisioner beside a real driver does. */

import { queueKey } from '../../client/change.ts'
import type { Client, ResourceClient } from '../../client/client.ts'
import { type EventRecorder, recordAll } from '../../client/event-recorder.ts'
import { Node } from '../../kinds/core/node.ts'
import { PersistentVolume } from '../../kinds/core/persistentvolume.ts'
import { PersistentVolumeClaim } from '../../kinds/core/persistentvolumeclaim.ts'
import { SELECTED_NODE } from '../../kinds/rules/persistent-volume/binding.ts'
import { classOf } from '../../kinds/rules/storage-class.ts'
import { StorageClass } from '../../kinds/storage/storageclass.ts'
import { VolumeAttachment } from '../../kinds/storage/volumeattachment.ts'
import { VolumeAttributesClass } from '../../kinds/storage/volumeattributesclass.ts'
import { isOurs, provisionStep, type VolumeDraft, volumeStep } from './provision.ts'

export class Provisioner {
  readonly #client: Client
  readonly #recorder: EventRecorder
  readonly #claims: ResourceClient<PersistentVolumeClaim>
  readonly #volumes: ResourceClient<PersistentVolume>

  constructor(client: Client, recorder: EventRecorder) {
    this.#client = client
    this.#recorder = recorder
    this.#claims = client.of(PersistentVolumeClaim)
    this.#volumes = client.of(PersistentVolume)
  }

  /** Takes the next step of a claim that has no volume. */
  async provision(claim: PersistentVolumeClaim): Promise<void> {
    const client = this.#client
    const step = provisionStep(claim, {
      storageClass: client.of(StorageClass).get({ name: classOf(claim) ?? '' }),
      attributesClass: name => client.of(VolumeAttributesClass).get({ name }),
      hasNode: name => client.of(Node).exists({ name }),
    })
    switch (step?.step) {
      case 'make':
        return this.#create(claim, step.volume)
      case 'unselect':
        await this.#unselectNode(claim)
        return recordAll(this.#recorder, claim, [step.notice])
      case 'report':
        recordAll(this.#recorder, claim, [step.notice])
    }
  }

  /** Takes the next step of a volume: keeps it with a finalizer, deletes it when it is released and detached, or lets it go. */
  async reconcileVolume(name: string): Promise<void> {
    const volume = this.#volumes.get({ name })
    if (!volume || !isOurs(volume)) return
    const step = volumeStep(volume, this.#nodesOf(name))
    switch (step?.step) {
      case 'delete':
        await this.#volumes.delete(volume)
        return
      case 'finalizers':
        await this.#volumes.update({ ...volume, metadata: { ...volume.metadata, finalizers: step.finalizers } })
        return
      case 'report':
        recordAll(this.#recorder, volume, [step.notice])
    }
  }

  async #create(claim: PersistentVolumeClaim, volume: VolumeDraft): Promise<void> {
    const { name } = volume.metadata
    if (this.#volumes.exists({ name })) return
    const about = `External provisioner is provisioning volume for claim "${queueKey(claim.metadata)}"`
    this.#recorder.event(claim, 'Normal', 'Provisioning', about)
    await this.#volumes.create(volume)
    this.#recorder.event(claim, 'Normal', 'ProvisioningSucceeded', `Successfully provisioned volume ${name}`)
  }

  async #unselectNode(claim: PersistentVolumeClaim): Promise<void> {
    const { [SELECTED_NODE]: _, ...annotations } = claim.metadata.annotations ?? {}
    await this.#claims.update({ ...claim, metadata: { ...claim.metadata, annotations } })
  }

  /** The nodes that a volume is attached to. */
  #nodesOf(volume: string): readonly string[] {
    const attachments = [...this.#client.of(VolumeAttachment).list()]
    return attachments.filter(({ spec }) => spec.source.persistentVolumeName === volume).map(({ spec }) => spec.nodeName)
  }
}
