/** One version of one object: the exact bytes to send, and what selectors need to know of it. */
import type { AnyObject } from '../schema/object-meta.ts'
import type { Resource } from '../schema/resource.ts'
import type { Entry, Revision } from '../storage/store.ts'

export interface Version {
  readonly key: string
  readonly namespace: string
  readonly name: string
  readonly revision: Revision
  /** The whole object as JSON, its resourceVersion inside. Of a deletion: the last state, with the revision of the deletion. */
  readonly json: Buffer
  readonly deleted: boolean
  readonly labels: Readonly<Record<string, string>>
  /** The kind's selectable fields. */
  readonly fields: Readonly<Record<string, string>>
  /** Set when the stored record cannot be trusted; `json` is then empty. */
  readonly fault: string | undefined
  /** The version before this one, while it is inside the window. */
  previous: Version | undefined
  /** Where the digits of the resourceVersion stand in `json`. */
  readonly digits: number
}

/** Stored objects keep this place open; the revision is known only once the write is done. */
const OPEN = Buffer.from('"resourceVersion":""')
const DIGITS = OPEN.length - 1
const NONE: Readonly<Record<string, string>> = Object.freeze({})

/** Makes the version that a stored entry is; `object` saves decoding it when the writer is at hand. */
export function versionOf(resource: Resource, entry: Entry, object: AnyObject | undefined): Version {
  const base = { key: entry.key, ...identityOf(resource, entry.key), revision: entry.modified, deleted: false, previous: undefined }
  if (entry.fault !== undefined) return { ...base, json: Buffer.alloc(0), labels: NONE, fields: NONE, fault: entry.fault, digits: 0 }
  const value = Buffer.from(entry.value.buffer, entry.value.byteOffset, entry.value.byteLength)
  const digits = value.indexOf(OPEN) + DIGITS
  let decoded: AnyObject
  try {
    if (digits < DIGITS) throw new Error('the record has no place for a resourceVersion')
    decoded = object ?? JSON.parse(value.toString())
  } catch (error) {
    return { ...base, json: Buffer.alloc(0), labels: NONE, fields: NONE, fault: (error as Error).message, digits: 0 }
  }
  return {
    ...base,
    json: splice(value, digits, 0, entry.modified),
    labels: decoded.metadata.labels ?? NONE,
    fields: selectableFields(resource, decoded),
    fault: undefined,
    digits,
  }
}

/** The deletion of a version: its last state, as watchers see it go. */
export function tombstoneOf(last: Version, revision: Revision): Version {
  let json: Buffer | undefined
  return {
    key: last.key,
    namespace: last.namespace,
    name: last.name,
    revision,
    get json() {
      // Most deletions are never looked at, so the bytes are made when first asked for.
      json ??= last.fault === undefined ? splice(last.json, last.digits, String(last.revision).length, revision) : last.json
      return json
    },
    deleted: true,
    labels: last.labels,
    fields: last.fields,
    fault: last.fault,
    previous: last,
    digits: last.digits,
  }
}

/** The bytes of an object that was not stored, as a dry run answers it: without a resourceVersion. */
export function withoutRevision(value: Uint8Array): Buffer {
  const text = Buffer.from(value.buffer, value.byteOffset, value.byteLength)
  const at = text.indexOf(OPEN)
  const end = text[at + OPEN.length] === 0x2c ? at + OPEN.length + 1 : at + OPEN.length
  return Buffer.concat([text.subarray(0, at), text.subarray(end)])
}

/** The bytes of a stored object with its revision filled in. */
export function withRevision(value: Uint8Array, revision: Revision): Buffer {
  const text = Buffer.from(value.buffer, value.byteOffset, value.byteLength)
  return splice(text, text.indexOf(OPEN) + DIGITS, 0, revision)
}

function splice(text: Buffer, at: number, length: number, revision: Revision): Buffer {
  const digits = String(revision)
  // Not from the shared pool: cached bytes live long, and a pooled slice would keep its whole 8 KiB alive.
  const out = Buffer.allocUnsafeSlow(text.length - length + digits.length)
  text.copy(out, 0, 0, at)
  out.write(digits, at, 'latin1')
  text.copy(out, at + digits.length, at + length)
  return out
}

function selectableFields(resource: Resource, object: AnyObject): Readonly<Record<string, string>> {
  const { selectable } = resource.def
  if (!selectable) return NONE
  const fields: Record<string, string> = {}
  for (const [name, get] of Object.entries(selectable)) fields[name] = String(get(object) ?? '')
  return fields
}

function identityOf(resource: Resource, key: string): { namespace: string; name: string } {
  const rest = key.slice(resource.prefix.length)
  const slash = resource.namespaced ? rest.indexOf('/') : -1
  return slash < 0 ? { namespace: '', name: rest } : { namespace: rest.slice(0, slash), name: rest.slice(slash + 1) }
}
