/** Allocations of objects from shared ranges, such as cluster IPs: reserved before a write, kept once it is stored, released when it is not. */

import { Assertions } from '../schema/assertions.ts'
import type { AllocationResult, Allocators, Claim, Claims } from '../schema/claims.ts'
import type { AnyObject } from '../schema/object-meta.ts'
import type { Resource } from '../schema/resource.ts'
import { mayHaveHappened, type StatusError } from '../schema/status-error.ts'

/** An object that holds an allocation. The uid distinguishes it from a later one of the same name. */
export type Holder = { readonly resource: Resource; readonly namespace: string; readonly name: string; readonly uid: string }

/** Allocates items of one range. Its records of holders are durable and written by compare-and-swap, so that no item has two holders. */
export interface Allocator {
  /** Records that the holder has the item, or any free one. */
  take(holder: Holder, item: string | undefined): Promise<AllocationResult>
  /** The answer that `take` would give to a write that has already been promised `promised`. Records nothing. */
  preview(item: string | undefined, promised: readonly string[]): AllocationResult
  /**
   * Whether an item that an object was given, or has since it is stored, is recorded for another. Left out where records do not name
   * holders.
   */
  isOthers?(holder: Holder, item: string, object: { readonly isStored: boolean }): boolean
  /** Releases an item, if the holder has it. */
  release(holder: Holder, item: string): Promise<void>
  /** Removes records without a holder, unless younger than `before` or spared, and writes missing ones. */
  repair(
    held: () => ReadonlyMap<string, Holder>,
    limits: { readonly before: Date; readonly spared: (item: string) => boolean },
  ): Promise<void>
}

/** A write that may allocate. `old` is the stored object; `takes` is false for writes of a part that holds nothing. */
export type ClaimingWrite = {
  readonly resource: Resource
  readonly object: AnyObject
  readonly old: AnyObject | undefined
  readonly takes: boolean
  readonly dryRun: boolean
}

/** The reservation of a write. Exactly one of the two is called once the write is decided. */
export interface Reservation {
  /** Keeps the items that the stored object holds and releases the rest; without an outcome another write came first, and all is released. */
  settle(outcome: { readonly object: AnyObject | undefined } | undefined): Promise<void>
  /** The write failed: releases everything, unless it is unknown whether the object was stored. */
  abandon(error: unknown): Promise<void>
}

/**
 * A record is written before the object that holds the item and removed after it. A crash in between leaves a record without
 * a holder, never an object without a record; `repair` removes it.
 */
export class Allocations {
  readonly #allocators: ReadonlyMap<string, Allocator>
  /** Items that writes of this server have reserved and not yet kept or released, with all that their write has reserved. */
  readonly #underWay = new Map<string, readonly Claim[]>()
  /** Those of them that are being released: another write may have them before this server hears that they are. */
  readonly #releasing = new Set<string>()

  readonly #assertions: Assertions

  constructor(allocators: ReadonlyMap<string, Allocator> = new Map(), assertions = new Assertions()) {
    this.#allocators = allocators
    this.#assertions = assertions
  }

