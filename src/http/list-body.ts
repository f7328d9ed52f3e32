/** Lists assembled from stored bytes: nothing is decoded, and a large list needs no more memory than one chunk. */

import { itemBytes, type ListItem } from '../codec/list-item.ts'
import { LIMITS } from '../lib/limits.ts'
import type { ListMeta } from '../registry/api.ts'
import type { Resource } from '../schema/resource.ts'
import type { ResponseBody } from './message.ts'

/** The JSON of a list of whole objects: small ones in one buffer, others chunk by chunk while they are sent. */
export function listBody(resource: Resource, items: readonly ListItem[], meta: ListMeta): ResponseBody {
  const list = measure(resource, items, meta)
  return list.length <= LIMITS.listWholeBytes ? whole(list) : { type: 'pieces', length: list.length, pieces: pieces(list) }
}

/** One item as it is in a list. */
export function listItem(resource: Resource, item: ListItem): string {
  const skip = skippedOf(resource)
  const bytes = itemBytes(item)
  return `{${Buffer.from(bytes.buffer, bytes.byteOffset + skip + 1, bytes.byteLength - skip - 1).toString()}`
}

/** The beginning of every list, up to its first item. */
function listHead(kind: string, apiVersion: string, { resourceVersion, ...more }: ListMeta): string {
  return `{"kind":"${kind}","apiVersion":"${apiVersion}","metadata":${JSON.stringify({ resourceVersion, ...more })},"items":[`
}

type Measured = {
  readonly head: Buffer
  readonly items: readonly ListItem[]
  /** The number of bytes at the beginning of an item that are left out. */
  readonly skip: number
  readonly length: number
}

/** Lists of custom objects have no type that could leave out an empty token. */
export const listMetaOf = ({ def }: Resource, meta: ListMeta): ListMeta => (def.custom ? { continue: '', ...meta } : meta)

function measure(resource: Resource, items: readonly ListItem[], meta: ListMeta): Measured {
  const head = Buffer.from(listHead(resource.listKind, resource.apiVersion, listMetaOf(resource, meta)))
  const skip = skippedOf(resource)
  let length = head.length + TAIL.length + Math.max(0, items.length - 1)
  for (const item of items) length += item.byteLength - skip
  return { head, items, skip, length }
}

/**
 * The number of bytes at the beginning of an item that are left out, without the last one, which becomes the brace. 0 for custom objects:
 * their lists have no type.
 */
const skippedOf = ({ kind, apiVersion, def }: Resource) =>
  def.custom ? 0 : Buffer.byteLength(`{"kind":"${kind}","apiVersion":"${apiVersion}",`) - 1

const TAIL = Buffer.from(']}')
const COMMA = 0x2c
const BRACE = 0x7b

function whole({ head, items, skip, length }: Measured): Uint8Array {
  const out = Buffer.allocUnsafe(length)
  let at = head.copy(out)
  for (let i = 0; i < items.length; i++) {
    if (i > 0) out[at++] = COMMA
    at = copyItem(items[i]!, skip, out, at)
  }
  TAIL.copy(out, at)
  return out
}

/**
 * All chunks of a list are written into the same buffer, one after the other, and then those of another list: it stays in the processor's
 * cache, and no list leaves garbage behind.
 */
function* pieces({ head, items, skip, length }: Measured): Generator<Uint8Array> {
  const pool = pools.find(({ bytes }) => bytes >= length) ?? pools.at(-1)!
  const out = pool.spare.pop() ?? Buffer.allocUnsafeSlow(pool.bytes)
  const room = out.length - TAIL.length
  // A long continue token can make the head larger than any item.
  if (head.length > room) yield head
  let at = head.length > room ? 0 : head.copy(out)
  for (let i = 0; i < items.length; i++) {
    const item = items[i]!
    const size = item.byteLength - skip + 1
    if (at + size > room && at > 0) {
      yield out.subarray(0, at)
      at = 0
    }
    if (size > room) {
      const own = Buffer.allocUnsafe(i > 0 ? size : size - 1)
      if (i > 0) own[0] = COMMA
      copyItem(item, skip, own, i > 0 ? 1 : 0)
      yield own
    } else {
      if (i > 0) out[at++] = COMMA
      at = copyItem(item, skip, out, at)
    }
  }
  at += TAIL.copy(out, at)
  yield out.subarray(0, at)
  // Not reached when the client has disconnected: its socket may still hold the buffer then.
  if (pool.spare.length < MAX_SPARE_BUFFERS) pool.spare.push(out)
}

const MAX_SPARE_BUFFERS = 8
const pools = [8, 4, 2, 1].map(part => ({ bytes: LIMITS.listPieceBytes / part, spare: [] as Buffer[] }))

/**
 * Items of a typed list have no kind and apiVersion. Every stored object begins with `{"kind":"K","apiVersion":"V",`: all but the last byte
 * of that is left out, and the remaining comma becomes the brace.
 */
function copyItem(item: ListItem, skip: number, out: Buffer, at: number): number {
  const size = item.byteLength - skip
  const bytes = itemBytes(item)
  // A plain view: those of Node's buffers cost several times as much.
  out.set(new Uint8Array(bytes.buffer, bytes.byteOffset + skip, size), at)
  out[at] = BRACE
  return at + size
}
