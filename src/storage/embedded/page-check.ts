/**
 * Checks the pages of a database before lmdb opens it. LMDB believes what its pages say: damage in one that leads to others ends the
 * process in an assertion, or in memory that is not its own. Records need no check here: each has a checksum.
 */
import { readSync } from 'node:fs'

/** Where trees begin and end, as the latest meta page says. */
export type Trees = {
  readonly file: number
  /** The size of the file, in bytes. */
  readonly size: number
  readonly pageSize: number
  readonly lastPage: number
  /** The latest one. */
  readonly transaction: number
  readonly free: Tree
  readonly main: Tree
}
export type Tree = { readonly depth: number; readonly root: number }

/** A tree as it lies in a page: 4 bytes of padding, flags 2, depth 2, three counts of pages and one of entries 8 each, root 8. */
export const TREE = { bytes: 48, flags: 4, depth: 6, root: 40 } as const

/** Begins a page: number 8, transaction 8, padding 2, flags 2, and the bounds of free space 2 each or the number of overflow pages 4. */
const HEADER = { bytes: 24, transaction: 8, flags: 18, lower: 20, upper: 22, pages: 20 } as const
const BRANCH = 1
const LEAF = 2
const OVERFLOW = 4
/** Begins a node: size of its data or number of a child page 4, flags 2 (the child's highest bits), size of its key 2. */
const NODE = { bytes: 8, flags: 4, keySize: 6 } as const
const BIG = 1
const SUBTREE = 2
/** In place of data that is elsewhere: its first page 8, transaction 8, number of pages 8. */
const ELSEWHERE_BYTES = 24
/** Trees that sort their values, or their keys in another way, are none of ours. */
const FOREIGN_TREE = 0x7e
const NAMES = new Set(['log', 'meta'])

/** The damage of the database, if there is any: `page 17 is no part of a tree`. */
export function pageProblem(trees: Trees): string | undefined {
  try {
    new Check(trees).run()
    return undefined
  } catch (error) {
    if (error instanceof Damage) return error.message
    throw error
  }
}

class Damage extends Error {}

type Walk = { readonly name: 'free' | 'main' | 'other'; readonly depth: number }

class Check {
  readonly #trees: Trees
  readonly #used: Uint8Array
  readonly #pages: Buffer[] = []
  readonly #header = Buffer.alloc(HEADER.bytes)
  readonly #freed: number[] = []
  readonly #subtrees: Tree[] = []

  constructor(trees: Trees) {
    this.#trees = trees
    this.#used = new Uint8Array((trees.lastPage >> 3) + 1)
  }

  run(): void {
    const { free, main } = this.#trees
    this.#tree(main, 'main')
    for (const subtree of this.#subtrees) this.#tree(subtree, 'other')
    this.#tree(free, 'free')
    for (const page of this.#freed) if (this.#isUsed(page)) throw new Damage(`page ${page} is in use and listed as free`)
  }

  #tree({ root, depth }: Tree, name: Walk['name']): void {
    if (root < 0) return
    if (depth < 1 || depth > 32) throw new Damage(`a tree has the depth ${depth}`)
    this.#page(root, { name, depth }, 1)
  }

  #page(number: number, walk: Walk, level: number): void {
    const { pageSize } = this.#trees
    const isLeaf = level === walk.depth
    const page = this.#read(number, level)
    if (!this.#isPage(page, number, isLeaf ? LEAF : BRANCH))
      throw new Damage(`page ${number} is not the ${isLeaf ? 'leaf' : 'branch'} that it should be`)
    const lower = page.readUInt16LE(HEADER.lower)
    const upper = page.readUInt16LE(HEADER.upper)
    const count = lower >> 1
    if (lower % 2 !== 0 || lower > upper || upper > pageSize - HEADER.bytes) throw new Damage(`page ${number} has no sound bounds`)
    if (count < (isLeaf || walk.name === 'free' ? 1 : 2)) throw new Damage(`page ${number} is empty`)
    let size = 0
    let before = -1
    for (let i = 0; i < count; i++) {
      const offset = page.readUInt16LE(HEADER.bytes + 2 * i)
      const at = HEADER.bytes + offset
      if (offset < upper || at + NODE.bytes > pageSize) throw new Damage(`page ${number} names a record outside of it`)
      const length = this.#nodeBytes(page, at, isLeaf)
      if (at + length > pageSize) throw new Damage(`page ${number} has a record that is larger than it`)
      size += length + (length & 1)
      if (isLeaf) this.#leafNode(page, at, walk)
      else {
        if (i > 1 && this.#compare(page, before, at, walk) >= 0) throw new Damage(`page ${number} is out of order`)
        this.#page(childOf(page, at), walk, level + 1)
      }
      before = at
    }
    if (size !== pageSize - HEADER.bytes - upper) throw new Damage(`page ${number} has records that overlap`)
  }

  #nodeBytes(page: Buffer, at: number, isLeaf: boolean): number {
    const key = page.readUInt16LE(at + NODE.keySize)
    if (!isLeaf) return NODE.bytes + key
    const isBig = (page.readUInt16LE(at + NODE.flags) & BIG) !== 0
    return NODE.bytes + key + (isBig ? ELSEWHERE_BYTES : page.readUInt32LE(at))
  }

  #leafNode(page: Buffer, at: number, walk: Walk): void {
    const flags = page.readUInt16LE(at + NODE.flags)
    const keySize = page.readUInt16LE(at + NODE.keySize)
    const size = page.readUInt32LE(at)
    const data = at + NODE.bytes + keySize
    const isSubtree = walk.name === 'main'
    if (keySize === 0 || (flags & ~BIG) !== (isSubtree ? SUBTREE : 0)) throw new Damage('a record is of an unknown kind')
    if (isSubtree) this.#subtree(page.subarray(at + NODE.bytes, data), page.subarray(data, data + size))
    const isBig = (flags & BIG) !== 0
    if (isBig) this.#overflow(page, data, size)
    if (walk.name === 'free') this.#freePages(isBig ? this.#overflowing(page, data, size) : page.subarray(data, data + size))
  }

