/** What objects hold of things that all of them share, such as cluster IPs: reserved before a write, kept once it is stored, released when it is not. */
import type { Claim, Claims, Stocks, Taken } from '../schema/claims.ts'
import type { AnyObject } from '../schema/object-meta.ts'
import type { Resource } from '../schema/resource.ts'
import { StatusError } from '../schema/status-error.ts'

/** An object that holds something. The uid tells it from a later one of the same name. */
export type Holder = { readonly resource: Resource; readonly namespace: string; readonly name: string; readonly uid: string }

/** Allocates things of one sort. It keeps its own records of who holds what: durable, and written by compare-and-swap, so that no two get the same. */
export interface Allocator {
  /** Records that the holder has the item, or any free one. */
  take(holder: Holder, item: string | undefined): Promise<Taken>
  /** What `take` would answer to a write that has already been promised `promised`. Records nothing. */
  preview(item: string | undefined, promised: readonly string[]): Taken
  /** Releases an item, if the holder has it. */
  release(holder: Holder, item: string): Promise<void>
  /** Drops records of what nobody holds, unless younger than `before` or spared, and writes those that are missing. */
  repair(
    held: () => ReadonlyMap<string, Holder>,
    limits: { readonly before: Date; readonly spared: (item: string) => boolean },
  ): Promise<void>
}

/** A write that needs something. `old` is what is stored; `takes` is false for writes of a part that holds nothing. */
export type ClaimingWrite = {
  readonly resource: Resource
  readonly object: AnyObject
  readonly old: AnyObject | undefined
  readonly takes: boolean
  readonly dryRun: boolean
}

/** What a write has reserved. Exactly one of the two is called once the write is decided. */
export interface Reservation {
  /** Keeps what the stored object holds and releases the rest; without an outcome another write came first, and all is released. */
  settle(outcome: { readonly object: AnyObject | undefined } | undefined): Promise<void>
  /** The write failed: releases everything, unless nobody knows whether the object was stored. */
  abandon(error: unknown): Promise<void>
}

/**
 * A record always comes before the object that holds the item and goes after it. A crash in between leaves a record that
 * nobody stands behind, never an object without one; `repair` finds it.
 */
export class Allocations {
  readonly #allocators: ReadonlyMap<string, Allocator>
  /** What writes of this server have reserved and not yet kept or released. */
  readonly #underWay = new Set<string>()

  constructor(allocators: ReadonlyMap<string, Allocator> = new Map()) {
    this.#allocators = allocators
  }

  /** Reserves what the object needs and writes it into the object. Undefined when there is nothing to settle. */
  async reserve({ resource, object, old, takes, dryRun }: ClaimingWrite): Promise<Reservation | undefined> {
    const claims = this.#claimsOf(resource)
    if (!claims) return undefined
    if (dryRun) {
      if (takes) await claims.take(object, old, this.#previews())
      return undefined
    }
    const holder = holderOf(resource, old ?? object)
    const taken: Claim[] = []
    const reservation = this.#reservation(holder, claims, { taken, old })
    try {
      if (takes) await claims.take(object, old, this.#takings(holder, taken))
    } catch (error) {
      await reservation.abandon(error)
      throw error
    }
    return reservation
  }

  /** Releases all that an object held that is gone. */
  async release(resource: Resource, object: AnyObject): Promise<void> {
    const claims = this.#claimsOf(resource)
    if (claims) await this.#giveBack(holderOf(resource, object), claims.held(object))
  }

  /**
   * Makes records and objects agree. `before` spares records of writes that other servers may have under way; alone with its
   * store, a server that has just started needs none.
   */
  async repair(objects: () => Iterable<readonly [Resource, AnyObject]>, before: Date): Promise<void> {
    for (const [name, allocator] of this.#allocators) {
      const held = () => {
        const holders = new Map<string, Holder>()
        for (const [resource, object] of objects())
          for (const claim of this.#claimsOf(resource)?.held(object) ?? [])
            if (claim.stock === name && !holders.has(claim.item)) holders.set(claim.item, holderOf(resource, object))
        return holders
      }
      await allocator.repair(held, { before, spared: item => this.#underWay.has(idOf({ stock: name, item })) })
    }
  }

  #claimsOf({ def }: Resource): Claims<AnyObject> | undefined {
    return this.#allocators.size > 0 ? def.claims : undefined
  }

  #reservation(
    holder: Holder,
    claims: Claims<AnyObject>,
    { taken, old }: { readonly taken: readonly Claim[]; readonly old: AnyObject | undefined },
  ): Reservation {
    const end = () => {
      for (const claim of taken) this.#underWay.delete(idOf(claim))
    }
    return {
      settle: async outcome => {
        const kept = new Set((outcome?.object ? claims.held(outcome.object) : []).map(idOf))
        const before = outcome && old ? claims.held(old) : []
        await this.#giveBack(
          holder,
          [...before, ...taken].filter(claim => !kept.has(idOf(claim))),
        )
        end()
      },
      abandon: async error => {
        // After any other failure nobody knows whether the object was stored: what it may hold stays reserved until the repair looks.
        if (error instanceof StatusError) await this.#giveBack(holder, taken)
        end()
      },
    }
  }

  #takings(holder: Holder, taken: Claim[]): Stocks {
    return {
      names: [...this.#allocators.keys()],
      take: async (stock, item) => {
        const outcome = await this.#allocators.get(stock)!.take(holder, item)
        if (outcome.ok) {
          const claim = { stock, item: outcome.item }
          taken.push(claim)
          this.#underWay.add(idOf(claim))
        }
        return outcome
      },
    }
  }

  #previews(): Stocks {
    const promised = new Map<string, string[]>()
    return {
      names: [...this.#allocators.keys()],
      take: async (stock, item) => {
        const before = promised.get(stock) ?? []
        const outcome = this.#allocators.get(stock)!.preview(item, before)
        if (outcome.ok) promised.set(stock, [...before, outcome.item])
        return outcome
      },
    }
  }

  /** The write has been decided: a record that cannot be dropped now is left to the repair. */
  async #giveBack(holder: Holder, claims: readonly Claim[]): Promise<void> {
    const unique = new Map(claims.map(claim => [idOf(claim), claim]))
    await Promise.allSettled([...unique.values()].map(({ stock, item }) => this.#allocators.get(stock)?.release(holder, item)))
  }
}

const idOf = ({ stock, item }: Claim) => `${stock} ${item}`

const holderOf = (resource: Resource, { metadata: { namespace = '', name = '', uid = '' } }: AnyObject): Holder => ({
  resource,
  namespace,
  name,
  uid,
})
