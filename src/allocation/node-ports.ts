/**
 * The ports of nodes that services get. That a port is taken is recorded under a key of its own in the store, written by
 * compare-and-swap with the uid of its holder: right over several servers, and after a crash at any moment. What this server
 * knows to be taken only steers its choice; the store has the last word.
 */
import type { Allocator, Holder } from '../registry/allocations.ts'
import type { AllocationResult } from '../schema/claims.ts'
import type { Entry, Store } from '../storage/store.ts'
import type { Random } from './address-block.ts'

type Repairing = Parameters<Allocator['repair']>[1]
/** Both ends included. */
export type PortRange = { readonly from: number; readonly to: number }
type Record = { readonly uid: string; readonly since: string }

const PREFIX = '/allocation/nodeports/'
const PAGE = 1000
/** What a dry run promises when any port will do: one that nobody can have. */
const PROMISED = 32769

const refuse = (why: string, isFull = false): AllocationResult => ({ ok: false, why, isFull })
const FULL = refuse('range is full', true)
const TAKEN = refuse('provided port is already allocated')

export class NodePorts implements Allocator {
  readonly #store: Store
  readonly #range: PortRange
  readonly #random: Random
  readonly #now: () => Date
  /** Ports that are taken as far as this server knows. */
  #known = new Set<number>()

  private constructor(store: Store, { range, random, now }: { range: PortRange; random: Random; now: () => Date }) {
    this.#store = store
    this.#range = range
    this.#random = random
    this.#now = now
  }

  static async open(store: Store, options: { range: PortRange; random: Random; now: () => Date }): Promise<NodePorts> {
    const ports = new NodePorts(store, options)
    await ports.#read()
    return ports
  }

  async take(holder: Holder, item: string | undefined): Promise<AllocationResult> {
    if (item !== undefined) {
      if (!this.#isInRange(Number(item))) return this.#outside()
      return (await this.#record(holder, Number(item))) ? { ok: true, item } : TAKEN
    }
    const taken = await this.#takeAny(holder)
    if (taken) return taken
    // Others may have given ports back since this server last looked.
    await this.#read()
    return (await this.#takeAny(holder)) ?? FULL
  }

  preview(item: string | undefined, promised: readonly string[]): AllocationResult {
    if (item === undefined) return { ok: true, item: String(Math.max(PROMISED - 1, ...promised.map(Number)) + 1) }
    if (!this.#isInRange(Number(item))) return this.#outside()
    return this.#known.has(Number(item)) || promised.includes(item) ? TAKEN : { ok: true, item }
  }

  async release({ uid }: Holder, item: string): Promise<void> {
    const { entry } = await this.#store.get(keyOf(item))
    if (entry && readRecord(entry)?.uid === uid) await this.#drop(entry)
  }

  async repair(held: () => ReadonlyMap<string, Holder>, { before, spared }: Repairing): Promise<void> {
    const records = await this.#read()
    const holders = held()
    for (const [item, entry] of records) {
      const record = readRecord(entry)
      const holder = holders.get(item)
      if (spared(item) || (holder && record?.uid === holder.uid)) continue
      const isYoung = record !== undefined && Date.parse(record.since) > before.getTime()
      if (holder || !isYoung) await this.#drop(entry)
    }
    for (const [item, holder] of holders) {
      const entry = records.get(item)
      if (!entry || readRecord(entry)?.uid !== holder.uid) await this.#record(holder, Number(item))
    }
  }

  async #takeAny(holder: Holder): Promise<AllocationResult | undefined> {
    for (const port of this.#candidates())
      if (!this.#known.has(port) && (await this.#record(holder, port))) return { ok: true, item: String(port) }
    return undefined
  }

  /** Ports from a random place in the upper band on, then those of the lower one, which is left to those who ask for a certain port. */
  *#candidates(): Iterable<number> {
    const { from, to } = this.#range
    const middle = from + lowerBand(to - from + 1)
    for (const [first, last] of [
      [middle, to],
      [from, middle - 1],
    ] as const) {
      const size = last - first + 1
      if (size <= 0) continue
      const start = Number(this.#random(BigInt(size)))
      for (let i = 0; i < size; i++) yield first + ((start + i) % size)
    }
  }

  async #record({ uid }: Holder, port: number): Promise<boolean> {
    // Known before it is written: writes that choose meanwhile look elsewhere.
    this.#known.add(port)
    const record: Record = { uid, since: this.#now().toISOString() }
    const swap = await this.#store.swap(keyOf(port), { expect: 0, value: Buffer.from(JSON.stringify(record)) })
    return swap.ok
  }

  async #drop({ key, modified }: Entry): Promise<void> {
    const swap = await this.#store.swap(key, { expect: modified, value: null })
    if (swap.ok) this.#known.delete(Number(key.slice(PREFIX.length)))
  }

  async #read(): Promise<ReadonlyMap<string, Entry>> {
    const found = new Map<string, Entry>()
    for (let after: string | undefined; ; ) {
      const { entries, remaining } = await this.#store.list(PREFIX, { limit: PAGE, ...(after !== undefined && { after }) })
      for (const entry of entries) found.set(entry.key.slice(PREFIX.length), entry)
      if (remaining === 0 || entries.length === 0) break
      after = entries.at(-1)!.key
    }
    this.#known = new Set([...found.keys()].map(Number))
    return found
  }

  #isInRange(port: number): boolean {
    return port >= this.#range.from && port <= this.#range.to
  }
  #outside(): AllocationResult {
    const { from, to } = this.#range
    return refuse(`provided port is not in the valid range. The range of valid ports is ${from}-${to}`)
  }
}

const keyOf = (port: string | number) => `${PREFIX}${port}`

/** Undefined for a record that cannot be read, which holds for nobody. */
function readRecord({ value, fault }: Entry): Record | undefined {
  return fault === undefined ? (JSON.parse(Buffer.from(value).toString()) as Record) : undefined
}

/** A thirty-second of the range, at least 16 ports and at most 128; none of a range that has no more than 16. */
function lowerBand(size: number): number {
  return size <= 16 ? 0 : Math.min(Math.max(Math.floor(size / 32), 16), 128)
}
