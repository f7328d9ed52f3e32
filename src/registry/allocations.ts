/** Allocations of objects from shared ranges, such as cluster IPs: reserved before a write, kept once it is stored, released when it is not. */

import { type Step, waitFor } from '../lib/step.ts'
import { Assertions } from '../schema/assertions.ts'
import type { AllocationResult, Allocators, Claim, Claims } from '../schema/claims.ts'
import type { AnyObject } from '../schema/object-meta.ts'
import type { RequestContext } from '../schema/request-context.ts'
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
  readonly gate: RequestContext['gate']
  readonly resource: Resource
  readonly object: AnyObject
  readonly old: AnyObject | undefined
  readonly takes: boolean
  readonly dryRun: boolean
}

/** The reservation of a write. Exactly one of the two is called once the write is decided. */
export interface Reservation {
  /** Keeps the items that the stored object holds and releases the rest; without an outcome another write came first, and all is released. */
  settle(outcome: { readonly object: AnyObject | undefined } | undefined): Step<void>
  /** The write failed: releases everything, unless it is unknown whether the object was stored. */
  abandon(error: unknown): Step<void>
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
  *reserve({ resource, object, old, takes, dryRun, gate }: ClaimingWrite): Step<Reservation | undefined> {
    const claims = this.#claimsOf(resource)
    if (!claims) return undefined
    if (dryRun) {
      if (takes) yield* claims.take(object, old, { allocators: this.#previews(), gate })
      return undefined
    }
    const holder = holderOf(resource, old ?? object)
    if (old && takes) this.#assertOwn(holder, claims.held(old), { isStored: true })
    const taken: Claim[] = []
    const reservation = this.#reservation(holder, claims, { taken, old })
    try {
      if (takes) yield* claims.take(object, old, { allocators: this.#allocating(holder, taken), gate })
    } catch (error) {
      yield* reservation.abandon(error)
      throw error
    }
    return reservation
  }

  /** Releases everything that a deleted object held. */
  *release(resource: Resource, object: AnyObject): Step<void> {
    const claims = this.#claimsOf(resource)
    if (claims) yield* this.#releaseAll(holderOf(resource, object), claims.held(object))
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
    return {
      settle: outcome => {
        const kept = new Set((outcome?.object ? claims.held(outcome.object) : []).map(idOf))
        const before = outcome && old ? claims.held(old) : []
        const released = [...before, ...taken].filter(claim => !kept.has(idOf(claim)))
        return this.#end(holder, { taken, released })
      },
      // After any other failure it is unknown whether the object was stored: its items stay reserved until the next repair.
      abandon: error => this.#end(holder, { taken, released: mayHaveHappened(error) ? [] : taken }),
    }
  }

  /** Releases some of the items that a write has reserved or its object held; none of them is under way any more. */
  *#end(holder: Holder, { taken, released }: { readonly taken: readonly Claim[]; readonly released: readonly Claim[] }): Step<void> {
    for (const claim of released) this.#releasing.add(idOf(claim))
    yield* this.#releaseAll(holder, released)
    for (const claim of taken) if (this.#underWay.get(idOf(claim)) === taken) this.#underWay.delete(idOf(claim))
    for (const claim of released) this.#releasing.delete(idOf(claim))
  }

  #allocating(holder: Holder, taken: Claim[]): Allocators {
    const allocators = this.#allocators
    const take = (allocator: string, item: string | undefined) => allocators.get(allocator)!.take(holder, item)
    const noted = (allocator: string, result: AllocationResult): AllocationResult => {
      if (result.ok) this.#note(holder, { allocator, item: result.item }, taken)
      return result
    }
    return {
      names: [...allocators.keys()],
      *take(allocator, item) {
        return noted(allocator, yield* waitFor(take(allocator, item)))
      },
      *takeAll(allocator, items) {
        // Each is noted when it is there: those that were taken are released if another fails.
        const taking = items.map(async item => noted(allocator, await take(allocator, item)))
        yield* waitFor(Promise.allSettled(taking))
        return yield* waitFor(Promise.all(taking))
      },
    }
  }

  /** Notes that a write under way has an item, which must be nobody else's. */
  #note(holder: Holder, claim: Claim, taken: Claim[]): void {
    const id = idOf(claim)
    if (this.#underWay.has(id) && !this.#releasing.has(id)) throw this.#givenTwice(claim, 'a write that is under way', holder)
    taken.push(claim)
    this.#underWay.set(id, taken)
    this.#assertOwn(holder, [claim], { isStored: false })
  }

  #previews(): Allocators {
    const promised = new Map<string, string[]>()
    const preview = (allocator: string, item: string | undefined): AllocationResult => {
      const before = promised.get(allocator) ?? []
      const result = this.#allocators.get(allocator)!.preview(item, before)
      if (result.ok) promised.set(allocator, [...before, result.item])
      return result
    }
    return {
      names: [...this.#allocators.keys()],
      take: (allocator, item) => waitFor(preview(allocator, item)),
      takeAll: (allocator, items) => waitFor(items.map(item => preview(allocator, item))),
    }
  }

  /** The outcome of the write is known: a record that cannot be removed now is left to the repair. */
  *#releaseAll(holder: Holder, claims: readonly Claim[]): Step<void> {
    if (claims.length === 0) return
    const unique = new Map(claims.map(claim => [idOf(claim), claim]))
    const releasing = [...unique.values()].map(({ allocator, item }) => this.#allocators.get(allocator)?.release(holder, item))
    yield* waitFor(Promise.allSettled(releasing))
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
