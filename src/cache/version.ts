/** One version of one object: the exact bytes to send, and what selectors need to know of it. */
import type { Revived } from '../schema/custom-form.ts'
import type { AnyObject } from '../schema/object-meta.ts'
import type { Resource } from '../schema/resource.ts'
import type { Entry, Revision } from '../storage/store.ts'

type Texts = Readonly<Record<string, string>>
type Identity = { readonly key: string; readonly namespace: string; readonly name: string }
type Content = {
  readonly json: Buffer | undefined
  readonly uid: string
  readonly labels: Texts
  readonly fields: Texts
  readonly digits: number
  readonly stale?: boolean
  readonly fault?: string
}

/** A class rather than a plain object: lists read one field of thousands of these, and all must have the same shape. */
export class Version {
  readonly key: string
  readonly namespace: string
  readonly name: string
  readonly revision: Revision
  readonly uid: string
  readonly labels: Texts
  /** The kind's selectable fields. */
  readonly fields: Texts
  /** Set when the stored record cannot be trusted; `json` is then empty. */
  readonly fault: string | undefined
  readonly deleted: boolean
  /** The stored record has an older form than this one; the next write renews it. */
  readonly stale: boolean
  /** The version before this one, while it is inside the window. */
  previous: Version | undefined
  /** Where the digits of the resourceVersion stand in `json`. */
  readonly digits: number
  #json: Buffer | undefined

  constructor({ key, namespace, name }: Identity, revision: Revision, content: Content, last?: Version) {
    this.key = key
    this.namespace = namespace
    this.name = name
    this.revision = revision
    this.uid = content.uid
    this.labels = content.labels
    this.fields = content.fields
    this.fault = content.fault
    this.deleted = last !== undefined
    this.stale = content.stale === true
    this.previous = last
    this.digits = content.digits
    this.#json = content.json
  }

  /** The whole object as JSON, its resourceVersion inside. Of a deletion: the last state, with the revision of the deletion. */
  get json(): Buffer {
    // Most deletions are never looked at, so their bytes are made when first asked for.
    this.#json ??= splice(this.previous!.json, this.digits, { length: String(this.previous!.revision).length, revision: this.revision })
    return this.#json
  }
}

/** Stored objects keep this place open; the revision is known only once the write is done. */
const OPEN = Buffer.from('"resourceVersion":""')
const DIGITS = OPEN.length - 1
const NONE: Texts = Object.freeze({})
const NOTHING = Buffer.alloc(0)

/** Makes the version that a stored entry is; `object` saves decoding it when the writer is at hand. */
export function versionOf(resource: Resource, entry: Entry, object: AnyObject | undefined): Version {
  const identity = identityOf(resource, entry.key)
  const broken = (fault: string) =>
    new Version(identity, entry.modified, { json: NOTHING, uid: '', labels: NONE, fields: NONE, digits: 0, fault })
  if (entry.fault !== undefined) return broken(entry.fault)
  if (resource.def.custom) return customVersion(resource, entry, { identity, object, broken })
  const value = bufferOf(entry.value)
  const digits = value.indexOf(OPEN) + DIGITS
  if (digits < DIGITS) return broken('the record has no place for a resourceVersion')
  let decoded: AnyObject
  try {
    decoded = object ?? JSON.parse(value.toString())
  } catch (error) {
    return broken((error as Error).message)
  }
  const json = splice(value, digits, { length: 0, revision: entry.modified })
  return new Version(identity, entry.modified, {
    json,
    uid: decoded.metadata.uid ?? '',
    labels: decoded.metadata.labels ?? NONE,
    fields: selectableFields(resource, decoded),
    digits,
  })
}

type Making = { readonly identity: Identity; readonly object: AnyObject | undefined; readonly broken: (fault: string) => Version }

/** An object of a custom kind, whose schema may have changed since it was written. */
function customVersion(resource: Resource, entry: Entry, { identity, object, broken }: Making): Version {
  let revived: Revived
  try {
    revived = resource.def.custom!.revive(entry.value, object)
  } catch (error) {
    return broken((error as Error).message)
  }
  const value = bufferOf(revived.value)
  const digits = value.indexOf(OPEN) + DIGITS
  if (digits < DIGITS) return broken('the record has no place for a resourceVersion')
  const { metadata } = revived.object
  return new Version(identity, entry.modified, {
    json: splice(value, digits, { length: 0, revision: entry.modified }),
    uid: metadata.uid ?? '',
    labels: metadata.labels ?? NONE,
    fields: selectableFields(resource, revived.object),
    digits,
    stale: revived.value !== entry.value,
  })
}

/** The deletion of a version: its last state, as watchers see it go. */
export function tombstoneOf(last: Version, revision: Revision): Version {
  const { uid, labels, fields, digits, fault } = last
  return new Version(
    last,
    revision,
    { json: fault === undefined ? undefined : NOTHING, uid, labels, fields, digits, ...(fault !== undefined && { fault }) },
    last,
  )
}

/** The bytes of an object that was not stored, as a dry run answers it: without a resourceVersion. */
export function withoutRevision(value: Uint8Array): Buffer {
  const text = bufferOf(value)
  const at = text.indexOf(OPEN)
  const end = text[at + OPEN.length] === 0x2c ? at + OPEN.length + 1 : at + OPEN.length
  return Buffer.concat([text.subarray(0, at), text.subarray(end)])
}

/** The bytes of a stored object with its revision filled in. */
export function withRevision(value: Uint8Array, revision: Revision): Buffer {
  const text = bufferOf(value)
  return splice(text, text.indexOf(OPEN) + DIGITS, { length: 0, revision })
}

const bufferOf = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)

function splice(text: Buffer, at: number, { length, revision }: { length: number; revision: Revision }): Buffer {
  const digits = String(revision)
  // Not from the shared pool: cached bytes live long, and a pooled slice would keep its whole 8 KiB alive.
  const out = Buffer.allocUnsafeSlow(text.length - length + digits.length)
  text.copy(out, 0, 0, at)
  out.write(digits, at, 'latin1')
  text.copy(out, at + digits.length, at + length)
  return out
}

function selectableFields(resource: Resource, object: AnyObject): Texts {
  const { selectable } = resource.def
  if (!selectable) return NONE
  const fields: Record<string, string> = {}
  for (const name of Object.keys(selectable)) fields[name] = String(selectable[name]!(object) ?? '')
  return fields
}

function identityOf(resource: Resource, key: string): Identity {
  const rest = key.slice(resource.prefix.length)
  const slash = resource.namespaced ? rest.indexOf('/') : -1
  return slash < 0 ? { key, namespace: '', name: rest } : { key, namespace: rest.slice(0, slash), name: rest.slice(slash + 1) }
}
