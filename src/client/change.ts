/** Changes of objects as informers deliver them, and the keys of work queues. */
import type { AnyObject } from '../schema/object-meta.ts'
import type { ObjectRevision } from '../schema/object-revision.ts'

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
