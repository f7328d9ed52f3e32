/**
 * Files of simulated containers that clients' commands have changed. Those in an emptyDir belong to the pod and all others to a run of
 * a container. They are kept in memory, the most recently changed pods first; a server that starts again has none of them.
 */
import { LIMITS } from '../../lib/limits.ts'

/** A file in an emptyDir, or in a run of a container. */
export type ChangedFile = {
  readonly at: { readonly volume: string } | { readonly run: string }
  readonly path: string
  /** Null where the file is gone. */
  readonly text: string | null
}

type OfPod = { readonly files: ReadonlyMap<string, ChangedFile>; readonly size: number }

export class ChangedFiles {
  readonly #pods = new Map<string, OfPod>()
  #size = 0

  /** The changes in a pod, as far as one run of a container can see them. */
  seenBy(uid: string, run: string): ChangedFile[] {
    const files = [...(this.#pods.get(uid)?.files.values() ?? [])]
    return files.filter(({ at }) => 'volume' in at || at.run === run)
  }

  /** False, and nothing is changed, when the pod has no room for it. */
  change(uid: string, changes: readonly ChangedFile[]): boolean {
    if (changes.length === 0) return true
    const files = new Map(this.#pods.get(uid)?.files)
    for (const changed of changes) {
      const { at, path } = changed
      files.set('volume' in at ? `volume ${at.volume} ${path}` : `run ${at.run} ${path}`, changed)
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
