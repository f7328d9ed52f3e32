/**
 * The user and time of each write. Objects do not have them: field managers are names that clients choose. It is kept in memory alone, for
 * the last writes, so that a write costs nothing more; after a restart it is unknown.
 */
import { LIMITS } from '../lib/limits.ts'
import type { Revision } from '../storage/store.ts'

export type Writer = { readonly user: string; readonly time: Date }

const CHUNK = 1024
type Chunk = { readonly users: (string | undefined)[]; readonly times: Float64Array }

export class Writers {
  /** Keyed by the revision divided by the size of a chunk: revisions of a store that others write to have gaps, and come out of order. */
  readonly #chunks = new Map<number, Chunk>()
  /** Users are few and write often: each name is kept once. */
  #names = new Map<string, string>()

  note(revision: Revision, user: string, time: Date): void {
    const { users, times } = this.#chunkOf(Math.floor(revision / CHUNK))
    users[revision % CHUNK] = this.#nameOf(user)
    times[revision % CHUNK] = time.getTime()
  }

  /** Undefined for writes that the server made by itself, those of other servers, and those that are forgotten. */
  of(revision: Revision): Writer | undefined {
    const chunk = this.#chunks.get(Math.floor(revision / CHUNK))
    const user = chunk?.users[revision % CHUNK]
    return user === undefined ? undefined : { user, time: new Date(chunk!.times[revision % CHUNK]!) }
  }

  #chunkOf(index: number): Chunk {
    const known = this.#chunks.get(index)
    if (known) return known
    const chunk = { users: new Array<string | undefined>(CHUNK).fill(undefined), times: new Float64Array(CHUNK) }
    this.#chunks.set(index, chunk)
    if (this.#chunks.size > LIMITS.notedWrites / CHUNK) this.#chunks.delete(Math.min(...this.#chunks.keys()))
    return chunk
  }

  #nameOf(user: string): string {
    const known = this.#names.get(user)
    if (known !== undefined) return known
    if (this.#names.size >= LIMITS.notedUsers) this.#names = new Map()
    this.#names.set(user, user)
    return user
  }
}
