/** Continue tokens: where the next page of a list begins, signed, and valid for one list only. */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { JsonError, parseJson } from '../codec/json.ts'
import { goQuote } from '../lib/go-text.ts'
import { isObject, type Json, jsonTypeName } from '../lib/json-value.ts'
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
    throw badRequest(`invalid continue token: continue key is not valid: ${faultOf(token)}`)
  const [revision, rest, since = 0] = JSON.parse(text.toString()) as [Revision, string, number?]
  return { revision, after: scope.resource.prefix + rest, since }
}

/** The message of kube-apiserver about a token that is none. */
function faultOf(token: string): string {
  const foreign = token.search(/[^A-Za-z0-9_-]/)
  const broken = foreign === -1 && token.length % 4 === 1 ? token.length - 1 : foreign
  if (broken !== -1) return `illegal base64 data at input byte ${broken}`
  const bytes = Buffer.from(token, 'base64url')
  const [first = 0x20] = bytes
  // Bytes that do not begin like JSON need not be text either.
  if (!JSON_BEGINS.test(String.fromCharCode(first)))
    return `invalid character '${goQuote(String.fromCharCode(first)).slice(1, -1)}' looking for beginning of value`
  try {
    return faultIn(parseJson(bytes, { limit: { values: MAX_NODES, keyWeight: 1 } }).value)
  } catch (error) {
    return error instanceof JsonError ? error.message : NOT_ISSUED
  }
}
const JSON_BEGINS = /[\s[{"tfn0-9-]/
const MAX_NODES = 16
const NOT_ISSUED = 'it was not issued for this list by this server'

function faultIn(position: Json): string {
  if (position !== null && !isObject(position))
    return `json: cannot unmarshal ${jsonTypeName(position)} into Go value of type storage.continueToken`
  const { v = '', rv = 0, start = '' } = position ?? {}
  if (v !== ENCODED) return `server does not recognize this encoded version ${v}`
  if (rv === 0) return `incorrect encoded start resourceVersion (version ${ENCODED})`
  return start === '' ? `encoded start key empty (version ${ENCODED})` : NOT_ISSUED
}
/** How kube-apiserver's tokens begin. */
const ENCODED = 'meta.k8s.io/v1'

const mac = (key: Uint8Array, { resource, namespace }: Scope, text: Uint8Array): Buffer =>
  createHmac('sha256', key).update(`${resource.prefix}\0${namespace}\0`).update(text).digest().subarray(0, MAC_BYTES)
