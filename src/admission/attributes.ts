/** A write as admission sees it. */
import type { Cancellation } from '../lib/cancellation.ts'
import type { Json, JsonObject } from '../lib/json-value.ts'
import type { Step } from '../lib/step.ts'
import type { AnyObject } from '../schema/object-meta.ts'
import type { AnnotationLevel, RequestContext } from '../schema/request-context.ts'
import type { Resource } from '../schema/resource.ts'
import type { ResourceName } from './reader.ts'

/** The same value through `mutate` and `validate`, and made anew after a lost race. */
export interface Attributes {
  readonly operation: 'CREATE' | 'UPDATE' | 'DELETE' | 'CONNECT'
  /** The resource of the path, in the served version. */
  readonly resource: Resource
  /** Empty for the object itself. */
  readonly subresource: string
  /** The kind of `object` and `oldObject`: that of the resource, or that of the subresource, such as a Scale or an Eviction. */
  readonly kind: Resource
  readonly namespace: string
  /** Empty while mutating an object whose name is yet to be generated. */
  readonly name: string
  /** The verb of the request: an update comes as `update` or `patch`, and either may create. */
  readonly verb: string
  /** The name in the path; empty for requests to a collection. */
  readonly requestName: string
  /**
   * In the served version: the object of the client with defaults while mutating, the object to be stored while validating. Undefined
   * for deletes. Mutation may change it in place or replace it.
   */
  object: AnyObject | undefined
  /** The stored object, in the served version; not to be changed. Undefined for creates. */
  readonly oldObject: AnyObject | undefined
  /** The options of the request as an object of their kind: CreateOptions, UpdateOptions or DeleteOptions. A connect has none. */
  readonly options: JsonObject | undefined
  readonly dryRun: boolean
  readonly ctx: RequestContext
  /** Aborts when the request ends: nothing more has to be waited for on its behalf. */
  readonly signal: Cancellation
  /** How long the request may still take; undefined where nothing bounds it. */
  readonly remainingMs: number | undefined
  /**
   * Reads a patched document in a served version of the resource as an object of `kind`, with defaults. Unknown fields of built-in kinds
   * are dropped, those of custom kinds only when the object is stored. Throws a StatusError, UnreadableDocument or UnsuitableKind.
   */
  decode(document: Json, version: Resource, reading?: Reading): Step<AnyObject>
  /** An object of this resource in another served version. */
  convert(object: AnyObject, version: Resource): Step<AnyObject>
  /** Adds a warning to the response. */
  warn(message: string): void
  /** Adds an annotation to the audit event of the request. */
  annotate(key: string, value: string, level?: AnnotationLevel): void
  /** The object is created only while another, which was read for it, is as it was then; otherwise admission begins again. */
  needs(resource: ResourceName, read: AnyObject): void
  /** Calls the listener once, when this attempt at the write is over. The response waits for its work. */
  onEnd(listener: EndListener): void
}

/** How a document is read: `strict` refuses unknown fields; `merged` is one of the right kind by construction, merged as values. */
export type Reading = 'lenient' | 'strict' | 'merged'

/** A merged document that has no place in the Go type of its kind. */
export class UnreadableDocument extends Error {}

/** A patched document is of a kind that cannot be converted to that of the request. */
export class UnsuitableKind extends Error {
  /** Whether it is of another group or version. */
  readonly isOfOtherVersion: boolean
  /** The Go type of its kind, such as `v1.Deployment`. */
  readonly type: string

  constructor(message: string, { isOfOtherVersion, type }: { readonly isOfOtherVersion: boolean; readonly type: string }) {
    super(message)
    this.isOfOtherVersion = isOfOtherVersion
    this.type = type
  }
}

/** Whether a write was stored. One whose outcome is unknown has been stored, or still may be for some time on a store that is shared. */
export type Outcome = 'stored' | 'unknown' | 'not stored'

export type EndListener = (outcome: Outcome) => Step<void> | void
