/** Delete: one object, at once or when its grace period and finalizers allow it. */
import { type Step, waitFor } from '../lib/step.ts'
import { forbiddenRequest } from '../schema/status-error.ts'
import type { Result } from './api.ts'
import { readDeleteOptions, removeObject } from './removal.ts'
import type { Request } from './request.ts'

export function* remove(request: Request): Step<Result> {
  const options = readDeleteOptions(request)
  if (options.ignoreReadErrors) yield* authorizeUnsafe(request)
  return yield* removeObject(request, { options })
}

/** The permission to delete objects does not include those whose finalizers and owners cannot be read. */
function* authorizeUnsafe({ call: { resource, name }, ctx }: Request): Step<void> {
  const reason = ctx.reasonAgainst && (yield* waitFor(ctx.reasonAgainst(UNSAFE_VERB)))
  if (reason !== undefined) throw forbiddenRequest(resource, name, `not permitted to do "${UNSAFE_VERB}", reason: ${reason}`)
}
const UNSAFE_VERB = 'unsafe-delete-ignore-read-errors'
