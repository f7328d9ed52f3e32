/** The reader of plugins: objects as they are stored. */
import type { AnyObject } from '../schema/object-meta.ts'

/** Names a resource; groups are those that are served, with their domain. */
export type ResourceName = { readonly group: string; readonly version: string; readonly plural: string }

export interface Reader {
  /** One object; without a namespace one of the cluster. */
  get(resource: ResourceName, name: string, namespace?: string): AnyObject | undefined
  /** All objects of a resource, or those of one namespace; none when it is not served. */
  list(resource: ResourceName, namespace?: string): readonly AnyObject[]
}
