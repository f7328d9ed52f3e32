/**
 * Writes of this server: each is answered once it can be read from the caches. While one is under way its object is kept, so that the event
 * that comes back need not be decoded.
 */
import { ExpectedBytes } from '../codec/stored-bytes.ts'
import { monotonicMs } from '../lib/environment.ts'
import { type MaybePromise, whenDone } from '../lib/maybe-promise.ts'
import type { Assertions } from '../schema/assertions.ts'
import type { AnyObject } from '../schema/object-meta.ts'
import { type Change, type Event, madeBytes, type Revision, type Store, type Swap, type Value } from '../storage/store.ts'
import type { CacheTable } from './cache-table.ts'
import type { Freshness } from './freshness.ts'
import type { Position } from './position.ts'

/** A write under way. */
export type OwnWrite = {
  readonly value: Value
  readonly object: AnyObject
  /** Whether nobody changes the object any more. */
  readonly isKept: boolean
  expected: ExpectedBytes | undefined
}

export type OwnWritesParts = {
  readonly store: Pick<Store, 'swap'>
  readonly position: Position
  readonly table: CacheTable
  /** Undefined where nobody else writes to the store. */
  readonly freshness: Freshness | undefined
  readonly assertions: Assertions
}

export class OwnWrites {
  readonly #store: Pick<Store, 'swap'>
  readonly #position: Position
  readonly #table: CacheTable
  readonly #freshness: Freshness | undefined
  readonly #assertions: Assertions
  /**
   * Writes in progress, in the order of their events. Not a Map: its former entries survive until a full garbage
   * collection, see CONTRIBUTING.md.
   */
  readonly #underWay: OwnWrite[] = []

  constructor({ store, position, table, freshness, assertions }: OwnWritesParts) {
    this.#store = store
    this.#position = position
    this.#table = table
    this.#freshness = freshness
    this.#assertions = assertions
  }

  /** How many writes are on their way to the store, of those whose object is known. */
  get count(): number {
    return this.#underWay.length
  }

  /** The write under way that an event comes from, if it was made here. */
  find({ after }: Event): OwnWrite | undefined {
    return after && this.#underWay.find(({ value }) => madeBytes(value) === after.value)
  }

  /** Writes to the store. Once it resolves with success the write can be read from the caches. `isKept`: nobody changes the object any more. */
  write(key: string, change: Change, isKept: boolean): Promise<Swap> {
    const { value, object } = change
    const sentAt = this.#freshness ? monotonicMs() : 0
    if (!value || object === undefined) return this.#store.swap(key, change).then(swapped => this.#settle(key, change, { swapped, sentAt }))
    const write: OwnWrite = { value, object: object as AnyObject, isKept, expected: undefined }
    this.#underWay.push(write)
    const forget = () => this.#underWay.splice(this.#underWay.indexOf(write), 1)
    const swapping = this.#store.swap(key, change)
    // The store is at work.
    const bytes = madeBytes(value)
    if (bytes) write.expected = ExpectedBytes.of(bytes, this.#position.revision + 1)
    return swapping.then(
      swapped => {
        const settled = this.#settle(key, change, { swapped, sentAt })
        if (settled instanceof Promise) return settled.finally(forget)
        forget()
        return settled
      },
      error => {
        forget()
        throw error
      },
    )
  }

  /** A write that succeeded is one once it can be read, and with it all that was acknowledged before it was sent. */
  #settle(key: string, change: Change, { swapped, sentAt }: { readonly swapped: Swap; readonly sentAt: number }): MaybePromise<Swap> {
    if (!swapped.ok) return swapped
    const { revision } = swapped
    if (revision <= change.expect)
      throw this.#assertions.failed('revision_order', `${key} was at ${change.expect} and is written at ${revision}`, { isStored: true })
    return whenDone(this.#position.revision < revision ? this.#position.reached(revision) : undefined, () => {
      this.#freshness?.confirm(sentAt)
      if (!this.#isApplied(key, change, revision))
        throw this.#assertions.failed('history_complete', `the write of ${key} at ${revision} is not among the events of the store`, {
          isStored: true,
        })
      return swapped
    })
  }

  /** Whether a write is among the events that were applied up to its revision; taken for granted where that can no longer be seen. */
  #isApplied(key: string, { value }: Change, revision: Revision): boolean {
    const cache = this.#table.ofKey(key)
    if (!cache || this.#position.revision < revision || cache.oldest >= revision) return true
    const found = cache.newestRevisionOf(key)
    return found === undefined ? value === null : found >= revision
  }
}
