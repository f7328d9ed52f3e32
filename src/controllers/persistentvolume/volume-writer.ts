/** Writes the phase of volumes, and takes bindings back. Each write is made only of the object that was read. */
import type { ResourceClient } from '../../client/client.ts'
import type { EventRecorder, Notice } from '../../client/event-recorder.ts'
import type { PersistentVolume } from '../../kinds/core/persistentvolume.ts'
import { unboundVolume } from './reconcile.ts'

export class VolumeWriter {
  readonly #volumes: ResourceClient<PersistentVolume>
  readonly #recorder: EventRecorder

  constructor(volumes: ResourceClient<PersistentVolume>, recorder: EventRecorder) {
    this.#volumes = volumes
    this.#recorder = recorder
  }

  /** Resolves to the volume as it is stored then; undefined when it is gone. */
  async setPhase(volume: PersistentVolume, phase: string, message = ''): Promise<PersistentVolume | undefined> {
    if (volume.status.phase === phase) return volume
    const { message: _, ...status } = volume.status
    return (await this.#volumes.updateStatus({ ...volume, status: { ...status, phase, ...(message && { message }) } }))?.object
  }

  /** Removes the reference to the claim: the volume is available again. */
  async unbind(volume: PersistentVolume): Promise<void> {
    const written = (await this.#volumes.update(unboundVolume(volume)))?.object
    if (written) await this.setPhase(written, 'Available')
  }

  /** Marks a volume as failed, with an event, once. */
  async fail(volume: PersistentVolume, { type, reason, message }: Notice): Promise<void> {
    if (volume.status.phase === 'Failed') return
    const failed = await this.setPhase(volume, 'Failed', message)
    if (failed) this.#recorder.event(failed, type, reason, message)
  }
}
