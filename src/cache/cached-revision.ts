/** An object as of a revision: the exact bytes to send, and the fields that selectors need. */
import type { LateItem, ListItem } from '../codec/list-item.ts'
import {
  asStored,
  bufferOf,
  type ExpectedBytes,
  parseObject,
  replaceRevision,
  revisionOffset,
  withRevision,
} from '../codec/stored-bytes.ts'
import type { Revived } from '../schema/custom-schema.ts'
import type { AnyObject } from '../schema/object-meta.ts'
import type { ObjectRevision } from '../schema/object-revision.ts'
import { type Resource, recordsPath } from '../schema/resource.ts'
import { internalError } from '../schema/status-error.ts'
import { type Entry, type Revision, undecodable } from '../storage/store.ts'
import type { Slabs } from './slabs.ts'

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
  /** The decoded object, where it is known. */
  readonly object?: AnyObject
}

/** Where bytes can be read again that are not kept in memory. */
export interface ByteSource {
  /** The bytes as they are sent; undefined when the store has them no longer. */
  read(object: CachedRevision): Buffer | undefined
  /** Whether the bytes that were just read are kept. */
  keeps(object: CachedRevision): boolean
  /** So many bytes of a tracked object are in memory, or no longer. */
  held(bytes: number): void
}

/** A decoded object of this many bytes, or more, counts as memory. */
const LARGE_OBJECT = 16 << 10

/** A class rather than a plain object: lists read one field of thousands of these, and all must have the same shape. */
export class CachedRevision implements ObjectRevision {
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
  fault: string | undefined
  readonly deleted: boolean
  /** The stored record was written for an older schema and differs from this; the next write replaces it. */
  readonly stale: boolean
  /** The revision that this one replaced, while it is inside the history window. */
  previous: CachedRevision | undefined
  /** Where the digits of the resourceVersion begin in `json`. */
  readonly revisionOffset: number
  /** Bytes of `json`. Those of a deletion may be a few more. */
  readonly size: number
  /** Whether the bytes were read since somebody looked for what to evict. */
  isRead = false
  #json: Buffer | undefined
  #object: AnyObject | undefined
  /** The object that was written, as long as its writer does not change it. */
  #written: AnyObject | undefined
  #source: ByteSource | undefined
  #isTracked = false

  constructor({ key, namespace, name }: Identity, revision: Revision, content: Content, last?: CachedRevision) {
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
    this.#object = content.object
    this.size = content.json?.length ?? last?.size ?? 0
  }

