/** An object as of a revision, the way informers deliver it. */
import type { AnyObject } from '../schema/object-meta.ts'

/** What objects are selected and indexed by is at hand; the object itself is decoded when it is first asked for, once for everybody. */
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
  /** Whether its deletion has been asked for. */
  readonly terminating: boolean
  /** Whether the stored record is not what a write of the same object would store. */
  readonly stale: boolean
  /** Of a deletion this is the last state. */
  readonly deleted: boolean
  /** Undefined when the stored record cannot be read. Shared: nobody may change it. */
  readonly object: O | undefined
  /** The object as JSON, its resourceVersion inside; empty when the stored record cannot be read. */
  readonly json: Uint8Array
}

export type ChangeType = 'added' | 'updated' | 'deleted'

/** One change of one object. `previous` is what it replaced, while that is known. */
export type Change<O = AnyObject> = {
  readonly type: ChangeType
  readonly current: ObjectRevision<O>
  readonly previous: ObjectRevision<O> | undefined
}

/** The name of an object inside its resource. */
export type Named = { readonly namespace?: string; readonly name?: string }

/** `NAMESPACE/NAME`, or `NAME` for objects of the cluster: the usual key of a work queue. */
export const queueKey = ({ namespace = '', name = '' }: Named): string => (namespace === '' ? name : `${namespace}/${name}`)

/** The name that `queueKey` wrote. */
export function namedBy(key: string): { readonly namespace: string; readonly name: string } {
  const slash = key.indexOf('/')
  return slash < 0 ? { namespace: '', name: key } : { namespace: key.slice(0, slash), name: key.slice(slash + 1) }
}
