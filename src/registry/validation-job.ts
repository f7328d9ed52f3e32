/**
 * The validation of one object as a job that a worker can do: what it needs is plain data, and so is what comes of it. Objects whose
 * rules take long, such as definitions full of expressions, are validated like that (`ruleWork` of their kind says which).
 */
import { parseObject } from '../codec/stored-bytes.ts'
import type { Cancellation } from '../lib/cancellation.ts'
import type { InParts } from '../lib/in-parts.ts'
import { doAtOnce } from '../lib/in-parts.ts'
import { Budget } from '../schema/budget.ts'
import type { AnyObject } from '../schema/object-meta.ts'
import type { RequestContext } from '../schema/request-context.ts'
import type { Resource } from '../schema/resource.ts'
import { type StatusDetails, StatusError } from '../schema/status-error.ts'
import type { User } from '../schema/user.ts'
import { targetOf, validateCreate, validateUpdate, warningsOf } from './strategy.ts'

export type ValidationJob = {
  readonly apiVersion: string
  readonly kind: string
  /** What is to be stored, and what is; as JSON. */
  readonly object: Uint8Array
  readonly old: Uint8Array | undefined
  readonly user: User
  readonly now: Date
}

/** What the writer is warned of, or why the object is refused. */
export type Validated =
  | { readonly outcome: 'valid'; readonly warnings: readonly string[] }
  | {
      readonly outcome: 'refused'
      readonly code: number
      readonly reason: string
      readonly message: string
      readonly details?: StatusDetails | undefined
    }

/** Validates objects away from the main thread. */
export interface Validator {
  /** Rejects with a StatusError when too many objects of the user wait, and with the signal's reason when that aborts. */
  validate(job: ValidationJob, options: { readonly user: string; readonly signal: Cancellation }): Promise<Validated>
}

export type Validation = {
  readonly resource: Resource
  readonly subresource: string
  readonly object: AnyObject
  readonly old: AnyObject | undefined
  readonly ctx: RequestContext
}

/** Everything wrong with an object, thrown as one answer; the warnings about one with which nothing is. Stops between kinds of rules. */
export function* validating({ resource, subresource, object, old, ctx }: Validation): InParts<readonly string[]> {
  if (old) yield* validateUpdate(targetOf(resource, subresource), object, old, ctx)
  else yield* validateCreate(resource, object, ctx)
  return resource.def.warn ? warningsOf(resource, object, old, ctx) : []
}

/** Does a job: what the same object would be answered with on the main thread. */
export function validateJob(
  { object, old, user, now }: ValidationJob,
  { resource, groupDomain, gate }: { readonly resource: Resource } & Pick<RequestContext, 'groupDomain' | 'gate'>,
): Validated {
  const ctx: RequestContext = { user, now, groupDomain, gate, budget: new Budget() }
  const objects = { object: parseObject(object), old: old && parseObject(old) }
  try {
    for (const _ of resource.def.compiling?.(objects.object, objects.old, ctx) ?? []);
    return { outcome: 'valid', warnings: doAtOnce(validating({ resource, subresource: '', ...objects, ctx })) }
  } catch (error) {
    if (!(error instanceof StatusError)) throw error
    const { code, reason, message, details } = error
    return { outcome: 'refused', code, reason, message, details }
  }
}
