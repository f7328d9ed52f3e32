/** A write as admission sees it. */
import type { Cancellation } from '../lib/cancellation.ts'
import type { InParts } from '../lib/in-parts.ts'
import type { Json, JsonObject } from '../lib/json-value.ts'
import type { MaybePromise } from '../lib/maybe-promise.ts'
import type { AnyObject } from '../schema/object-meta.ts'
import type { RequestContext } from '../schema/request-context.ts'
import type { Resource } from '../schema/resource.ts'
import type { ResourceName } from './reader.ts'

/** The same value through `mutate` and `validate`, and made anew after a lost race. */
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
  /** The options of the request as an object of their kind: CreateOptions, UpdateOptions or DeleteOptions. A connect has none. */
  readonly options: JsonObject | undefined
  readonly dryRun: boolean
  readonly ctx: RequestContext
  /** Ends with the request: whoever waits for somebody else on its behalf need not wait longer. */
  readonly signal: Cancellation
  /** How long the request may still take; undefined where nothing bounds it. */
  readonly remainingMs: number | undefined
  /**
   * Reads a document, such as a patched object, as an object of `kind`: unknown fields are dropped, defaults are set. A document in
   * another served version of the resource is converted. Throws a StatusError.
   */
  decode(document: Json, version?: Resource): MaybePromise<AnyObject>
  /** An object of this resource in another served version. */
  convert(object: AnyObject, version: Resource): MaybePromise<AnyObject>
  /** Does work that may take long, such as to evaluate expressions, and lets other requests run between its parts. */
  runParts<R>(work: InParts<R>): MaybePromise<R>
  /** Adds a warning to the response. */
  warn(message: string): void
  /** Adds an annotation to the audit event of the request. */
  annotate(key: string, value: string): void
  /** The object is created only while another, which was read for it, is as it was then; otherwise admission begins again. */
  needs(resource: ResourceName, read: AnyObject): void
  /** Tells once, when this attempt at the write is over, whether it was stored. The response waits for whatever that leads to. */
  onEnd(listener: (isStored: boolean) => MaybePromise<void>): void
}
