/**
 * The space that a store may use, as etcd's `--quota-backend-bytes`. A store that has used it up raises an alarm and takes only what
 * lets it become smaller again; the alarm is over when a twentieth is free.
 *
 *     0 ────────────── limit − 1/20 ─── limit ──────── + 1/40 ──────────── + 1/20
 *     everything       ends the alarm   raises it      small growth of     deletions, and updates
 *                                                      stored objects      that do not grow
 *
 * Deletions always go on. So do updates that do not grow their object: controllers renew leases, finalizers are removed. Small
 * additions (a status, a finalizer, the time of a deletion) may use a reserve behind the limit, and the second half of that is for
 * objects that are being deleted.
 *
 * The index of a store is in memory whatever the size of its values, so the number of its keys has a limit, too.
 */
import { SpaceExceeded } from './store.ts'

/** Bytes by which an update may enlarge its object while the store is full: conditions, finalizers, entries of managedFields. */
const SMALL_GROWTH = 4 << 10
/** Every update adds to history. Behind the reserve, only small ones do until that is compacted. */
const SMALL_OBJECT = 64 << 10
const RESERVE = 1 / 20

/** How much a store may hold. */
export type Limits = { readonly quotaBytes?: number; readonly mostKeys?: number }
/** The current usage. `bytes` may take a while to compute, and is read when the limit is near. */
export type Held = { readonly bytes: () => number; readonly keys: () => number }

export type Cost = {
  /** Bytes of the new value. */
  readonly bytes: number
  readonly isNew: boolean
  /** Bytes of the value that it replaces; undefined where there is none. Asked only when the store is full. */
  readonly replaced: () => number | undefined
  readonly isEnding: boolean
}

export class Quota {
  readonly limit: number
  readonly #mostKeys: number
  readonly #holds: Held
  #measured: number
  /** Bytes written since the space was measured, and those that are being written. */
  #written = 0
  #pending = 0
  #isStale = false
  #isFull = false

  constructor({ quotaBytes = Number.POSITIVE_INFINITY, mostKeys = Number.POSITIVE_INFINITY }: Limits, holds: Held) {
    this.limit = quotaBytes
    this.#mostKeys = mostKeys
    this.#holds = holds
    this.#measured = holds.bytes()
    this.#isFull = this.#measured > quotaBytes
  }

  /** Whether the alarm is raised. */
  get isFull(): boolean {
    this.#update(0)
    return this.#isFull || this.#holds.keys() >= this.#mostKeys
  }

  /** Throws `SpaceExceeded` where there is no room for a write; otherwise its bytes are counted as being written. */
  admit(cost: Cost): void {
    const { bytes, isNew } = cost
    this.#update(bytes)
    if (isNew && this.#holds.keys() >= this.#mostKeys) throw tooManyKeys(this.#mostKeys)
    if (this.#isFull && !this.#takesWhenFull(cost)) throw exceeded(this.#used, this.limit)
    this.#pending += bytes
  }

  /** The write of so many bytes is over. */
  settle(bytes: number, isWritten: boolean): void {
    this.#pending -= bytes
    if (isWritten) this.#written += bytes
    this.#isStale = true
  }

  /** Something was removed. */
  freed(): void {
    this.#isStale = true
  }

  get #used(): number {
    return this.#measured + this.#written + this.#pending
  }

  #update(more: number): void {
    const isNear = this.#used + more > this.limit || this.#written > this.limit / 16
    if (this.#isStale && (this.#isFull || isNear)) {
      this.#measured = this.#holds.bytes()
      this.#written = 0
      this.#isStale = false
    }
    const used = this.#used + more
    if (used > this.limit) this.#isFull = true
    else if (used <= this.limit * (1 - RESERVE)) this.#isFull = false
  }

  #takesWhenFull({ bytes, replaced, isEnding }: Cost): boolean {
    const before = replaced()
    if (before === undefined) return false
    const reserve = this.limit * RESERVE
    const over = this.#used + bytes - this.limit
    if (bytes <= before) return over <= reserve || bytes <= SMALL_OBJECT
    return bytes - before <= SMALL_GROWTH && over <= (isEnding ? reserve : reserve / 2)
  }
}

const MIB = 1 << 20

function exceeded(used: number, limit: number): SpaceExceeded {
  const sizes = `${Math.ceil(used / MIB)} MiB are in use, --quota-backend-bytes is ${Math.floor(limit / MIB)} MiB`
  return refusal(`${sizes}; objects can be read and deleted: delete some, or have the administrator raise it`)
}

const tooManyKeys = (most: number) =>
  refusal(`${most} objects are as many as the memory of the server can index; objects can be read and deleted: delete some`)

/** Begins with the text of etcd, which people and programs look for. */
function refusal(reason: string): SpaceExceeded {
  const message = `etcdserver: mvcc: database space exceeded: ${reason}`
  return new SpaceExceeded(message, { problem: message })
}
