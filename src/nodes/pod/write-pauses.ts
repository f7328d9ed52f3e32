/**
 * Pauses after writes of pods with many containers. A look at such a pod takes long, and if its containers end at different times there
 * are many looks. A pod that is being deleted is not paused.
 */
import type { Pod } from '../../kinds/core/pod/pod.ts'
import { containersOf } from '../../kinds/rules/pod/containers/container.ts'
import { LIMITS } from '../../lib/limits.ts'

export class WritePauses {
  readonly #writtenAt = new Map<string, number>()

  /** The milliseconds until the next look at a pod; 0 or less when it can be looked at now. */
  left(key: string, pod: Pod, now: number): number {
    return pauseOf(pod) - (now - (this.#writtenAt.get(key) ?? 0))
  }

  wrote(key: string, pod: Pod, now: number): void {
    if (pauseOf(pod) > 0) this.#writtenAt.set(key, now)
  }

  forget(key: string): void {
    this.#writtenAt.delete(key)
  }
}

function pauseOf({ metadata, spec }: Pod): number {
  const { length } = containersOf(spec)
  return length <= LIMITS.manyContainers || metadata.deletionTimestamp !== undefined ? 0 : length * LIMITS.lookMsPerContainer
}
