/**
 * Amounts that have been taken of quotas for objects that are not stored yet. A write is counted in the status of its quotas before its object
 * is stored; whoever counts the objects meanwhile adds the reservations, so that the same room is not given away twice:
 *
 *     reserve ─→ status.used + 1 ─→ object is stored ─→ settled          counting: objects + reservations whose object is not visible
 *                                 └→ object is not   ─→ status.used - 1
 *
 * In this process the status of quotas is written by one writer at a time in a namespace. Servers over one store note what they
 * reserve where the others find it, before they count it in the status: whoever counts the objects reads the status, then the notes, then
 * the objects, and writes the status only if it is still the same. A write that was counted before is then found as a note or as an object.
 * Where nobody knows whether a write was stored, it may still be on its way to the store: its reservation and its note stay until no write
 * can take that long.
 */
import { monotonicMs } from '../../../lib/environment.ts'
import { LIMITS } from '../../../lib/limits.ts'
import type { ResourceList } from './resource-list.ts'

export type Reservation = {
  readonly namespace: string
  /** Whether the object, as it was admitted, can be read; then counting finds it. */
  readonly isVisible: () => boolean
  /** The amounts counted in the status of each quota, by its name. */
  readonly takes: Map<string, ResourceList>
}

/** A write that takes of quotas, as others are told of it. */
export type Note = {
  readonly resource: { readonly group: string; readonly version: string; readonly plural: string }
  readonly name: string
  readonly uid: string
  /** The resourceVersion that an update replaces. */
  readonly replaced?: string
  /** The amounts that it takes of each quota, by its name. */
  readonly takes: Readonly<Record<string, Readonly<Record<string, string>>>>
}

/** An older reservation is of a write that was not stored, or of a server that has ended. */
export const MAX_RESERVED_MS = LIMITS.undecidedWriteMs

/** Where servers over one store note their reservations. */
export interface Notes {
  /** Notes writes of a namespace, for as long as they may last; resolves when others can find it, with what removes it. */
  write(namespace: string, notes: readonly Note[]): Promise<() => Promise<void>>
  /** The notes of other servers. */
  readOthers(namespace: string): Promise<readonly Note[]>
  /** Resolves once the objects can be read that were stored when it was called. */
  fresh(): Promise<void> | undefined
}

export class Reservations {
  /** Where other servers find the reservations of this one; undefined where there are none. */
  readonly notes: Notes | undefined
  readonly #byNamespace = new Map<string, Set<Reservation>>()
  readonly #byUid = new Map<string, Reservation>()
  /** Those of writes with an unknown outcome, the oldest first. */
  readonly #kept: { readonly reservation: Reservation; readonly uid: string; readonly until: number }[] = []
  /** Resolves when the last that asked for the namespace is done. */
  readonly #last = new Map<string, Promise<void>>()

  constructor(notes?: Notes) {
    this.notes = notes
  }

  /** Runs one after the other what concerns the quotas of one namespace. */
  async exclusively<T>(namespace: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(namespace)
    let done = () => {}
    const mine = new Promise<void>(resolve => (done = resolve))
    this.#last.set(namespace, mine)
    try {
      await before
      return await work()
    } finally {
      if (this.#last.get(namespace) === mine) this.#last.delete(namespace)
      done()
    }
  }

  add(reservation: Reservation, uid: string): void {
    this.#removeExpired()
    const { namespace } = reservation
    const present = this.#byNamespace.get(namespace)
    if (present) present.add(reservation)
    else this.#byNamespace.set(namespace, new Set([reservation]))
    this.#byUid.set(uid, reservation)
  }

  /** Keeps the reservation of a write with an unknown outcome until it can no longer be stored. */
  keep(reservation: Reservation, uid: string): void {
    this.#kept.push({ reservation, uid, until: monotonicMs() + MAX_RESERVED_MS })
  }

  #removeExpired(): void {
    for (let oldest = this.#kept[0]; oldest && oldest.until <= monotonicMs(); oldest = this.#kept[0]) {
      this.#kept.shift()
      this.remove(oldest.reservation, oldest.uid)
    }
  }

  remove(reservation: Reservation, uid: string): void {
    const { namespace } = reservation
    const present = this.#byNamespace.get(namespace)
    present?.delete(reservation)
    if (present?.size === 0) this.#byNamespace.delete(namespace)
    if (this.#byUid.get(uid) === reservation) this.#byUid.delete(uid)
  }

  /** Whether an object is counted in the status of a quota already, by the write that just stored it. */
  isCounted(uid: string, quota: string): boolean {
    return this.#byUid.get(uid)?.takes.has(quota) ?? false
  }

  /** The reservations of a quota for objects that counting does not find. Those of objects that it finds are no longer given back. */
  takeOver(namespace: string, quota: string): readonly ResourceList[] {
    this.#removeExpired()
    const reserved: ResourceList[] = []
    for (const { takes, isVisible } of this.#byNamespace.get(namespace) ?? []) {
      const taken = takes.get(quota)
      if (!taken) continue
      if (isVisible()) takes.delete(quota)
      else reserved.push(taken)
    }
    return reserved
  }
}
