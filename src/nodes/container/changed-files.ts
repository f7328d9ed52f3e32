/**
 * Files of simulated containers that clients' commands have changed. Those in an emptyDir belong to the pod and all others to a run of
 * a container. They are kept in memory, the most recently changed pods first; a server that starts again has none of them.
 */
import type { Pod } from '../../kinds/core/pod/pod.ts'
import type { Container } from '../../kinds/rules/pod/containers/container.ts'
import { LIMITS } from '../../lib/limits.ts'
import { pathsOfPlace, sharedPlaceOf } from './files.ts'

/** Contents by path; null where a file is gone. */
export type Changes = ReadonlyMap<string, string | null>

type Changed = { readonly volume?: string; readonly run?: string; readonly path: string; readonly text: string | null }
type OfPod = { readonly files: Map<string, Changed>; size: number }

/** A container, with the id of its run. */
export type RunningContainer = { readonly pod: Pod; readonly container: Container; readonly run: string }

export class ChangedFiles {
  readonly #pods = new Map<string, OfPod>()
  #size = 0

  /** All changes that a container sees. */
  seenBy({ pod, container, run }: RunningContainer): Changes {
    const seen = new Map<string, string | null>()
    for (const { volume, run: of, path, text } of this.#pods.get(pod.metadata.uid ?? '')?.files.values() ?? [])
      for (const each of volume !== undefined ? pathsOfPlace({ volume, path }, container) : of === run ? [path] : []) seen.set(each, text)
    return seen
  }

  /** False, and nothing is changed, when the pod has no room for it. */
  change({ pod, container, run }: RunningContainer, changes: Changes): boolean {
    if (changes.size === 0) return true
    const uid = pod.metadata.uid ?? ''
    const before = this.#pods.get(uid)
    const files = new Map(before?.files)
    for (const [path, text] of changes) {
      const place = sharedPlaceOf(path, pod, container)
      const changed = place ? { ...place, text } : { run, path, text }
      files.set(place ? `volume ${place.volume} ${place.path}` : `run ${run} ${path}`, changed)
    }
    let size = 0
    for (const [key, { text }] of files) size += key.length + (text?.length ?? 0)
    if (files.size > LIMITS.changedFiles || size > LIMITS.changedFileBytes) return false
    this.forget(uid)
    this.#pods.set(uid, { files, size })
    this.#size += size
    for (const eldest of this.#pods.keys()) {
      if (this.#size <= LIMITS.allChangedFileBytes) break
      this.forget(eldest)
    }
    return true
  }

  forget(uid: string): void {
    this.#size -= this.#pods.get(uid)?.size ?? 0
    this.#pods.delete(uid)
  }
}