  #subtree(key: Buffer, tree: Buffer): void {
    const name = key.toString('latin1').replace(/\0+$/, '')
    if (!NAMES.has(name) || tree.length !== TREE.bytes || (tree.readUInt16LE(TREE.flags) & FOREIGN_TREE) !== 0)
      throw new Damage('a tree has an unknown name or kind')
    this.#subtrees.push({ depth: tree.readUInt16LE(TREE.depth), root: numberAt(tree, TREE.root) })
  }

  #overflow(page: Buffer, at: number, size: number): void {
    const { pageSize, file } = this.#trees
    const [first, count] = [numberAt(page, at), numberAt(page, at + 16)]
    if (count < Math.floor((HEADER.bytes - 1 + size) / pageSize) + 1 || count > this.#trees.lastPage)
      throw new Damage(`page ${first} holds less than it should`)
    for (let i = 0; i < count; i++) this.#use(first + i)
    readSync(file, this.#header, 0, HEADER.bytes, first * pageSize)
    const isSound = this.#isPage(this.#header, first, OVERFLOW) && this.#header.readUInt32LE(HEADER.pages) === count
    if (!isSound) throw new Damage(`page ${first} does not hold the value that it should`)
  }

  #overflowing(page: Buffer, at: number, size: number): Buffer {
    const bytes = Buffer.alloc(size)
    readSync(this.#trees.file, bytes, 0, size, numberAt(page, at) * this.#trees.pageSize + HEADER.bytes)
    return bytes
  }

  /** How many numbers follow, and the numbers; a negative one is the length of the run that the next one begins. */
  #freePages(list: Buffer): void {
    if (list.length < 8 || list.length % 8 !== 0) throw new Damage('a list of free pages is cut short')
    const count = numberAt(list, 0)
    if (count < 0 || count > list.length / 8 - 1) throw new Damage('a list of free pages is longer than its record')
    for (let i = 1; i <= count; i++) {
      const number = numberAt(list, 8 * i)
      if (number > this.#trees.lastPage || -number > this.#trees.lastPage || number === 1)
        throw new Damage(`page ${number}, which is listed as free, does not exist`)
      if (number > 0) this.#freed.push(number)
    }
  }

  #compare(page: Buffer, one: number, other: number, { name }: Walk): number {
    const keyAt = (at: number) => page.subarray(at + NODE.bytes, at + NODE.bytes + page.readUInt16LE(at + NODE.keySize))
    const [a, b] = [keyAt(one), keyAt(other)]
    return name === 'free' && a.length === 8 && b.length === 8 ? numberAt(a, 0) - numberAt(b, 0) : Buffer.compare(a, b)
  }

  /** A page of a tree, in memory that the next one of the same level overwrites. */
  #read(number: number, level: number): Buffer {
    const { file, pageSize } = this.#trees
    this.#use(number)
    const page = (this.#pages[level] ??= Buffer.alloc(pageSize))
    if (readSync(file, page, 0, pageSize, number * pageSize) < pageSize) throw new Damage(`page ${number} is missing`)
    return page
  }

  /** LMDB writes to a page of a later transaction where it lies, which no one may. */
  #isPage(header: Buffer, number: number, kind: number): boolean {
    const transaction = numberAt(header, HEADER.transaction)
    const isOfThePast = transaction >= 0 && transaction <= this.#trees.transaction
    return numberAt(header, 0) === number && header.readUInt16LE(HEADER.flags) === kind && isOfThePast
  }

  #use(number: number): void {
    const { lastPage, size, pageSize } = this.#trees
    if (!(number > 1 && number <= lastPage && number * pageSize < size)) throw new Damage(`page ${number} does not exist`)
    if (this.#isUsed(number)) throw new Damage(`page ${number} is in use twice`)
    this.#used[number >> 3]! |= 1 << (number & 7)
  }

  #isUsed(number: number): boolean {
    return (this.#used[number >> 3]! & (1 << (number & 7))) !== 0
  }
}

/** Numbers of pages are far below 2^53; -1 is no page. */
const numberAt = (bytes: Buffer, at: number): number => bytes.readInt32LE(at + 4) * 2 ** 32 + bytes.readUInt32LE(at)

const childOf = (page: Buffer, at: number): number => page.readUInt16LE(at + NODE.flags) * 2 ** 32 + page.readUInt32LE(at)
