/** An object as of a revision: the exact bytes to send, and what selectors need to know of it. */
import { bufferOf, type ExpectedBytes, parseObject, replaceRevision, revisionOffset, withRevision } from '../codec/stored-bytes.ts'
import type { Revived } from '../schema/custom-schema.ts'
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
  readonly owners: readonly string[]
  readonly terminating: boolean
  readonly revisionOffset: number
  readonly stale?: boolean
  readonly fault?: string
}

/** A class rather than a plain object: lists read one field of thousands of these, and all must have the same shape. */
export class ObjectRevision {
  readonly key: string
  readonly namespace: string
  readonly name: string
  readonly revision: Revision
  readonly uid: string
  readonly labels: Texts
  /** The kind's selectable fields. */
  readonly fields: Texts
  /** The uids in its owner references. */
  readonly owners: readonly string[]
  /** Whether it has a deletionTimestamp. */
  readonly terminating: boolean
  /** Why the stored record cannot be read; `json` is then empty. */
  readonly fault: string | undefined
  readonly deleted: boolean
  /** The stored record was written for an older schema and differs from this; the next write replaces it. */
  readonly stale: boolean
  /** What the object was before, while that is inside the history window. */
  previous: ObjectRevision | undefined
  /** Where the digits of the resourceVersion begin in `json`. */
  readonly revisionOffset: number
  #json: Buffer | undefined
  #object: AnyObject | undefined

  constructor({ key, namespace, name }: Identity, revision: Revision, content: Content, last?: ObjectRevision) {
    this.key = key
    this.namespace = namespace
    this.name = name
    this.revision = revision
    this.uid = content.uid
    this.labels = content.labels
    this.fields = content.fields
    this.owners = content.owners
    this.terminating = content.terminating
    this.fault = content.fault
    this.deleted = last !== undefined
    this.stale = content.stale === true
    this.previous = last
    this.revisionOffset = content.revisionOffset
    this.#json = content.json
  }

  /** The whole object as JSON, its resourceVersion inside. Of a deletion: the last state, with the revision of the deletion. */
  get json(): Buffer {
    // Most deletions are never sent, so their bytes are made when first needed.
    this.#json ??= replaceRevision(this.previous!.json, this.revisionOffset, { from: this.previous!.revision, to: this.revision })
    return this.#json
  }

  /** Bytes of `json`, or nearly: those of a deletion that were not made yet are as many as it had before. */
  get size(): number {
    return (this.#json ?? this.previous?.json)?.length ?? 0
  }

  /**
   * The decoded object, shared and read-only; undefined when the record cannot be read. A field rather than an entry of a
   * WeakMap, whose entries stay until a full garbage collection.
   */
  get object(): AnyObject | undefined {
    if (this.fault !== undefined) return undefined
    this.#object ??= parseObject(this.json)
    return this.#object
  }

  /** Keeps the object that was written, which nobody changes any more, so that it need not be decoded. */
  keepObject({ metadata, ...others }: AnyObject): void {
    this.#object = { ...others, metadata: { ...metadata, resourceVersion: String(this.revision) } } as AnyObject
  }

  /** Called when another revision has become current: later readers decode this object again. */
  releaseObject(): void {
    this.#object = undefined
  }
}

const NONE: Texts = Object.freeze({})
const NO_OWNERS: readonly string[] = Object.freeze([])
const NOTHING = Buffer.alloc(0)
const UNKNOWN = { uid: '', labels: NONE, fields: NONE, owners: NO_OWNERS, terminating: false, revisionOffset: 0 }

/** What its writer knows of an entry: its decoded value, and its bytes with the revision that it was going to have. */
export type Written = { readonly object: AnyObject; readonly expected: ExpectedBytes | undefined }

/** The object revision of a stored entry. What the writer knows need not be found out again. */
export function objectRevisionOf(resource: Resource, entry: Entry, written?: Written): ObjectRevision {
  const object = written?.object ?? (entry.object as AnyObject | undefined)
  const identity = identityOf(resource, entry.key)
  const broken = (fault: string) => new ObjectRevision(identity, entry.modified, { json: NOTHING, ...UNKNOWN, fault })
  if (entry.fault !== undefined) return broken(entry.fault)
  if (resource.def.custom) return customRevision(resource, entry, { identity, object, expected: written?.expected, broken })
  const value = bufferOf(entry.value)
  const offset = written?.expected?.offset ?? revisionOffset(value)
  if (offset < 0) return broken('the record has no place for a resourceVersion')
  let decoded: AnyObject
  try {
    decoded = object ?? JSON.parse(value.toString())
  } catch (error) {
    return broken((error as Error).message)
  }
  const json = written?.expected?.at(entry.modified) ?? withRevision(value, entry.modified, offset)
  return new ObjectRevision(identity, entry.modified, contentOf(resource, decoded, { json, revisionOffset: offset, stale: false }))
}

type Making = {
  readonly identity: Identity
  readonly object: AnyObject | undefined
  readonly expected: ExpectedBytes | undefined
  readonly broken: (fault: string) => ObjectRevision
}

/** An object of a custom kind, whose schema may have changed since it was written. */
function customRevision(resource: Resource, entry: Entry, { identity, object, expected, broken }: Making): ObjectRevision {
  let revived: Revived
  try {
    revived = resource.def.custom!.revive(entry.value, object)
  } catch (error) {
    return broken((error as Error).message)
  }
  const value = bufferOf(revived.value)
  const offset = revisionOffset(value)
  if (offset < 0) return broken('the record has no place for a resourceVersion')
  const stale = revived.value !== entry.value
  const json = (stale ? undefined : expected?.at(entry.modified)) ?? withRevision(value, entry.modified, offset)
  const bytes = { json, revisionOffset: offset, stale }
  return new ObjectRevision(identity, entry.modified, contentOf(resource, revived.object, bytes))
}

/** The deletion of an object: its last state, with the revision of the deletion. */
export function tombstoneOf(last: ObjectRevision, revision: Revision): ObjectRevision {
  const { uid, labels, fields, owners, terminating, revisionOffset, fault } = last
  const known = { uid, labels, fields, owners, terminating, revisionOffset }
  return new ObjectRevision(
    last,
    revision,
    { json: fault === undefined ? undefined : NOTHING, ...known, ...(fault !== undefined && { fault }) },
    last,
  )
}

/** The bytes of an object, and what selectors and indexes need to know of it. */
function contentOf(resource: Resource, object: AnyObject, { json, revisionOffset, stale }: Bytes): Content {
  const { uid = '', labels = NONE, ownerReferences, deletionTimestamp } = object.metadata
  const owners = ownerReferences?.length ? ownerReferences.map(reference => reference.uid) : NO_OWNERS
  const fields = selectableFields(resource, object)
  return { json, uid, labels, fields, owners, terminating: Boolean(deletionTimestamp), revisionOffset, stale }
}
type Bytes = { readonly json: Buffer; readonly revisionOffset: number; readonly stale: boolean }

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
