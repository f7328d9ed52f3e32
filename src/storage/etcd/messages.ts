/** The requests and responses of etcd's API version 3 (`etcdserverpb`) that the store uses. */
import type { Method } from '../../transport/grpc/connection.ts'
import { readFields, Writer } from '../../transport/grpc/wire.ts'

/** Which cluster has answered and where it is; a watch tells where the member is that it follows. */
export type Header = { readonly cluster: number; readonly term: number; readonly revision: number }
export type KeyValue = {
  readonly key: Buffer
  readonly value: Buffer
  readonly created: number
  readonly modified: number
  /** How many writes have been made to the key since it was created. */
  readonly version: number
}

export type RangeRequest = {
  readonly key: Uint8Array
  readonly end?: Uint8Array
  readonly limit?: number
  /** Reads at a past revision. */
  readonly revision?: number
  readonly countOnly?: boolean
}
export type RangeResponse = Header & { readonly records: readonly KeyValue[]; readonly more: boolean; readonly count: number }

/** Writes or deletes a key if what a comparison names is still so, and otherwise reads it. */
export type SwapRequest = {
  readonly key: Uint8Array
  readonly expect: { readonly modified: number } | { readonly version: number }
  /** Nothing deletes. */
  readonly value: Uint8Array | null
  readonly lease?: number
  /** Other keys, which must be unchanged as well. */
  readonly fences?: readonly { readonly key: Uint8Array; readonly modified: number }[] | undefined
}
export type SwapResponse = Header & {
  readonly ok: boolean
  /** The stored record, if the swap failed. */
  readonly record: KeyValue | undefined
  /** The records of the fences, if the swap failed. */
  readonly fences: readonly (KeyValue | undefined)[]
}

export type WatchCreate = {
  readonly key: Uint8Array
  readonly end: Uint8Array
  /** The first revision to report. */
  readonly from: number
}
export type WatchEvent = { readonly deleted: boolean; readonly record: KeyValue }
export type WatchResponse = Header & {
  readonly created: boolean
  readonly canceled: boolean
  readonly compacted: number
  readonly reason: string
  /** Further messages belong to this response. */
  readonly fragment: boolean
  readonly events: readonly WatchEvent[]
}

export type StatusResponse = { readonly version: string; readonly leader: boolean }

export const range: Method<RangeRequest, RangeResponse> = {
  path: '/etcdserverpb.KV/Range',
  write: request => writeRange(request, new Writer({ reserve: 5 })),
  read: readRange,
}

/** A transaction of one comparison, and of one more for each fence. */
export const swap: Method<SwapRequest, SwapResponse> = {
  path: '/etcdserverpb.KV/Txn',
  write({ key, expect, value, lease = 0, fences = [] }) {
    let size = (value?.length ?? 0) + 3 * key.length + 160
    for (const fence of fences) size += 2 * fence.key.length + 40
    const out = new Writer({ reserve: 5, size }).begin(1)
    if ('modified' in expect) out.number(2, COMPARE_MODIFIED).bytes(3, key).number(6, expect.modified)
    else out.bytes(3, key).number(4, expect.version)
    out.end()
    for (const { key, modified } of fences) out.begin(1).number(2, COMPARE_MODIFIED).bytes(3, key).number(6, modified).end()
    if (value === null) out.begin(2).begin(3).bytes(1, key).end().end()
    else out.begin(2).begin(2).bytes(1, key).bytes(2, value).number(3, lease).end().end()
    writeRead(out, key)
    for (const { key } of fences) writeRead(out, key)
    return out
  },
  read(message) {
    let header = NO_HEADER
    let ok = false
    const read: (KeyValue | undefined)[] = []
    readFields(message, ({ field, number, bytes }) => {
      if (field === 1) header = readHeader(bytes)
      else if (field === 2) ok = number !== 0
      else if (field === 3) read.push(readOperation(bytes))
    })
    const [record, ...fences] = read
    return { ...header, ok, record, fences }
  },
}

export const compact: Method<{ readonly revision: number }, void> = {
  path: '/etcdserverpb.KV/Compact',
  write: ({ revision }) => new Writer({ reserve: 5 }).number(1, revision),
  read: () => {},
}

export const grantLease: Method<{ readonly id: number; readonly ttlSeconds: number }, void> = {
  path: '/etcdserverpb.Lease/LeaseGrant',
  write: ({ id, ttlSeconds }) => new Writer({ reserve: 5 }).number(1, ttlSeconds).number(2, id),
  read: () => {},
}

