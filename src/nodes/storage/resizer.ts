/**
 * Grows volumes and changes their attributes, as the external-resizer beside a real driver does, and grows the file system on a volume,
 * as the kubelet does that has mounted it.
 */

import { queueKey } from '../../client/change.ts'
import type { Client, ResourceClient } from '../../client/client.ts'
import { type EventRecorder, recordAll } from '../../client/event-recorder.ts'
import { CLAIM_INDEX } from '../../controllers/protection/usage.ts'
import { Node } from '../../kinds/core/node.ts'
import { PersistentVolume } from '../../kinds/core/persistentvolume.ts'
import { PersistentVolumeClaim } from '../../kinds/core/persistentvolumeclaim.ts'
import { Pod } from '../../kinds/core/pod/pod.ts'
import { VolumeAttributesClass } from '../../kinds/storage/volumeattributesclass.ts'
import { timestampOf } from '../../lib/time.ts'
import { isAlive } from '../node/simulated-node.ts'
import { isOurs } from './provision.ts'
import { fileSystemResized, modifyStep, type ResizeStep, resizeStep } from './resize.ts'

export type ResizerParts = {
  readonly client: Client
  readonly recorder: EventRecorder
  /** Records events in the name of the kubelet of a node. */
  readonly kubeletRecorder: (node: string) => EventRecorder
}

export class Resizer {
  readonly #parts: ResizerParts
  readonly #claims: ResourceClient<PersistentVolumeClaim>
  readonly #volumes: ResourceClient<PersistentVolume>

  constructor(parts: ResizerParts) {
    this.#parts = parts
    this.#claims = parts.client.of(PersistentVolumeClaim)
    this.#volumes = parts.client.of(PersistentVolume)
  }

  /** Takes the next step of a claim that has a volume. */
  async resize(claim: PersistentVolumeClaim, volume: PersistentVolume): Promise<void> {
    const { client } = this.#parts
    const now = timestampOf(client.now)
    const attributesClass = (name: string) => client.of(VolumeAttributesClass).get({ name })
    const step = isOurs(volume) ? (resizeStep(claim, volume, now) ?? modifyStep(claim, attributesClass)) : undefined
    await (step ? this.#change(claim, volume, step) : this.#growFileSystem(claim, volume))
  }

  /** Changes the volume before the claim: the status of the claim has come true when it is written. */
  async #change(claim: PersistentVolumeClaim, volume: PersistentVolume, { spec, status, notices }: ResizeStep): Promise<void> {
    if (spec && !(await this.#volumes.update({ ...volume, spec: { ...volume.spec, ...spec } }))) return
    if (!(await this.#claims.updateStatus({ ...claim, status }))) return
    recordAll(this.#parts.recorder, claim, notices)
  }

  async #growFileSystem(claim: PersistentVolumeClaim, volume: PersistentVolume): Promise<void> {
    const status = fileSystemResized(claim)
    const pod = status && this.#podWith(claim)
    if (!pod || !(await this.#claims.updateStatus({ ...claim, status }))) return
    const { nodeName = '' } = pod.spec
    const message = `MountVolume.NodeExpandVolume succeeded for volume "${volume.metadata.name}" ${nodeName}`
    this.#parts.kubeletRecorder(nodeName).event(pod, 'Normal', 'FileSystemResizeSuccessful', message)
  }

  /** A pod that has the volume of a claim mounted on a node that works. */
  #podWith(claim: PersistentVolumeClaim): Pod | undefined {
    const { client } = this.#parts
    for (const pod of client.of(Pod).byIndex(CLAIM_INDEX, queueKey(claim.metadata)))
      if (pod.status.phase === 'Running' && isAlive(client.of(Node).get({ name: pod.spec.nodeName ?? '' }))) return pod
    return undefined
  }
}
