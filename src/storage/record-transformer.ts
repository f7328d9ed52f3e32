/** Changes records on their way to the database and back: encryption at rest. Handed to stores, which know nothing of keys. */
import type { MaybePromise } from '../lib/maybe-promise.ts'

export interface RecordTransformer {
  /** A value as it is stored. Throws `TransformError` when it cannot be encrypted now. */
  toStorage(record: RecordName, value: Uint8Array): Uint8Array
  /** The value of a stored record, or why it cannot be had. Waits only for keys that another process has. */
  fromStorage(record: RecordName, stored: Uint8Array): MaybePromise<FromStorage>
  /** Whether records of a key may be stored in other ways than `toStorage` stores them today. */
  mayBeStale(key: string): boolean
}

export type RecordName = {
  readonly key: string
  /** The place of the record in the database: encryption binds the record to it where it can. */
  readonly place: string
}

export type FromStorage =
  | { readonly value: Uint8Array; readonly isStale: boolean; readonly fault?: undefined }
  /** The reason, as `Entry.fault` has it. */
  | { readonly fault: string }

/** Thrown by a write whose value cannot be encrypted. Nothing was written. */
export class TransformError extends Error {}
