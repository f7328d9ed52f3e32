/** Snapshots that a server keeps in memory by name, for tests that restore them. */

import { LIMITS } from '../lib/limits.ts'
import { randomSuffix } from '../lib/safe-text.ts'
import { badRequest, StatusError } from '../schema/status-error.ts'
import type { SavedState } from './state.ts'

/** A kept snapshot, as clients see it. */
export type SnapshotInfo = {
  readonly name: string
  /** The revision that it was saved at, as a resourceVersion. */
  readonly revision: string
  readonly objects: number
  readonly bytes: number
  /** The server's time at which it was saved. */
  readonly created: string
}

type Kept = { readonly info: SnapshotInfo; readonly state: SavedState }

const NAME = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/

export class KeptSnapshots {
  readonly #kept = new Map<string, Kept>()

  list(): SnapshotInfo[] {
    return Array.from(this.#kept.values(), ({ info }) => info)
  }

  /** A name that a client has sent, or a new one. Throws StatusError. */
  nameFor(given: unknown): string {
    if (given === undefined) return `snapshot-${randomSuffix()}`
    if (typeof given !== 'string' || !NAME.test(given))
      throw badRequest('name must be a lowercase DNS name: letters, digits, dashes and dots, such as "before-upgrade"')
    return given
  }

  /** Keeps a state; one of the same name is replaced. Throws StatusError when there is no room. */
  keep(name: string, state: SavedState, now: Date): SnapshotInfo {
    const others = [...this.#kept.values()].filter(({ info }) => info.name !== name)
    const bytes = others.reduce((sum, { info }) => sum + info.bytes, state.bytes)
    const { count, bytes: most } = LIMITS.keptSnapshots
    if (others.length >= count || bytes > most)
      throw new StatusError(409, 'Conflict', `a server keeps ${count} snapshots of ${most >> 20} MiB in all; delete one first`)
    const { revision, records } = state
    const info = { name, revision: String(revision), objects: records.size, bytes: state.bytes, created: now.toISOString() }
    this.#kept.set(name, { info, state })
    return info
  }

  /** Throws StatusError where there is none. */
  get(name: string): Kept {
    const kept = this.#kept.get(name)
    if (!kept) throw new StatusError(404, 'NotFound', `there is no snapshot ${JSON.stringify(name.slice(0, MAX_SHOWN))}`)
    return kept
  }

  delete(name: string): SnapshotInfo {
    const { info } = this.get(name)
    this.#kept.delete(name)
    return info
  }
}

const MAX_SHOWN = 300
