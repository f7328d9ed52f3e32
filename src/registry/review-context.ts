/** The context of reviews, which may also ask about access. */
import type { ReviewContext } from '../schema/request-context.ts'
import { notImplemented } from '../schema/status-error.ts'
import type { Request } from './request.ts'

/** Throws where the server does not answer reviews. */
export function reviewContextOf({ deps: { access }, call: { resource, subresource }, ctx }: Request): ReviewContext {
  if (!access) throw notImplemented(`${resource.plural}${subresource && `/${subresource}`} is not answered by this server`)
  return {
    ...ctx,
    access,
    // The signal is made when it is first asked for.
    get signal() {
      return ctx.signal
    },
  }
}
