/**
 * The node ports of services. One record holds those that are taken, in the format of kube-apiserver: a bitmap, written by
 * compare-and-swap, so that servers over one store never allocate the same port twice. Concurrent requests share one write.
 *
 * The record does not name the holder of a port. A port without one may belong to a write under way on another server; it is
 * released only after it has been found so several times, minutes apart.
 */
import type { Allocator, Holder } from '../registry/allocations.ts'
import type { AllocationResult } from '../schema/claims.ts'
import type { Entry, Store } from '../storage/store.ts'
import type { Random } from './address-block.ts'

type Repairing = Parameters<Allocator['repair']>[1]
/** Both ends included. */
export type PortRange = { readonly from: number; readonly to: number }
type Ports = Set<number>

export const NODE_PORTS_KEY = '/ranges/servicenodeports'
/** Earlier versions kept a record for each port. */
const FORMER = '/allocation/nodeports/'
const PAGE = 1000
/** The port in the response of a dry run when any port will do: one that is never allocated. */
const PROMISED = 32769
/** Number of times that a port must be found without a holder before it is free again; as in kube-apiserver. */
const LOOKS = 3

const refuse = (why: string, isFull = false): AllocationResult => ({ ok: false, why, isFull })
const FULL = refuse('range is full', true)
const TAKEN = refuse('provided port is already allocated')

export type NodePortParts = {
  readonly range: PortRange
  readonly random: Random
  readonly now: () => Date
  /** Resolves once all objects stored before the call can be read; undefined where that always holds. */
  readonly fresh?: () => Promise<void> | undefined
}

/** A change of the taken ports, and its callback once it is stored. `make` is called again on the record of another writer. */
type Pending = { make(ports: Ports): void; done(): void; failed(error: unknown): void }

export class NodePorts implements Allocator {
  readonly #store: Store
  readonly #parts: NodePortParts
  /** The ports that were taken when the record was last read. */
  #known: Ports = new Set()
  #pending: Pending[] = []
  #isWriting = false
  /** Number of times that each port has been found without a holder. */
  #leaked = new Map<number, number>()

  private constructor(store: Store, parts: NodePortParts) {
    this.#store = store
    this.#parts = parts
  }

  static async open(store: Store, parts: NodePortParts): Promise<NodePorts> {
    const ports = new NodePorts(store, parts)
    ports.#known = readPorts((await store.get(NODE_PORTS_KEY)).entry)
    return ports
  }

