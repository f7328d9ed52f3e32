/** The interface between the server and a database. Keys are paths, values opaque bytes; one revision orders every write. */
import type { Fence } from '../lib/fence.ts'
import type { MaybePromise } from '../lib/maybe-promise.ts'
import type { RequestTrace } from '../lib/request-trace.ts'

export interface Store {
  /** Whether other processes write to it as well: a watch may then be behind acknowledged writes. */
  readonly isShared?: boolean
  /**
   * Counts how often it has gone back to an earlier state or become another one, as etcd can that is restored from a backup. Watches end
   * with an error then. Absent where that cannot happen.
   */
  readonly generation?: number
  /** Reads one key, now or at a past revision. A store that asks other servers continues the trace there, here and in other calls. */
  get(key: string, at?: Revision, trace?: RequestTrace): Promise<Read>
  /**
   * The entry that a key got at a revision, without waiting; undefined when that has been compacted. Left out where another process
   * would have to be asked: whoever has it need not keep values in memory.
   */
  readBack?(key: string, modified: Revision): Entry | undefined
  /** Whether the current record of a key would be stored otherwise today: in plain, or with another key. Left out where all are stored alike. */
  isStale?(key: string, trace?: RequestTrace): MaybePromise<boolean>
  /** Reads a prefix in key order (by UTF-8 bytes); every page of one `at` is the same snapshot. With a limit, a page of large values may hold fewer. */
  list(prefix: string, page?: PageRequest): Promise<Page>
  /** Compare-and-swap, the only write: `expect: 0` creates, `value: null` deletes. Resolves once the write is durable. */
  swap(key: string, change: Change): Promise<Swap>
  /** Every event after a revision, in revision order, none twice. An empty batch reports progress. */
  watch(prefix: string, after: Revision, signal: AbortSignal): AsyncIterable<Batch>
  /**
   * A revision not older than any write that was acknowledged before the call, by whichever process; at once where this
   * process makes all writes. Every watch reaches it, also when nothing is written any more.
   */
  fresh(): MaybePromise<Revision>
  /** The oldest revision that can still be read and watched from, and the newest one. */
  extent(): Promise<Extent>
  /** Forgets history before a revision; reads there and watches from before it then throw `Compacted`. */
  compact(before: Revision): Promise<void>
  /** The space it takes and may take; left out where another process decides that. */
  size?(): StoreSize
  /** Writes, syncs and reads a private record; rejects when that fails. */
  probe(): Promise<void>
  /** Before it is closed, where it may be out of reach: calls that wait for it fail at once, writes with an unknown outcome. */
  abandon?(): void
  /** Ends watches, waits for pending writes, releases the files. */
  close(): Promise<void>
}

/** Counts writes. It only grows, also across restarts, within one generation; a new store starts at 1. */
export type Revision = number

export type Entry = {
  readonly key: string
  readonly value: Uint8Array
  readonly created: Revision
  readonly modified: Revision
  /** Why the stored record cannot be trusted; `value` is then empty. Set only on records damaged at rest. */
  readonly fault?: string
  /** The object that the value holds, where the store has decoded it. */
  readonly object?: unknown
}

/** The fault of a record that cannot be decoded, in kube-apiserver's words. */
export const undecodable = (revision: Revision, why: string): string => `object not decodable revision=${revision}: ${why}`

export type Read = { readonly revision: Revision; readonly entry: Entry | undefined }
export type PageRequest = {
  readonly limit?: number
  readonly after?: string
  readonly at?: Revision
  /** `remaining` only tells whether there is more, by any number but 0: counting what there was at a past revision takes time. */
  readonly uncounted?: true
  /** Values as they lie in the store: encrypted records stay encrypted, and are no fault. For copies of the store. */
  readonly asStored?: true
  /** The trace of the request that reads. */
  readonly trace?: RequestTrace | undefined
}
export type Page = { readonly revision: Revision; readonly entries: readonly Entry[]; readonly remaining: number }
export type Extent = { readonly oldest: Revision; readonly newest: Revision }

