/** Changes of owner references and finalizers alone. */
import { deepEqual } from '../lib/json-value.ts'
import type { AnyObject } from '../schema/object-meta.ts'

/** Whether a change is one that the collection of garbage makes: owners and finalizers alone. */
export function onlyChangesOwnership(object: AnyObject, old: AnyObject): boolean {
  const rest = ({
    metadata: { ownerReferences: _, finalizers: __, selfLink: ___, managedFields: ____, ...metadata },
    ...fields
  }: AnyObject) => ({
    ...fields,
    metadata,
  })
  return deepEqual(rest(object), rest(old))
}
