/** How records are laid out in etcd: under which keys, and as which bytes. Handed to the store, which knows nothing of either. */
import type { MaybePromise } from '../../lib/maybe-promise.ts'
import type { Value } from '../store.ts'

/**
 * A place is an etcd key without the prefix of the store: with the prefix `/registry`, the record at `/registry/pods/default/a`
 * is at the place `/pods/default/a`. A key is what the server calls the same record: `/core/pods/default/a`.
 */
export interface RecordFormat {
  /** The place of a key. */
  placeOf(key: string): string
  /** The key at a place; undefined for an unknown one, which is ignored wherever it appears. `placeOf` of it is the place again. */
  keyAt(place: string): string | undefined
  /** The longest beginning that the places of all keys with a prefix have. Keys of one resource are in the order of their places. */
  placesBelow(prefix: string): string
  /** A value as it is stored, and `object` what it holds, where that is known. Values with the same content need not become the same bytes. */
  encode(key: string, value: Value, object?: unknown): MaybePromise<Uint8Array>
  /** The values of stored records, in their order. It must not throw for what it cannot read, and may keep parts of `stored`. */
  decode(records: readonly StoredRecord[]): MaybePromise<readonly Decoded[]>
  /** Whether records of a key may be stored in other ways than `encode` stores them today, and whether one is. */
  mayBeStale?(key: string): boolean
  isStale?(record: StoredRecord): MaybePromise<boolean>
}

export type StoredRecord = { readonly key: string; readonly stored: Uint8Array }

/** A value, and the decoded object where it had to be decoded (see `Entry.object`), or why the record cannot be read (see `Entry.fault`). */
export type Decoded =
  | { readonly value: Uint8Array; readonly object?: unknown; readonly fault?: undefined }
  | {
      readonly fault: string
      /** Whether it could not even be decrypted. */
      readonly isUntransformable?: boolean
    }
