/** Keys in byte order with counts, so that finding a position and counting a range cost little in a store of any size. */
import { compareKeys } from './key-order.ts'

/** An entry in order: a key, and whether it counts. */
export type Item = { readonly key: string; readonly live: boolean }

/** A position between two items; valid until the next insertion or removal. */
export type Position = { readonly block: number; readonly offset: number }

type Block<T> = { readonly items: T[]; live: number }

const MAX_BLOCK = 128
/** Blocks that are added up once. */
const RUN = 128
const UNEVEN = /[\ud800-\uffff]/

/**
 * A sorted list cut into blocks of at most 128 items, each with the number of its live ones: `[a b c|3] [d e f|2] [g|1]`.
 * Counting the live items between `b` and `g` looks into the first and last block and adds the 2 of the one between. Where many
 * blocks are between, runs of 128 of them are added that were added up before.
 */
export class OrderedKeys<T extends Item> {
  readonly #blocks: Block<T>[] = []
  /** The live items of each run of blocks, from the first run on as far as they are known. */
  readonly #runs: number[] = []
  /** No key yet for which the order of bytes and that of JavaScript's strings could differ. */
  #isPlain = true
  /** The block of the last insertion; others may have taken its place since. */
  #lastBlock = 0

  /** Adds an item whose key is not there yet. */
  insert(item: T): void {
    if (this.#isPlain && UNEVEN.test(item.key)) this.#isPlain = false
    const last = this.#blocks.at(-1)
    if (!last) {
      this.#blocks.push({ items: [item], live: Number(item.live) })
      return
    }
    const atEnd = compareKeys(item.key, last.items.at(-1)!.key) > 0
    const { block: at, offset } = atEnd ? { block: this.#blocks.length - 1, offset: last.items.length } : this.#positionOf(item.key)
    this.#lastBlock = at
    const block = this.#blocks[at]!
    block.items.splice(offset, 0, item)
    this.#add(at, Number(item.live))
    if (block.items.length > MAX_BLOCK) this.#split(at)
  }

  /** Where a key belongs: mostly near the last one, as those that are written one after the other have much in common. */
  #positionOf(key: string): Position {
    const items = this.#blocks[this.#lastBlock]?.items
    if (!items || !this.#comparesPlainly(key) || key <= items[0]!.key || key > items[items.length - 1]!.key) return this.atOrAfter(key)
    return { block: this.#lastBlock, offset: lowest(items.length, i => items[i]!.key >= key) }
  }

  /** Removes an existing item. */
  remove(item: T): void {
    const { block: at, offset } = this.atOrAfter(item.key)
    const block = this.#blocks[at]
    if (block?.items[offset]?.key !== item.key) return
    block.items.splice(offset, 1)
    this.#add(at, -Number(item.live))
    if (block.items.length > 0) return
    this.#blocks.splice(at, 1)
    this.#moved(at)
  }

  /** Must be called when an existing item has become live or stopped being live. */
  liveChanged(item: T): void {
    const { block } = this.atOrAfter(item.key)
    if (block < this.#blocks.length) this.#add(block, item.live ? 1 : -1)
  }

  /** The first position whose key is not below this one. */
  atOrAfter(key: string): Position {
    return this.#firstWhere(this.#comparesPlainly(key) ? other => other >= key : other => compareKeys(other, key) >= 0)
  }

  /** The first position whose key is above this one. */
  after(key: string): Position {
    return this.#firstWhere(this.#comparesPlainly(key) ? other => other > key : other => compareKeys(other, key) > 0)
  }

  /** The first position past every key that starts with the prefix. */
  pastPrefix(prefix: string): Position {
    return this.#firstWhere(other => !other.startsWith(prefix) && compareKeys(other, prefix) > 0)
  }

  /** The items from one position up to another, in order. */
  *between(from: Position, to: Position): Generator<T, void> {
    for (let b = from.block; b <= to.block && b < this.#blocks.length; b++) {
      const { items } = this.#blocks[b]!
      const end = b === to.block ? to.offset : items.length
      for (let i = b === from.block ? from.offset : 0; i < end; i++) yield items[i]!
    }
  }

  /** How many live items lie between two positions. */
  countLive(from: Position, to: Position): number {
    let count = 0
    for (let b = from.block; b <= to.block && b < this.#blocks.length; b++) {
      for (; b % RUN === 0 && b > from.block && b + RUN <= to.block; b += RUN) count += this.#liveInRun(b / RUN)
      const block = this.#blocks[b]
      if (!block) break
      const start = b === from.block ? from.offset : 0
      const end = b === to.block ? to.offset : block.items.length
      if (start === 0 && end === block.items.length) count += block.live
      else for (let i = start; i < end; i++) count += Number(block.items[i]!.live)
    }
    return count
  }

  /** Whether an item that is there lies from one position up to another. */
  isBetween(item: T, from: Position, to: Position): boolean {
    const position = this.atOrAfter(item.key)
    return !isBefore(position, from) && isBefore(position, to)
  }

  /** Native comparison is many times faster, and right for all but surrogates and the code units above them. */
  #comparesPlainly(key: string): boolean {
    return this.#isPlain && !UNEVEN.test(key)
  }

  #add(at: number, live: number): void {
    this.#blocks[at]!.live += live
    const run = Math.floor(at / RUN)
    if (run < this.#runs.length) this.#runs[run]! += live
  }

  /** Blocks from one on have other places than before. */
  #moved(from: number): void {
    while (this.#runs.length > Math.floor(from / RUN)) this.#runs.pop()
  }

  #liveInRun(run: number): number {
    for (let next = this.#runs.length; next <= run; next++) {
      let live = 0
      for (let b = next * RUN; b < (next + 1) * RUN && b < this.#blocks.length; b++) live += this.#blocks[b]!.live
      this.#runs.push(live)
    }
    return this.#runs[run]!
  }

  #split(at: number): void {
    const block = this.#blocks[at]!
    // Keys that arrive in order only ever fill the last block, so that one is cut near its end.
    const cut = at === this.#blocks.length - 1 ? MAX_BLOCK - 8 : MAX_BLOCK / 2
    const items = block.items.splice(cut)
    const live = items.reduce((sum, item) => sum + Number(item.live), 0)
    block.live -= live
    this.#blocks.splice(at + 1, 0, { items, live })
    this.#moved(at)
  }

  /** The first position where a test holds that, once true along the order, stays true. */
  #firstWhere(holds: (key: string) => boolean): Position {
    const block = lowest(this.#blocks.length, b => holds(this.#blocks[b]!.items.at(-1)!.key))
    const items = this.#blocks[block]?.items
    return { block, offset: items ? lowest(items.length, i => holds(items[i]!.key)) : 0 }
  }
}

function isBefore(a: Position, b: Position): boolean {
  return a.block < b.block || (a.block === b.block && a.offset < b.offset)
}

/** The lowest number below `length` for which a monotone test holds, or `length`. */
function lowest(length: number, holds: (index: number) => boolean): number {
  let low = 0
  let high = length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (holds(middle)) high = middle
    else low = middle + 1
  }
  return low
}
