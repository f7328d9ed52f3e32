/**
 * Disk space for the next commits, taken before they need it: the file is lengthened with zeros behind its last page, which LMDB fills
 * without asking the disk for more. So a full disk is noticed here, where it is an error like any other (within LMDB it ends the process),
 * and a reserve is left that only deletes use: each of them needs new pages, too.
 */
import { closeSync, fstatSync, openSync, statfsSync, writeSync } from 'node:fs'

export type Pages = { readonly last: number; readonly free: number; readonly bytes: number }

/** The changes of a commit that decide how many pages it needs. */
export type Need = {
  readonly puts: readonly { readonly header: Uint8Array; readonly body: Uint8Array; readonly isFreeing: boolean }[]
  readonly removes: readonly unknown[]
}

/** Thousands of deletes, and the compaction that frees what they deleted. */
const RESERVE_BYTES = 4 << 20
/** Nobody waits for the start of a server then. */
export const RESERVE_AFTER_MS = 2_000
/** Space that is taken in advance, so that few commits have to. */
const AHEAD_BYTES = 1 << 20
/** The ways from the roots of all trees to their leaves, copied with every commit, and the list of the pages that were freed. */
const PAGES_PER_COMMIT = 32
/** A removed record may be alone in its leaf, whose branch is copied, too. */
const PAGES_PER_REMOVE = 2
/** While the disk has no space at all, one write a second is tried: those that fail take deletes of the same commit with them. */
const TRY_EVERY_MS = 1_000
const ZEROS = Buffer.alloc(AHEAD_BYTES)

export class Room {
  readonly #path: string
  readonly #file: number
  readonly #pages: () => Pages
  readonly #openedAt = performance.now()
  readonly #pageBytes: number
  #length: number
  /** The end of the last page, as far as is known: no commit since can have come further. */
  #usedAtMost = Number.POSITIVE_INFINITY
  #fullSince: number | undefined

  constructor(path: string, pages: () => Pages) {
    this.#path = path
    this.#file = openSync(path, 'r+')
    this.#length = fstatSync(this.#file).size
    this.#pages = pages
    this.#pageBytes = pages().bytes
  }

  /** Whether a write that is no delete may be tried. */
  get admitsWrites(): boolean {
    return this.#fullSince === undefined || performance.now() - this.#fullSince > TRY_EVERY_MS || freeOnDisk(this.#path) > AHEAD_BYTES
  }

  /** Makes room for a commit. Throws the error of the disk if there is none. No commit may be running. */
  take(need: Need): void {
    const wanted = this.#bytesFor(need)
    const reserve = performance.now() - this.#openedAt < RESERVE_AFTER_MS ? 0 : RESERVE_BYTES
    if (this.#usedAtMost + wanted + reserve > this.#length) {
      const { last, free, bytes } = this.#pages()
      const used = (last + 1) * bytes
      try {
        if (used + wanted + reserve > this.#length) this.#lengthen(used + wanted + reserve + AHEAD_BYTES)
        this.#fullSince = undefined
      } catch (error) {
        this.#length = fstatSync(this.#file).size
        this.#fullSince = performance.now()
        const isFreeing = need.puts.every(put => put.isFreeing)
        const [tail, within] = [this.#length - used, free * bytes]
        // Pages that are free within the file serve as well, one by one: large values need some that lie side by side.
        const isEnough = isFreeing ? tail >= wanted || within >= 4 * wanted : tail >= wanted && tail + within - wanted >= RESERVE_BYTES
        if (!isEnough) throw error
      }
      this.#usedAtMost = used
    }
    this.#usedAtMost += wanted
  }

  close(): void {
    closeSync(this.#file)
  }

  #bytesFor({ puts, removes }: Need): number {
    const records = puts.reduce(
      (sum, { header, body }) => sum + 2 * header.length + body.length + (body.length > this.#pageBytes / 4 ? this.#pageBytes : 0),
      0,
    )
    return 2 * records + (PAGES_PER_COMMIT + PAGES_PER_REMOVE * removes.length) * this.#pageBytes
  }

  /** Begins where the file ends, whatever was thought of it: nothing that is there is written over. */
  #lengthen(to: number): void {
    this.#length = fstatSync(this.#file).size
    while (this.#length < to) this.#length += writeSync(this.#file, ZEROS, 0, Math.min(ZEROS.length, to - this.#length), this.#length)
  }
}

function freeOnDisk(path: string): number {
  const { bavail, bsize } = statfsSync(path)
  return bavail * bsize
}
