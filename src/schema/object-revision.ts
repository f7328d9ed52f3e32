/** An object as of a revision, as readers of the cache and handlers of informers get it. */
import type { AnyObject } from './object-meta.ts'
import type { Resource } from './resource.ts'

/** Whatever selectors and indexes need is at hand; the object itself is decoded on first use, once for everybody. */
export interface ObjectRevision<O = AnyObject> {
  /** The storage key: unique across all resources. */
  readonly key: string
  readonly namespace: string
  readonly name: string
  /** Empty when the stored record cannot be read. */
  readonly uid: string
  readonly revision: number
  readonly labels: Readonly<Record<string, string>>
  /** The selectable fields of the kind. */
  readonly fields: Readonly<Record<string, string>>
  /** The uids in its owner references. */
  readonly owners: readonly string[]
  /** Whether it has a deletionTimestamp. */
  readonly terminating: boolean
  /** Whether the stored record is not what a write of the same object would store. */
  readonly stale: boolean
  /** Whether this is the last state of a deleted object. */
  readonly deleted: boolean
  /** Undefined when the stored record cannot be read. Shared: nobody may change it. */
  readonly object: O | undefined
  /** The object as JSON, its resourceVersion inside; empty when the stored record cannot be read. */
  readonly json: Uint8Array
}

/** Receives every change of every resource, in order and before the write is answered. It must be quick and must not throw. */
export interface Observer {
  /** A revision has become the current one of its object; `previous` is the one that it replaced, if any. */
  changed(resource: Resource, current: ObjectRevision, previous: ObjectRevision | undefined): void
  /** The objects of a resource can be read from now on, or by another schema than before. */
  joined(resource: Resource): void
}
