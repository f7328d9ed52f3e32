/** What may change or reject a write after it is decoded and before it is stored. */
import type { Json, JsonObject } from '../lib/json-value.ts'
import { type MaybePromise, whenDone } from '../lib/maybe-promise.ts'
import type { AnyObject } from '../schema/object-meta.ts'
import type { RequestContext } from '../schema/request-context.ts'
import type { Resource } from '../schema/resource.ts'
import { Reinvocation } from './reinvocation.ts'

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
  /** The options of the request as an object of their kind: CreateOptions, UpdateOptions or DeleteOptions. */
  readonly options: JsonObject
  readonly dryRun: boolean
  readonly ctx: RequestContext
  /** Ends with the request: whoever waits for somebody else on its behalf need not wait longer. */
  readonly signal: AbortSignal
  /**
   * Reads a document, such as a patched object, as an object of `kind`: unknown fields are dropped, defaults are set. A document in
   * another served version of the resource is converted. Throws a StatusError.
   */
  decode(document: Json, version?: Resource): MaybePromise<AnyObject>
  /** An object of this resource in another served version. */
  convert(object: AnyObject, version: Resource): MaybePromise<AnyObject>
  /** Adds a warning to the response. */
  warn(message: string): void
  /** Adds an annotation to the audit event of the request. */
  annotate(key: string, value: string): void
  /** Tells once, when this attempt at the write is over, whether it was stored. The response waits for whatever that leads to. */
  onEnd(listener: (isStored: boolean) => MaybePromise<void>): void
}

export interface Plugin {
  readonly name: string
  /**
   * May change `attributes.object`, or reject by throwing a StatusError. Runs before the object is prepared and validated, and a second
   * time when a policy or webhook that came after it changed the object.
   */
  readonly mutate?: (attributes: Attributes, reinvocation: Reinvocation) => MaybePromise<void>
  /** May reject by throwing a StatusError. Runs on exactly what would be stored. */
  readonly validate?: (attributes: Attributes) => MaybePromise<void>
}

/** Everything that has a say in a write. Returns a promise only when something has to be waited for. */
export interface Admission {
  mutate(attributes: Attributes): MaybePromise<void>
  validate(attributes: Attributes): MaybePromise<void>
}

/** The plugins one after the other, each seeing what the ones before it changed. */
export function pluginChain(plugins: readonly Plugin[]): Admission {
  const mutating = plugins.filter(plugin => plugin.mutate)
  const validating = plugins.filter(plugin => plugin.validate)
  return {
    mutate(attributes) {
      const reinvocation = new Reinvocation()
      const runAll = () => runFrom(mutating, 0, plugin => plugin.mutate!(attributes, reinvocation))
      return whenDone(runAll(), () => (reinvocation.startSecond() ? runAll() : undefined))
    },
    validate: attributes => runFrom(validating, 0, plugin => plugin.validate!(attributes)),
  }
}

function runFrom(plugins: readonly Plugin[], from: number, run: (plugin: Plugin) => MaybePromise<void>): MaybePromise<void> {
  for (let i = from; i < plugins.length; i++) {
    const waiting = run(plugins[i]!)
    if (waiting) return waiting.then(() => runFrom(plugins, i + 1, run))
  }
}
