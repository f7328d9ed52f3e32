/** A record format whose records are encrypted at rest: bound to their etcd keys, as kube-apiserver does it. */
import { type MaybePromise, whenDone } from '../../lib/maybe-promise.ts'
import type { FromStorage, RecordTransformer } from '../record-transformer.ts'
import type { Decoded, RecordFormat, StoredRecord } from './record-format.ts'

export type Transforming = {
  readonly transformer: RecordTransformer
  /** The prefix of all etcd keys, `/registry`. */
  readonly prefix: string
}

export function transformedFormat(format: RecordFormat, { transformer, prefix }: Transforming): RecordFormat {
  const named = (key: string) => ({ key, place: prefix + format.placeOf(key) })
  return {
    placeOf: key => format.placeOf(key),
    keyAt: place => format.keyAt(place),
    placesBelow: prefix => format.placesBelow(prefix),
    encode: (key, value, object) => whenDone(format.encode(key, value, object), stored => transformer.toStorage(named(key), stored)),
    decode(records) {
      const read = records.map(({ key, stored }) => transformer.fromStorage(named(key), stored))
      return whenDone(allOf(read), read => decodeRead(format, records, read))
    },
    mayBeStale: key => transformer.mayBeStale(key) || format.mayBeStale?.(key) === true,
    isStale: ({ key, stored }) =>
      whenDone(transformer.fromStorage(named(key), stored), read => {
        if (read.fault !== undefined || read.isStale) return read.fault === undefined
        return format.mayBeStale?.(key) === true && format.isStale!({ key, stored: read.value })
      }),
  }
}

/** Decodes what could be decrypted; all others keep their faults. */
function decodeRead(
  format: RecordFormat,
  records: readonly StoredRecord[],
  read: readonly FromStorage[],
): MaybePromise<readonly Decoded[]> {
  const readable: StoredRecord[] = []
  for (const [i, { key }] of records.entries()) {
    const { value } = read[i] as { value?: Uint8Array }
    if (value) readable.push({ key, stored: value })
  }
  return whenDone(readable.length === 0 ? [] : format.decode(readable), decoded => {
    let next = 0
    return read.map(each => (each.fault === undefined ? decoded[next++]! : { fault: each.fault, isUntransformable: true }))
  })
}

/** The results, synchronously where all are there. */
function allOf(results: readonly MaybePromise<FromStorage>[]): MaybePromise<readonly FromStorage[]> {
  return results.some(result => result instanceof Promise) ? Promise.all(results) : (results as readonly FromStorage[])
}
