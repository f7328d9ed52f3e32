/** The simplest layout of records in etcd, for tests of the store alone. */
import type { RecordFormat } from '../../../src/storage/etcd/record-format.ts'
import { bytesOf } from '../../../src/storage/store.ts'

/** Keys and values are stored unchanged. */
export const plainFormat: RecordFormat = {
  placeOf: key => key,
  keyAt: place => place,
  placesBelow: prefix => prefix,
  encode: (_, value) => bytesOf(value),
  decode: records => records.map(({ stored }) => ({ value: stored })),
}
