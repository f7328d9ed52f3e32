/**
 * The blocks of one range, and the nodes that have them. Blocks are numbered from the beginning of the range; the next one that is given out is
 * the first free one after the last, so that one that was given back comes late.
 */
import { addressAt, type CIDR, cidrSize, cidrsOverlap, formatCIDR, lastAddress } from '../../lib/ip.ts'

export class CidrSet {
  readonly #range: CIDR
  readonly #maskSize: number
  /** How many addresses a block has. */
  readonly #size: bigint
  readonly #count: number
  /** How many hold each block that is taken: an operator may have given one to two nodes. */
  readonly #holders = new Map<number, number>()
  #next = 0

  constructor(range: CIDR, maskSize: number) {
    this.#range = range
    this.#maskSize = maskSize
    this.#count = 2 ** (maskSize - range.prefix)
    this.#size = cidrSize(range) / BigInt(this.#count)
  }

  /** Allocates a free block; undefined when there is none. */
  take(): CIDR | undefined {
    if (this.#holders.size >= this.#count) return undefined
    while (this.#holders.has(this.#next)) this.#next = (this.#next + 1) % this.#count
    const index = this.#next
    this.#next = (index + 1) % this.#count
    this.#holders.set(index, 1)
    return { network: addressAt(this.#range, BigInt(index) * this.#size)!, prefix: this.#maskSize }
  }

  /** Marks all blocks of a range as taken; it may be larger or smaller than one block. False when none of it is in this range. */
  occupy(range: CIDR): boolean {
    const indices = this.#indicesOf(range)
    for (const index of indices) this.#holders.set(index, (this.#holders.get(index) ?? 0) + 1)
    return indices.length > 0
  }

  release(range: CIDR): void {
    for (const index of this.#indicesOf(range)) {
      const holders = this.#holders.get(index) ?? 0
      if (holders > 1) this.#holders.set(index, holders - 1)
      else this.#holders.delete(index)
    }
  }

  toString(): string {
    return formatCIDR(this.#range)
  }

  #indicesOf(range: CIDR): number[] {
    if (range.network.family !== this.#range.network.family || !cidrsOverlap(range, this.#range)) return []
    const start = this.#range.network.bits
    const end = start + cidrSize(this.#range) - 1n
    const larger = (a: bigint, b: bigint) => (a > b ? a : b)
    const smaller = (a: bigint, b: bigint) => (a < b ? a : b)
    const first = Number((larger(range.network.bits, start) - start) / this.#size)
    const last = Number((smaller(lastAddress(range).bits, end) - start) / this.#size)
    return Array.from({ length: last - first + 1 }, (_, i) => first + i)
  }
}
