/** What may change or reject a write after it is decoded and before it is stored. */
import type { Json, JsonObject } from '../lib/json-value.ts'
import type { AnyObject } from '../schema/object-meta.ts'
import type { RequestContext } from '../schema/request-context.ts'
import type { Resource } from '../schema/resource.ts'

/** One write as admission sees it: the same value through `mutate` and `validate`, and made anew after a lost race. */
export interface Attributes {
  readonly operation: 'CREATE' | 'UPDATE' | 'DELETE' | 'CONNECT'
  /** The resource of the path, in the served version. */
  readonly resource: Resource
  /** Empty for the object itself. */
  readonly subresource: string
  /** What `object` and `oldObject` are: the resource's own kind, or what the subresource takes, such as a Scale or an Eviction. */
  readonly kind: Resource
  readonly namespace: string
  /** Empty while mutating an object whose name is yet to be generated. */
  readonly name: string
  /** The verb of the request: an update may be asked for as `update` or `patch`, and either may create. */
  readonly verb: string
  /** The name in the path; empty for what is sent to a collection. */
  readonly requestName: string
  /**
   * In the served version: while mutating what the client wants, with defaults; while validating what would be stored. Undefined
   * for deletes. Mutation may change it in place or put another in its place.
   */
  object: AnyObject | undefined
  /** What is stored, in the served version; not to be changed. Undefined for creates. */
  readonly oldObject: AnyObject | undefined
  /** The options of the request as an object of their kind: CreateOptions, UpdateOptions, PatchOptions or DeleteOptions. */
  readonly options: JsonObject
  readonly dryRun: boolean
  readonly ctx: RequestContext
  /** Reads a document, such as a patched object, as an object of `kind`: unknown fields are dropped, defaults are set. Throws a StatusError. */
  decode(document: Json): AnyObject
  /** Adds a warning to the response. */
  warn(message: string): void
}

export interface Plugin {
  readonly name: string
  /** May change `attributes.object`, or reject by throwing a StatusError. Runs before the object is prepared and validated. */
  readonly mutate?: (attributes: Attributes) => void | Promise<void>
  /** May reject by throwing a StatusError. Runs on exactly what would be stored. */
  readonly validate?: (attributes: Attributes) => void | Promise<void>
}

/** Everything that has a say in a write. Returns a promise only when something has to be waited for. */
export interface Admission {
  mutate(attributes: Attributes): void | Promise<void>
  validate(attributes: Attributes): void | Promise<void>
}

/** The plugins one after the other, each seeing what the ones before it changed. */
export function pluginChain(plugins: readonly Plugin[]): Admission {
  const mutating = plugins.filter(plugin => plugin.mutate)
  const validating = plugins.filter(plugin => plugin.validate)
  return {
    mutate: attributes => runFrom(mutating, 'mutate', attributes, 0),
    validate: attributes => runFrom(validating, 'validate', attributes, 0),
  }
}

function runFrom(plugins: readonly Plugin[], step: 'mutate' | 'validate', attributes: Attributes, from: number): void | Promise<void> {
  for (let i = from; i < plugins.length; i++) {
    const waiting = plugins[i]![step]!(attributes)
    if (waiting) return waiting.then(() => runFrom(plugins, step, attributes, i + 1))
  }
}
