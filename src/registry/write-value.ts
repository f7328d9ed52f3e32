/** One write on its way through the steps of `write.ts`, and the parts of those steps that the files of verbs define. */
import type { CachedRevision } from '../cache/cached-revision.ts'
import type { Fence } from '../lib/fence.ts'
import type { JsonObject } from '../lib/json-value.ts'
import type { Pace } from '../lib/pace.ts'
import type { Step } from '../lib/step.ts'
import { timestampOf } from '../lib/time.ts'
import type { AnyObject, ManagedFieldsEntry } from '../schema/object-meta.ts'
import type { Resource } from '../schema/resource.ts'
import type { Revision } from '../storage/store.ts'
import type { WriteAttributes } from './admission-attributes.ts'
import type { Reservation } from './allocations.ts'
import type { Body, Call, CallContext, Result } from './api.ts'
import type { Deps } from './deps.ts'
import type { WriteOptions } from './options.ts'
import type { Request } from './request.ts'

/** One write on its way through the steps. */
export type Write = {
  readonly deps: Deps
  readonly call: Call
  readonly ctx: CallContext
  readonly body: Body | undefined
  readonly pace: Pace
  readonly options: WriteOptions
  readonly change: Change
  /** The kind that the client sends and gets back: in the served version, or the Scale or message of a subresource. */
  readonly kind: Resource
  /** The resource and subresource that admission sees, where those are not the ones of the call. */
  readonly admittedAs: Pick<Call, 'resource' | 'subresource'> | undefined
  readonly warnings: string[]
  /** The time of the request, as objects have it. */
  readonly time: string
  /** The stored object, as the cache has it and decoded; undefined when the write creates, and for messages. */
  found: CachedRevision | undefined
  stored: AnyObject | undefined
  /** The stored object, as one of `kind`. */
  old: AnyObject | undefined
  /** The version of the next two: the served one, and from `toRulesVersion` or `toStoredVersion` on the stored one. */
  resource: Resource
  /** The stored object, and the one to store in its place. Until `toRulesVersion` the latter is of `kind`; deletes have none. */
  before: AnyObject | undefined
  object: AnyObject | undefined
  /** The managers of its fields, where decoding the body decides them, as for an apply. */
  managers: readonly ManagedFieldsEntry[] | undefined
  attributes: WriteAttributes | undefined
  /** Whether admission has replaced a custom object: fields that its schema does not know are still in it. */
  isUnpruned: boolean
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
  /** The object that admission relied on: the write is not stored, but begins again, when that has changed meanwhile. */
  needs: Fence | undefined
  /** The condition of a write that no longer holds. */
  outdated: Fence | undefined
}

export type Done = {
  readonly json: Uint8Array
  readonly object: AnyObject | undefined
  /** The revision that the bytes have, where they are those of the write's own object. */
  readonly revision?: Revision
}

/** Work of one step: nothing more where it ended at once. */
export type StepWork = Step<void> | void

/** The parts of the steps that a verb defines itself. Where it defines none, a step does the usual for an object. */
export interface Change {
  /** The effect: an object is created, changed, or either; deleted; or nothing is stored by the write itself, as for messages and connections. */
  readonly effect: 'create' | 'change' | 'either' | 'delete' | 'message' | 'connect'
  /** Writes that the server makes on behalf of one that was admitted are not admitted again. */
  readonly isAdmitted?: true
  /** The options of a delete, as admission sees them. */
  readonly deleteOptions?: JsonObject
  /** Sets `object` from the body, where it depends on the body alone. */
  readonly decode?: (write: Write) => StepWork
  /** Sets `object` from the body and the stored object, or checks conditions of the request on the stored object. */
  readonly merge?: (write: Write) => StepWork
  /** Makes an object of the resource out of one of `kind`, where those differ. */
  readonly convert?: (write: Write) => void
  /** The object that would be stored, as one of `kind`. */
  readonly show?: (write: Write) => AnyObject | undefined
  readonly validate?: (write: Write) => StepWork
  readonly store?: (write: Write) => StepWork
  /** Sets `result`. */
  readonly respond?: (write: Write) => StepWork
}

/** A write before its first step. */
export function newWrite(
  { deps, call, ctx, body, pace }: Request,
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
    body,
    pace,
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
    isUnpruned: false,
    reservation: undefined,
    unnamed: undefined,
    shown: undefined,
    done: undefined,
    result: undefined,
    storedAt: undefined,
    needs: undefined,
    outdated: undefined,
  }
}
