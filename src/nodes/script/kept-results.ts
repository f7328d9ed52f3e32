/** Results of commands, valid while the objects that they depend on stay the same. The most recently used ones are kept. */
import { LIMITS } from '../../lib/limits.ts'
import type { ObjectQuestion } from './command-answers.ts'
import type { JobResult } from './command-job.ts'

export type Kept = {
  /** The uid of the pod. */
  readonly owner: string
  readonly result: JobResult
  /** The questions of the command, with the stamps of the answers. */
  readonly questions: readonly { readonly question: ObjectQuestion; readonly stamp: string }[]
  /** Digest of the labels and annotations of the pod, if the command read them. */
  readonly metadata: string | undefined
}

/** Bytes of an entry beside its strings, and of a path beside its characters. */
const ENTRY_SIZE = 512
const PATH_SIZE = 64

export class KeptResults {
  readonly #entries = new Map<string, { readonly kept: Kept; readonly size: number }>()
  readonly #byOwner = new Map<string, Set<string>>()
  #size = 0

  /** Undefined when there is no valid result. */
  get(key: string, isCurrent: (kept: Kept) => boolean): JobResult | undefined {
    const entry = this.#entries.get(key)
    if (!entry) return undefined
    this.delete(key)
    if (!isCurrent(entry.kept)) return undefined
    this.#put(key, entry)
    return entry.kept.result
  }

  set(key: string, kept: Kept): void {
    this.delete(key)
    this.#put(key, { kept, size: sizeOf(kept.result) })
    for (const eldest of this.#entries.keys()) {
      if (this.#size <= LIMITS.commands.keptBytes && this.#entries.size <= LIMITS.commands.keptResults) break
      this.delete(eldest)
    }
  }

  delete(key: string): void {
    const entry = this.#entries.get(key)
    if (!entry) return
    this.#entries.delete(key)
    this.#size -= entry.size
    const keys = this.#byOwner.get(entry.kept.owner)
    keys?.delete(key)
    if (keys?.size === 0) this.#byOwner.delete(entry.kept.owner)
  }

  /** Deletes the results of one pod. */
  deleteOf(owner: string): void {
    for (const key of [...(this.#byOwner.get(owner) ?? [])]) this.delete(key)
  }

  #put(key: string, entry: { readonly kept: Kept; readonly size: number }): void {
    this.#entries.set(key, entry)
    this.#size += entry.size
    const keys = this.#byOwner.get(entry.kept.owner)
    if (keys) keys.add(key)
    else this.#byOwner.set(entry.kept.owner, new Set([key]))
  }
}

function sizeOf({ understood, mountProblem = '' }: JobResult): number {
  const { log = '', lastWords = '', writtenMs, removedMs, left } = understood ?? {}
  let size = ENTRY_SIZE + mountProblem.length + log.length + lastWords.length
  for (const paths of [writtenMs, removedMs, left]) for (const path of paths?.keys() ?? []) size += path.length + PATH_SIZE
  return size
}
