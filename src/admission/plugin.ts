/** What may change or refuse a write after it is decoded and before it is stored. */

import type { AnyObject } from '../schema/object-meta.ts'
import type { RequestContext } from '../schema/request-context.ts'
import type { Resource } from '../schema/resource.ts'

export type Attributes = {
  readonly operation: 'CREATE' | 'UPDATE' | 'DELETE' | 'CONNECT'
  readonly resource: Resource
  readonly subresource: string
  readonly namespace: string
  readonly name: string
  /** How an update is asked for: `update` or `patch`. */
  readonly verb?: string
  /** The name in the path of a create; without it, the create was sent to the collection. */
  readonly requestName?: string
  /** The object as it would be stored; undefined for deletes. */
  readonly object: AnyObject | undefined
  readonly old: AnyObject | undefined
  readonly dryRun: boolean
  readonly ctx: RequestContext
}

export interface Plugin {
  readonly name: string
  /** May change `attributes.object`, or refuse by throwing a StatusError. Runs before defaults are final and validation. */
  readonly mutate?: (attributes: Attributes) => void | Promise<void>
  /** May refuse by throwing a StatusError. Runs on exactly what would be stored. */
  readonly validate?: (attributes: Attributes) => void | Promise<void>
}

/** Runs one step of every plugin, in order. Returns a promise only when a plugin does. */
export function admit(plugins: readonly Plugin[], step: 'mutate' | 'validate', attributes: Attributes): void | Promise<void> {
  for (const [i, plugin] of plugins.entries()) {
    const waiting = plugin[step]?.(attributes)
    if (waiting) return waiting.then(() => admit(plugins.slice(i + 1), step, attributes))
  }
}
