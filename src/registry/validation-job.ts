/**
 * The validation of one object as a job that a worker can do: job and outcome are plain data. Objects whose rules take long, such as
 * definitions full of expressions, are validated like that (`ruleWork` of their kind tells which).
 */
import { parseObject } from '../codec/stored-bytes.ts'
import { finish, type Step } from '../lib/step.ts'
import type { JobOptions } from '../lib/worker-pool.ts'
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
  /** The new and the stored object, as JSON. */
  readonly object: Uint8Array
  readonly old: Uint8Array | undefined
  readonly user: User
  readonly now: Date
}

/** The warnings about an object, or the reason why it is refused. */
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
  validate(job: ValidationJob, options: JobOptions): Promise<Validated>
}

export type Validation = {
  readonly resource: Resource
  readonly subresource: string
  readonly object: AnyObject
  readonly old: AnyObject | undefined
  readonly ctx: RequestContext
}

/** Throws all errors of an object as one; returns the warnings about a valid object. */
export function* validateObject({ resource, subresource, object, old, ctx }: Validation): Step<readonly string[]> {
  const target = targetOf(resource, subresource)
  if (old) yield* validateUpdate(target, object, old, ctx)
  else yield* validateCreate(resource, object, ctx)
  return warningsOf(target, object, old, ctx)
}

/** Does a job, with the same outcome as on the main thread. */
export function validateJob(
  { object, old, user, now }: ValidationJob,
  { resource, groupDomain, gate }: { readonly resource: Resource } & Pick<RequestContext, 'groupDomain' | 'gate'>,
): Validated {
  const ctx: RequestContext = { user, now, groupDomain, gate, budget: new Budget() }
  const objects = { object: parseObject(object), old: old && parseObject(old) }
  try {
    return { outcome: 'valid', warnings: finish(validateObject({ resource, subresource: '', ...objects, ctx })) }
  } catch (error) {
    if (!(error instanceof StatusError)) throw error
    const { code, reason, message, details } = error
    return { outcome: 'refused', code, reason, message, details }
  }
}