export const status: Method<Record<string, never>, StatusResponse> = {
  path: '/etcdserverpb.Maintenance/Status',
  write: () => new Writer({ reserve: 5 }),
  read(message) {
    let version = ''
    let leader = false
    readFields(message, ({ field, number, bytes }) => {
      if (field === 2) version = bytes.toString()
      else if (field === 4) leader = number !== 0
    })
    return { version, leader }
  },
}

export const WATCH_PATH = '/etcdserverpb.Watch/Watch'

export const writeWatchCreate = ({ key, end, from }: WatchCreate): Writer =>
  new Writer({ reserve: 5 }).begin(1).bytes(1, key).bytes(2, end).number(3, from).flag(8, true).end()

/** Asks how far the watches of a stream have got. */
export const writeWatchProgress = (): Writer => new Writer({ reserve: 5 }).begin(3).end()

export function readWatch(message: Buffer): WatchResponse {
  const read = { ...NO_HEADER, created: false, canceled: false, compacted: 0, reason: '', fragment: false, events: [] as WatchEvent[] }
  readFields(message, ({ field, number, bytes }) => {
    if (field === 1) Object.assign(read, readHeader(bytes))
    else if (field === 3) read.created = number !== 0
    else if (field === 4) read.canceled = number !== 0
    else if (field === 5) read.compacted = number
    else if (field === 6) read.reason = bytes.toString()
    else if (field === 7) read.fragment = number !== 0
    else if (field === 11) read.events.push(readEvent(bytes))
  })
  return read
}

/** The key that ends the range of all keys with a prefix. */
export function prefixEnd(prefix: Uint8Array): Buffer {
  const end = Buffer.from(prefix)
  for (let i = end.length - 1; i >= 0; i--) {
    if (end[i]! < 0xff) {
      end[i]!++
      return end.subarray(0, i + 1)
    }
  }
  return EVERYTHING
}

/** As a key: the first there can be. As the end of a range: none. */
export const EVERYTHING: Buffer = Buffer.from([0])

const COMPARE_MODIFIED = 2
const DELETED = 1

/** The reads of a transaction that is refused. */
const writeRead = (to: Writer, key: Uint8Array): Writer => to.begin(3).begin(1).bytes(1, key).end().end()

function writeRange({ key, end, limit = 0, revision = 0, countOnly = false }: RangeRequest, to: Writer): Writer {
  to.bytes(1, key)
  if (end) to.bytes(2, end)
  return to.number(3, limit).number(4, revision).flag(9, countOnly)
}

function readRange(message: Buffer): RangeResponse {
  let header = NO_HEADER
  const records: KeyValue[] = []
  let more = false
  let count = 0
  readFields(message, ({ field, number, bytes }) => {
    if (field === 1) header = readHeader(bytes)
    else if (field === 2) records.push(readKeyValue(bytes))
    else if (field === 3) more = number !== 0
    else if (field === 4) count = number
  })
  return { ...header, records, more, count }
}

/** The record in the response of an operation, if that was a read. */
function readOperation(operation: Buffer): KeyValue | undefined {
  let record: KeyValue | undefined
  readFields(operation, ({ field: kind, bytes: response }) => {
    if (kind === 1) record = readRange(response).records[0]
  })
  return record
}

function readEvent(event: Buffer): WatchEvent {
  let deleted = false
  let record: KeyValue | undefined
  readFields(event, ({ field, number, bytes }) => {
    if (field === 1) deleted = number === DELETED
    else if (field === 2) record = readKeyValue(bytes)
  })
  if (!record) throw new RangeError('an event of etcd has no key')
  return { deleted, record }
}

function readKeyValue(message: Buffer): KeyValue {
  const read = { key: NOTHING as Buffer, value: NOTHING as Buffer, created: 0, modified: 0, version: 0 }
  readFields(message, ({ field, number, bytes }) => {
    if (field === 1) read.key = bytes
    else if (field === 2) read.created = number
    else if (field === 3) read.modified = number
    else if (field === 4) read.version = number
    else if (field === 5) read.value = bytes
  })
  return read
}

function readHeader(message: Buffer): Header {
  const read = { cluster: 0, term: 0, revision: 0 }
  readFields(message, ({ field, number }) => {
    if (field === 1) read.cluster = number
    else if (field === 3) read.revision = number
    else if (field === 4) read.term = number
  })
  return read
}

const NOTHING = Buffer.alloc(0)
const NO_HEADER: Header = { cluster: 0, term: 0, revision: 0 }
