/** Who holds what of the stocks that objects share: taken before a write, kept once it is stored, given back when it is not. */
import type { Claim, Claims, Stocks, Taken } from '../schema/claims.ts'
import type { AnyObject } from '../schema/object-meta.ts'
import type { Resource } from '../schema/resource.ts'
import { StatusError } from '../schema/status-error.ts'

/** An object that holds something. The uid tells it from a later one of the same name. */
export type Holder = { readonly resource: Resource; readonly namespace: string; readonly name: string; readonly uid: string }

/** A stock of things. It keeps its own records of who holds what: durable, and written by compare-and-swap, so that no two get the same. */
export interface Stock {
  /** Records that the holder has the item, or any free one. */
  take(holder: Holder, item: string | undefined): Promise<Taken>
  /** What `take` would answer to a write that has already been promised `promised`. Records nothing. */
  preview(item: string | undefined, promised: readonly string[]): Taken
  /** Gives an item back, if the holder has it. */
  release(holder: Holder, item: string): Promise<void>
  /** Drops records of what nobody holds, unless younger than `before` or spared, and writes those that are missing. */
  repair(
    held: () => ReadonlyMap<string, Holder>,
    limits: { readonly before: Date; readonly spared: (item: string) => boolean },
  ): Promise<void>
}

/** A write that takes something. `old` is what is stored; `takes` is false for writes of a part that holds nothing. */
export type ClaimingWrite = {
  readonly resource: Resource
  readonly object: AnyObject
  readonly old: AnyObject | undefined
  readonly takes: boolean
  readonly dryRun: boolean
}
/** A write that was done: its answer, and the object as stored, undefined when the write removed it. */
export type Done<R> = { readonly answer: R; readonly stored: AnyObject | undefined }

/**
 * A record always comes before the object that holds the item and goes after it. A crash in between leaves a record that
 * nobody stands behind, never an object without one; `repair` finds it.
 */
export class Ledger {
  readonly #stocks: ReadonlyMap<string, Stock>
  /** What writes of this server have taken and not yet kept or given back. */
  readonly #underWay = new Set<string>()

  constructor(stocks: ReadonlyMap<string, Stock> = new Map()) {
    this.#stocks = stocks
  }

  /** Takes what the object needs, then runs `write`, which answers undefined when another write came first. */
  async run<R>(about: ClaimingWrite, write: () => Promise<Done<R> | undefined>): Promise<R | undefined> {
    const claims = this.#claimsOf(about.resource)
    if (!claims || about.dryRun) {
      if (claims && about.takes) await claims.take(about.object, about.old, this.#previews())
      return (await write())?.answer
    }
    const holder = holderOf(about.resource, about.old ?? about.object)
    const taken: Claim[] = []
    try {
      if (about.takes) await claims.take(about.object, about.old, this.#takings(holder, taken))
      const done = await write()
      const kept = new Set((done?.stored ? claims.held(done.stored) : []).map(idOf))
      const before = done && about.old ? claims.held(about.old) : []
      await this.#giveBack(
        holder,
        [...before, ...taken].filter(claim => !kept.has(idOf(claim))),
      )
      return done?.answer
    } catch (error) {
      // After any other failure nobody knows whether the object was stored: what it may hold stays taken until the repair looks.
      if (error instanceof StatusError) await this.#giveBack(holder, taken)
      throw error
    } finally {
      for (const claim of taken) this.#underWay.delete(idOf(claim))
    }
  }

  /** Gives back all that an object held that is gone. */
  async release(resource: Resource, object: AnyObject): Promise<void> {
    const claims = this.#claimsOf(resource)
    if (claims) await this.#giveBack(holderOf(resource, object), claims.held(object))
  }

  /**
   * Makes records and objects agree. `before` spares records of writes that other servers may have under way; alone with its
   * store, a server that has just started needs none.
   */
  async repair(objects: () => Iterable<readonly [Resource, AnyObject]>, before: Date): Promise<void> {
    for (const [name, stock] of this.#stocks) {
      const held = () => {
        const holders = new Map<string, Holder>()
        for (const [resource, object] of objects())
          for (const claim of this.#claimsOf(resource)?.held(object) ?? [])
            if (claim.stock === name && !holders.has(claim.item)) holders.set(claim.item, holderOf(resource, object))
        return holders
      }
      await stock.repair(held, { before, spared: item => this.#underWay.has(idOf({ stock: name, item })) })
    }
  }

  #claimsOf({ def }: Resource): Claims<AnyObject> | undefined {
    return this.#stocks.size > 0 ? def.claims : undefined
  }

  #takings(holder: Holder, taken: Claim[]): Stocks {
    return {
      names: [...this.#stocks.keys()],
      take: async (stock, item) => {
        const outcome = await this.#stocks.get(stock)!.take(holder, item)
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
      names: [...this.#stocks.keys()],
      take: async (stock, item) => {
        const before = promised.get(stock) ?? []
        const outcome = this.#stocks.get(stock)!.preview(item, before)
        if (outcome.ok) promised.set(stock, [...before, outcome.item])
        return outcome
      },
    }
  }

  /** The write has been decided: a record that cannot be dropped now is left to the repair. */
  async #giveBack(holder: Holder, claims: readonly Claim[]): Promise<void> {
    const unique = new Map(claims.map(claim => [idOf(claim), claim]))
    await Promise.allSettled([...unique.values()].map(({ stock, item }) => this.#stocks.get(stock)?.release(holder, item)))
  }
}

const idOf = ({ stock, item }: Claim) => `${stock} ${item}`

const holderOf = (resource: Resource, { metadata: { namespace = '', name = '', uid = '' } }: AnyObject): Holder => ({
  resource,
  namespace,
  name,
  uid,
})
