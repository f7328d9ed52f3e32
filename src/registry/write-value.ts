/** The value that a write is while it goes through the steps of `write.ts`, and what the file of a verb says about its steps. */
import type { ObjectRevision } from '../cache/object-revision.ts'
import type { JsonObject } from '../lib/json-value.ts'
import type { MaybePromise } from '../lib/maybe-promise.ts'
import { timestampOf } from '../lib/time.ts'
import type { AnyObject, ManagedFieldsEntry } from '../schema/object-meta.ts'
import type { Resource } from '../schema/resource.ts'
import type { Fence, Revision } from '../storage/store.ts'
import type { WriteAttributes } from './admission-attributes.ts'
import type { Reservation } from './allocations.ts'
import type { Call, CallContext, Result } from './api.ts'
import type { Deps } from './deps.ts'
import type { WriteOptions } from './options.ts'

/** One write on its way through the steps. */
export type Write = {
  readonly deps: Deps
  readonly call: Call
  readonly ctx: CallContext
  readonly options: WriteOptions
  readonly change: Change
  /** What the client sends and is answered with: the kind in the served version, or the Scale or message of a subresource. */
  readonly kind: Resource
  /** The resource and subresource that admission sees, where those are not the ones of the call. */
  readonly admittedAs: Pick<Call, 'resource' | 'subresource'> | undefined
  readonly warnings: string[]
  /** When the request was made, as objects have it. */
  readonly time: string
  /** What is stored, as the cache has it and decoded; undefined when the write creates, and for messages. */
  found: ObjectRevision | undefined
  stored: AnyObject | undefined
  /** What is stored, as an object of `kind`. */
  old: AnyObject | undefined
  /** The version in which the next two are: the served one, and from `toRulesVersion` or `toStoredVersion` on the stored one. */
  resource: Resource
  /** What is stored, and what is to be stored. Until `toRulesVersion` the latter is an object of `kind`; deletes have none. */
  before: AnyObject | undefined
  object: AnyObject | undefined
  /** Who owns which fields then, where decoding the body decides it, as for an apply. */
  managers: readonly ManagedFieldsEntry[] | undefined
  attributes: WriteAttributes | undefined
  reservation: Reservation | undefined
  /** The object as it was before it got a generated name. */
  unnamed: { readonly object: AnyObject; readonly resource: Resource } | undefined
  /** The object in the served version as admission was shown it, where that is not the stored version. */
  shown: AnyObject | undefined
  /** The result of storing it: the bytes to answer with and the object as stored, undefined when that removed it. */
  done: Done | undefined
  result: Result | undefined
  /** The revision at which it was stored; undefined when there was nothing to store. */
  storedAt: Revision | undefined
  /** What admission relied on: the write is not stored, but begins again, when that has changed meanwhile. */
  needs: Fence | undefined
  /** Whether it has. */
  isOutdated: boolean
  /** Whether a worker has validated the object. */
  isValidated: boolean
  /** When it last let other requests run, on the clock of `performance.now`. */
  yieldedAt: number
}

export type Done = {
  readonly json: Uint8Array
  readonly object: AnyObject | undefined
  /** The revision that the bytes have, where they are those of the write's own object. */
  readonly revision?: Revision
}

/** What a verb does differently in a step. Where it defines nothing, the step does what is usual for an object. */
export interface Change {
  /** Whether the write creates an object, changes one, or either; deletes one; or stores nothing itself, as messages and connections. */
  readonly does: 'create' | 'change' | 'either' | 'delete' | 'message' | 'connect'
  /** Writes that the server makes on behalf of one that was admitted are not admitted again. */
  readonly isAdmitted?: true
  /** The options of a delete, as admission sees them. */
  readonly deleteOptions?: JsonObject
  /** Sets `object` from the body, where the body alone says what it is. */
  readonly decode?: (write: Write) => MaybePromise<void>
  /** Sets `object` from the body and what is stored, or checks what the request says about what is stored. */
  readonly merge?: (write: Write) => MaybePromise<void>
  /** Makes an object out of an object of `kind`, where that is something else. */
  readonly convert?: (write: Write) => void
  /** The object that would be stored, as one of `kind`. */
  readonly show?: (write: Write) => AnyObject | undefined
  readonly validate?: (write: Write) => MaybePromise<void>
  readonly store?: (write: Write) => MaybePromise<void>
  /** Sets `result`. */
  readonly respond?: (write: Write) => MaybePromise<void>
}

/** A write before its first step. */
export function newWrite(
  { deps, call, ctx }: { readonly deps: Deps; readonly call: Call; readonly ctx: CallContext },
  {
    options,
    change,
    kind = call.resource,
    admittedAs,
  }: { readonly options: WriteOptions; readonly change: Change; readonly kind?: Resource; readonly admittedAs?: Write['admittedAs'] },
): Write {
  return {
    deps,
    call,
    ctx,
    options,
    change,
    kind,
    admittedAs,
    warnings: [],
    time: timestampOf(ctx.now),
    found: undefined,
    stored: undefined,
    old: undefined,
    resource: call.resource,
    before: undefined,
    object: undefined,
    managers: undefined,
    attributes: undefined,
    reservation: undefined,
    unnamed: undefined,
    shown: undefined,
    done: undefined,
    result: undefined,
    storedAt: undefined,
    needs: undefined,
    isOutdated: false,
    isValidated: false,
    yieldedAt: 0,
  }
}
