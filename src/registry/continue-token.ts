/** Continue tokens: where the next page of a list begins, signed, and valid for one list only. */
import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Resource } from '../schema/resource.ts'
import { badRequest } from '../schema/status-error.ts'
import type { Revision } from '../storage/store.ts'

/** The key after which to go on, and the snapshot to read; -1 for whatever is the latest then. */
export type Position = {
  readonly after: string
  readonly revision: Revision
  /** When the first page of the snapshot was read, in milliseconds since the epoch. */
  readonly since: number
}
export const LATEST = -1
/** The list a token belongs to. */
export type Scope = { readonly resource: Resource; readonly namespace: string }

const MAC_BYTES = 16

export function writeToken(key: Uint8Array, scope: Scope, { after, revision, since }: Position): string {
  const text = Buffer.from(JSON.stringify([revision, after.slice(scope.resource.prefix.length), since]))
  return Buffer.concat([mac(key, scope, text), text]).toString('base64url')
}

export function readToken(key: Uint8Array, scope: Scope, token: string): Position {
  const bytes = Buffer.from(token, 'base64url')
  const text = bytes.subarray(MAC_BYTES)
  if (bytes.length <= MAC_BYTES || !timingSafeEqual(mac(key, scope, text), bytes.subarray(0, MAC_BYTES)))
    throw badRequest('invalid continue token: continue key is not valid: it was not issued for this list by this server')
  const [revision, rest, since = 0] = JSON.parse(text.toString()) as [Revision, string, number?]
  return { revision, after: scope.resource.prefix + rest, since }
}

const mac = (key: Uint8Array, { resource, namespace }: Scope, text: Uint8Array): Buffer =>
  createHmac('sha256', key).update(`${resource.prefix}\0${namespace}\0`).update(text).digest().subarray(0, MAC_BYTES)