  /** Reserves the items that the object needs and writes them into the object. Undefined when there is nothing to settle. */
  async reserve({ resource, object, old, takes, dryRun }: ClaimingWrite): Promise<Reservation | undefined> {
    const claims = this.#claimsOf(resource)
    if (!claims) return undefined
    if (dryRun) {
      if (takes) await claims.take(object, old, this.#previews())
      return undefined
    }
    const holder = holderOf(resource, old ?? object)
    if (old && takes) this.#assertOwn(holder, claims.held(old), { isStored: true })
    const taken: Claim[] = []
    const reservation = this.#reservation(holder, claims, { taken, old })
    try {
      if (takes) await claims.take(object, old, this.#allocating(holder, taken))
    } catch (error) {
      await reservation.abandon(error)
      throw error
    }
    return reservation
  }

  /** Releases everything that a deleted object held. */
  async release(resource: Resource, object: AnyObject): Promise<void> {
    const claims = this.#claimsOf(resource)
    if (claims) await this.#releaseAll(holderOf(resource, object), claims.held(object))
  }

  /**
   * Makes records and objects agree. `before` spares records of writes that may be running on other servers; a server that has
   * just started and is alone with its store need spare none.
   */
  async repair(objects: () => Iterable<readonly [Resource, AnyObject]>, before: Date): Promise<void> {
    for (const [name, allocator] of this.#allocators) {
      const held = () => {
        const holders = new Map<string, Holder>()
        for (const [resource, object] of objects())
          for (const claim of this.#claimsOf(resource)?.held(object) ?? []) {
            if (claim.allocator !== name) continue
            const [other, holder] = [holders.get(claim.item), holderOf(resource, object)]
            // Counted and logged: no request is to blame.
            if (other && other.uid !== holder.uid) void this.#givenTwice(claim, textOf(other), holder)
            else holders.set(claim.item, holder)
          }
        return holders
      }
      await allocator.repair(held, { before, spared: item => this.#underWay.has(idOf({ allocator: name, item })) })
    }
  }

  /** Throws if an item of an object is recorded for another. */
  #assertOwn(holder: Holder, claims: readonly Claim[], object: { readonly isStored: boolean }): void {
    for (const claim of claims)
      if (this.#allocators.get(claim.allocator)?.isOthers?.(holder, claim.item, object))
        throw this.#givenTwice(claim, 'another object', holder)
  }

  #givenTwice({ allocator, item }: Claim, other: string, holder: Holder): StatusError {
    return this.#assertions.failed('allocated_once', `${item} of ${allocator} is given to ${other} and to ${textOf(holder)}`)
  }

  #claimsOf({ def }: Resource): Claims<AnyObject> | undefined {
    return this.#allocators.size > 0 ? def.claims : undefined
  }

  #reservation(
    holder: Holder,
    claims: Claims<AnyObject>,
    { taken, old }: { readonly taken: readonly Claim[]; readonly old: AnyObject | undefined },
  ): Reservation {
    const end = async (released: readonly Claim[]) => {
      for (const claim of released) this.#releasing.add(idOf(claim))
      await this.#releaseAll(holder, released)
      for (const claim of taken) if (this.#underWay.get(idOf(claim)) === taken) this.#underWay.delete(idOf(claim))
      for (const claim of released) this.#releasing.delete(idOf(claim))
    }
    return {
      settle: async outcome => {
        const kept = new Set((outcome?.object ? claims.held(outcome.object) : []).map(idOf))
        const before = outcome && old ? claims.held(old) : []
        await end([...before, ...taken].filter(claim => !kept.has(idOf(claim))))
      },
      abandon: async error => {
        // After any other failure it is unknown whether the object was stored: its items stay reserved until the next repair.
        await end(mayHaveHappened(error) ? [] : taken)
      },
    }
  }

  #allocating(holder: Holder, taken: Claim[]): Allocators {
    return {
      names: [...this.#allocators.keys()],
      take: async (allocator, item) => {
        const outcome = await this.#allocators.get(allocator)!.take(holder, item)
        if (outcome.ok) {
          const claim = { allocator, item: outcome.item }
          const id = idOf(claim)
          if (this.#underWay.has(id) && !this.#releasing.has(id)) throw this.#givenTwice(claim, 'a write that is under way', holder)
          taken.push(claim)
          this.#underWay.set(id, taken)
          this.#assertOwn(holder, [claim], { isStored: false })
        }
        return outcome
      },
    }
  }

  #previews(): Allocators {
    const promised = new Map<string, string[]>()
    return {
      names: [...this.#allocators.keys()],
      take: async (allocator, item) => {
        const before = promised.get(allocator) ?? []
        const outcome = this.#allocators.get(allocator)!.preview(item, before)
        if (outcome.ok) promised.set(allocator, [...before, outcome.item])
        return outcome
      },
    }
  }

  /** The outcome of the write is known: a record that cannot be removed now is left to the repair. */
  async #releaseAll(holder: Holder, claims: readonly Claim[]): Promise<void> {
    const unique = new Map(claims.map(claim => [idOf(claim), claim]))
    await Promise.allSettled([...unique.values()].map(({ allocator, item }) => this.#allocators.get(allocator)?.release(holder, item)))
  }
}

const idOf = ({ allocator, item }: Claim) => `${allocator} ${item}`

const textOf = ({ resource, namespace, name }: Holder): string => `${resource.qualified} "${namespace}/${name}"`

const holderOf = (resource: Resource, { metadata: { namespace = '', name = '', uid = '' } }: AnyObject): Holder => ({
  resource,
  namespace,
  name,
  uid,
})