export type StoreSize = {
  /** The bytes taken from the disk or from memory, the part in use, and the least size of history in it, where known. */
  readonly bytes: number
  readonly usedBytes: number
  readonly historyBytes?: number
  /** The limit of bytes, and whether it is reached: the store then refuses to grow until much of it is free again. */
  readonly quotaBytes: number
  readonly isFull: boolean
}

export type Change = {
  readonly expect: Revision
  readonly value: Value | null
  /** The object that the value holds, where it is known: a store that keeps something else than the value need not decode it. */
  readonly object?: unknown
  /** Deletes the key, with an event, when that time has passed since this write. */
  readonly ttlSeconds?: number | undefined
  /** Nobody else writes the same value, as it has a new uid: should the answer be lost, finding it shows that it was written. */
  readonly unique?: boolean
  /** The object is being deleted: a store that is full lets it grow a little further than others, so that its deletion can end. */
  readonly isEnding?: boolean
  /** Keys that must be unchanged when the write is made; `FencedOff` names the first that is not. */
  readonly fences?: readonly Fence[] | undefined
  /** The trace of the request that writes. */
  readonly trace?: RequestTrace | undefined
}
/** Bytes, or how they are made: where `object` is given, a store that keeps it in another form needs them only when it is at work. */
export type Value = Uint8Array | LateBytes
export class LateBytes {
  readonly #make: () => Uint8Array
  #made: Uint8Array | undefined

  /** `make` may refuse a value that is too large. */
  constructor(make: () => Uint8Array) {
    this.#make = make
  }

  /** The same each time. */
  get bytes(): Uint8Array {
    return (this.#made ??= this.#make())
  }

  get made(): Uint8Array | undefined {
    return this.#made
  }
}
export const bytesOf = (value: Value): Uint8Array => (value instanceof LateBytes ? value.bytes : value)
/** The bytes if they have been made. */
export const madeBytes = (value: Value): Uint8Array | undefined => (value instanceof LateBytes ? value.made : value)

export type Swap = { readonly ok: true; readonly revision: Revision } | { readonly ok: false; readonly current: Entry | undefined }

export type Event = {
  readonly key: string
  /** Nothing if the key was deleted. */
  readonly after: Entry | undefined
  readonly revision: Revision
}
export type Batch = { readonly revision: Revision; readonly events: readonly Event[] }

/** Thrown by reads and watches of a revision that compaction has forgotten. */
export class Compacted extends Error {
  readonly oldest: Revision

  constructor(asked: Revision, oldest: Revision) {
    super(`revision ${asked} has been compacted; the oldest is ${oldest}`)
    this.oldest = oldest
  }
}

/** Thrown by reads and watches of a revision that has not been written yet. */
export class FutureRevision extends Error {
  readonly newest: Revision

  constructor(asked: Revision, newest: Revision) {
    super(`revision ${asked} has not been written yet; the newest is ${newest}`)
    this.newest = newest
  }
}

/**
 * Thrown by a swap that may have been made or not, or may still be made: the connection to the store was lost meanwhile, and
 * reading the key back does not tell.
 */
export class OutcomeUnknown extends Error {}

/** Thrown by a swap whose fence was written meanwhile. Nothing was written. */
export class FencedOff extends Error {
  readonly fence: Fence

  constructor(fence: Fence) {
    super(`${fence.key} is no longer at revision ${fence.modified}`)
    this.fence = fence
  }
}

/** Thrown by a swap whose value is larger than the store takes. Nothing was written. */
export class ValueTooLarge extends Error {}

/** Thrown when the store cannot take writes or be opened: a full disk, a read-only folder, another process. Its message says what to do. */
export class StoreUnavailable extends Error {
  /** The problem without names of files, for clients. */
  readonly problem: string

  constructor(message?: string, { problem = 'the store is not available', ...options }: ErrorOptions & { readonly problem?: string } = {}) {
    super(message, options)
    this.problem = problem
  }
}

/** Thrown by a swap that would have a full store grow. Nothing was written; deletions go on. */
export class SpaceExceeded extends StoreUnavailable {}