  async take(_: Holder, item: string | undefined): Promise<AllocationResult> {
    if (item !== undefined && !this.#isInRange(Number(item))) return this.#outside()
    let result: AllocationResult = FULL
    await this.#change(ports => {
      const port = item === undefined ? this.#freeOf(ports) : Number(item)
      if (port === undefined) result = FULL
      else if (ports.has(port)) result = TAKEN
      else {
        ports.add(port)
        result = { ok: true, item: String(port) }
      }
    })
    return result
  }

  preview(item: string | undefined, promised: readonly string[]): AllocationResult {
    if (item === undefined) return { ok: true, item: String(Math.max(PROMISED - 1, ...promised.map(Number)) + 1) }
    if (!this.#isInRange(Number(item))) return this.#outside()
    return this.#known.has(Number(item)) || promised.includes(item) ? TAKEN : { ok: true, item }
  }

  release(_: Holder, item: string): Promise<void> {
    return this.#change(ports => ports.delete(Number(item)))
  }

  async repair(held: () => ReadonlyMap<string, Holder>, { before, spared }: Repairing): Promise<void> {
    // Ports are recorded before their holders are stored: the taken ports are read first, then the holders.
    const taken = readPorts((await this.#store.get(NODE_PORTS_KEY)).entry)
    await this.#parts.fresh?.()
    const holders = new Set([...held().keys()].map(Number).filter(port => this.#isInRange(port)))
    const isAlone = before.getTime() > this.#parts.now().getTime()
    const leaked = new Map<number, number>()
    for (const port of taken)
      if (!holders.has(port) && !spared(String(port))) leaked.set(port, isAlone ? LOOKS : (this.#leaked.get(port) ?? 0) + 1)
    this.#leaked = leaked
    const freed = [...leaked].filter(([, looks]) => looks >= LOOKS).map(([port]) => port)
    const missing = [...holders].filter(port => !taken.has(port))
    if (freed.length + missing.length > 0)
      await this.#change(ports => {
        for (const port of freed) ports.delete(port)
        for (const port of missing) ports.add(port)
      })
    if (isAlone) await this.#removeFormer()
  }

  /** Resolves when the change is stored, together with concurrent ones. */
  #change(make: (ports: Ports) => void): Promise<void> {
    return new Promise((done, failed) => {
      this.#pending.push({ make, done, failed })
      if (!this.#isWriting) void this.#writeAll()
    })
  }

  async #writeAll(): Promise<void> {
    this.#isWriting = true
    // A request for several ports makes its changes at once.
    await undefined
    while (this.#pending.length > 0) {
      const changes = this.#pending.splice(0)
      try {
        await this.#write(changes)
        for (const { done } of changes) done()
      } catch (error) {
        for (const { failed } of changes) failed(error)
      }
    }
    this.#isWriting = false
  }

  async #write(changes: readonly Pending[]): Promise<void> {
    let { entry } = await this.#store.get(NODE_PORTS_KEY)
    for (;;) {
      const before = readPorts(entry)
      const after = new Set(before)
      for (const { make } of changes) make(after)
      const isSame = before.size === after.size && [...after].every(port => before.has(port))
      const swap = isSame ? undefined : await this.#store.swap(NODE_PORTS_KEY, { expect: entry?.modified ?? 0, value: this.#record(after) })
      if (!swap || swap.ok) {
        this.#known = after
        return
      }
      entry = swap.current
    }
  }

  /** Any free port: from the upper band from a random port on, then from the lower one, which is left to requests for a certain port. */
  #freeOf(ports: Ports): number | undefined {
    const { from, to } = this.#parts.range
    const middle = from + lowerBand(to - from + 1)
    for (const [first, last] of [
      [middle, to],
      [from, middle - 1],
    ] as const) {
      const size = last - first + 1
      if (size <= 0) continue
      const start = Number(this.#parts.random(BigInt(size)))
      for (let i = 0; i < size; i++) {
        const port = first + ((start + i) % size)
        if (!ports.has(port)) return port
      }
    }
    return undefined
  }

  /** The bitmap begins with the highest taken port; bit n is the port n of the range. */
  #record(ports: Ports): Buffer {
    const { from, to } = this.#parts.range
    const offsets = [...ports].map(port => port - from).filter(offset => offset >= 0 && offset <= to - from)
    const data = Buffer.alloc(offsets.length === 0 ? 0 : (Math.max(...offsets) >> 3) + 1)
    for (const offset of offsets) data[data.length - 1 - (offset >> 3)]! |= 1 << (offset & 7)
    const metadata = { creationTimestamp: null }
    return Buffer.from(
      JSON.stringify({ kind: 'RangeAllocation', apiVersion: 'v1', metadata, range: `${from}-${to}`, data: data.toString('base64') }),
    )
  }

  async #removeFormer(): Promise<void> {
    for (;;) {
      const { entries } = await this.#store.list(FORMER, { limit: PAGE })
      if (entries.length === 0) return
      for (const { key, modified } of entries) await this.#store.swap(key, { expect: modified, value: null })
    }
  }

  #isInRange(port: number): boolean {
    return port >= this.#parts.range.from && port <= this.#parts.range.to
  }
  #outside(): AllocationResult {
    const { from, to } = this.#parts.range
    return refuse(`provided port is not in the valid range. The range of valid ports is ${from}-${to}`)
  }
}

/** The taken ports of a record. An unreadable record is empty: the repair writes it again. */
export function readPorts(entry: Entry | undefined): Ports {
  const ports: Ports = new Set()
  if (!entry || entry.fault !== undefined) return ports
  const { range = '', data = '' } = JSON.parse(Buffer.from(entry.value).toString()) as { range?: string; data?: string }
  const from = Number(range.slice(0, range.indexOf('-')))
  const bits = Buffer.from(data, 'base64')
  for (let offset = 0; offset < bits.length * 8; offset++)
    if ((bits[bits.length - 1 - (offset >> 3)]! >> (offset & 7)) & 1) ports.add(from + offset)
  return ports
}

/** A thirty-second of the range, at least 16 ports and at most 128; none of a range with 16 or fewer. */
function lowerBand(size: number): number {
  return size <= 16 ? 0 : Math.min(Math.max(Math.floor(size / 32), 16), 128)
}