  /** The whole object as JSON, its resourceVersion inside. Of a deletion: the last state, with the revision of the deletion. */
  get json(): Buffer {
    if (this.#json) {
      this.isRead = true
      return this.#json
    }
    // Most deletions are never sent, so their bytes are made when first needed.
    if (this.deleted) return (this.#json = this.#deletedJson())
    const json = this.#readBack()
    if (json && this.#source!.keeps(this)) {
      this.#json = json
      this.isRead = true
      this.#source!.held(json.length)
    }
    return json ?? NOTHING
  }

  /** The same, for readers of many objects: bytes that are not in memory are not kept there either. Empty when it cannot be read. */
  peek(): Buffer {
    return this.#json ?? (this.deleted || this.fault !== undefined ? this.json : (this.#readBack() ?? NOTHING))
  }

  /** The bytes for a list: those that are not in memory are read when they are sent, and not kept. */
  get item(): ListItem {
    if (this.#json || this.deleted || this.fault !== undefined) return this.json
    return new StoredItem(this, this.size, () => this.#readBack())
  }

  /** Undefined when the record cannot be read any more; `fault` tells why. */
  #readBack(): Buffer | undefined {
    const json = this.#source?.read(this)
    if (json?.length === this.size) return json
    this.fault = undecodable(this.revision, 'the stored record cannot be read any more')
    return undefined
  }

  #deletedJson(): Buffer {
    const last = this.previous!
    const json = last.json
    return json.length === 0 ? NOTHING : replaceRevision(json, this.revisionOffset, { from: last.revision, to: this.revision })
  }

  /** From now on its bytes can be read again from a source, which is told how many are in memory. */
  track(source: ByteSource): void {
    // A record that was written for another schema differs from these bytes.
    if (this.stale || this.fault !== undefined || this.deleted) return
    this.#source = source
    this.#isTracked = true
    source.held(this.#heldBytes)
  }

  /** It is no longer among what the source has. */
  untrack(): void {
    if (!this.#isTracked) return
    this.#source!.held(-this.#heldBytes)
    this.#isTracked = false
  }

  /** Bytes of `json` that are in memory. */
  get bytesInMemory(): number {
    return this.#json ? this.size : 0
  }

  /** The same, and approximately the size of the decoded object. */
  get #heldBytes(): number {
    return this.bytesInMemory + (this.#object && this.size >= LARGE_OBJECT ? this.size : 0)
  }

  /** Drops everything that can be read, or made, again. */
  evict(): void {
    if (this.deleted ? !this.previous : !this.#source) return
    const held = this.#heldBytes
    this.#json = undefined
    this.#object = undefined
    if (this.#isTracked && held > 0) this.#source!.held(-held)
  }

  /**
   * The decoded object, shared and read-only; undefined when the record cannot be read. A field rather than an entry of a
   * WeakMap, whose entries stay until a full garbage collection.
   */
  get object(): AnyObject | undefined {
    if (this.#object) return this.#object
    if (this.fault !== undefined) return undefined
    if (this.#written) {
      this.#setObject(asStored(this.#written, this.revision))
      return this.#object
    }
    const { json } = this
    if (json.length === 0) return undefined
    this.#setObject(parseObject(json))
    return this.#object
  }

  #setObject(object: AnyObject | undefined): void {
    const before = this.#heldBytes
    this.#object = object
    if (this.#isTracked && this.size >= LARGE_OBJECT) this.#source!.held(this.#heldBytes - before)
  }

  /** Keeps the object that was written, which nobody changes any more, so that it need not be decoded. */
  keepObject({ metadata, ...others }: AnyObject): void {
    this.#setObject({ ...others, metadata: { ...metadata, resourceVersion: String(this.revision) } } as AnyObject)
  }

  /** The object, if it has been decoded. */
  get decoded(): AnyObject | undefined {
    return this.#object
  }

  /** Lets those who want the object meanwhile have a copy of the one that was written, which takes half the time of decoding. */
  offerObject(written: AnyObject | undefined): void {
    this.#written = written
  }

  /** Called when another revision has become current: later readers decode this object again. */
  releaseObject(): void {
    if (this.#object) this.#setObject(undefined)
  }
}

/** kube-apiserver's words for an object whose record cannot be read, with the path of the record in etcd. */
export function corruptObject(resource: Resource, { namespace, name, fault }: CachedRevision, prefix = ''): string {
  const key = `${prefix}${recordsPath(resource)}${namespace === '' ? '' : `${namespace}/`}${name}`
  return `StorageError: corrupt object, Code: 7, Key: ${key}, ResourceVersion: 0, AdditionalErrorMsg: ${fault}`
}

class StoredItem implements LateItem {
  readonly byteLength: number
  readonly #object: CachedRevision
  readonly #read: () => Buffer | undefined

  constructor(object: CachedRevision, byteLength: number, read: () => Buffer | undefined) {
    this.#object = object
    this.byteLength = byteLength
    this.#read = read
  }

  read(): Buffer {
    const bytes = this.#read()
    if (!bytes) throw internalError(`"${this.#object.name}" cannot be read from storage`)
    return bytes
  }
}

const NONE: Texts = Object.freeze({})
const NO_OWNERS: readonly string[] = Object.freeze([])
const NOTHING = Buffer.alloc(0)
const UNKNOWN = { uid: '', labels: NONE, fields: NONE, owners: NO_OWNERS, terminating: false, revisionOffset: 0 }

/** Knowledge that a writer has of its entry: the decoded value, and the bytes with the revision that it was likely to get. */
export type Written = { readonly object: AnyObject; readonly expected: ExpectedBytes | undefined }

/** The object revision of a stored entry. The writer passes on the properties that it knows already. */
export function objectRevisionOf(resource: Resource, entry: Entry, written?: Written, slabs?: Slabs): CachedRevision {
  const object = written?.object ?? (entry.object as AnyObject | undefined)
  const identity = identityOf(resource, entry.key)
  const faulty = (fault: string) => new CachedRevision(identity, entry.modified, { json: NOTHING, ...UNKNOWN, fault })
  if (entry.fault !== undefined) return faulty(entry.fault)
  const broken = (why: string) => faulty(undecodable(entry.modified, why))
  if (resource.def.custom) return customRevision(resource, entry, { identity, object, expected: written?.expected, broken })
  const shared = written ? undefined : sharedRecords.get(entry.value)
  if (shared?.resource === resource && shared.revision === entry.modified)
    return new CachedRevision(identity, entry.modified, shared.content!)
  const value = bufferOf(entry.value)
  const offset = written?.expected?.offset ?? revisionOffset(value)
  if (offset < 0) return broken('the record has no place for a resourceVersion')
  let decoded: AnyObject
  try {
    decoded = object ?? JSON.parse(value.toString())
  } catch (error) {
    return broken((error as Error).message)
  }
  const json = written?.expected?.at(entry.modified) ?? withRevision(value, entry.modified, offset, slabs?.allocate)
  const content = contentOf(resource, decoded, { json, revisionOffset: offset, stale: false })
  if (shared) Object.assign(shared, { resource, revision: entry.modified, content: { ...content, object: parseObject(json) } })
  return new CachedRevision(identity, entry.modified, content)
}

type SharedRecord = { resource?: Resource; revision?: Revision; content?: Content }

/** Records with which several servers of this process begin, and the content of their objects, which is then in memory once. */
const sharedRecords = new WeakMap<Uint8Array, SharedRecord>()

/** Servers that load these records at the same revisions have their objects in common. */
export function shareRecords(values: Iterable<Uint8Array>): void {
  for (const value of values) if (!sharedRecords.has(value)) sharedRecords.set(value, {})
}

type Making = {
  readonly identity: Identity
  readonly object: AnyObject | undefined
  readonly expected: ExpectedBytes | undefined
  readonly broken: (fault: string) => CachedRevision
}

/** An object of a custom kind, whose schema may have changed since it was written. */
function customRevision(resource: Resource, entry: Entry, { identity, object, expected, broken }: Making): CachedRevision {
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
  return new CachedRevision(identity, entry.modified, contentOf(resource, revived.object, bytes))
}

/** The deletion of an object: its last state, with the revision of the deletion. */
export function tombstoneOf(last: CachedRevision, revision: Revision): CachedRevision {
  const { uid, labels, fields, owners, terminating, revisionOffset, fault } = last
  const known = { uid, labels, fields, owners, terminating, revisionOffset }
  return new CachedRevision(
    last,
    revision,
    { json: fault === undefined ? undefined : NOTHING, ...known, ...(fault !== undefined && { fault }) },
    last,
  )
}

/** The bytes of an object, and the fields that selectors and indexes need. */
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
