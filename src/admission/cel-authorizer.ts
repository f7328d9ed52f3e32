/** Authorization as expressions ask for it. */
import type { CelAuthorizer } from '../cel/libraries/authorizer.ts'
import type { MaybePromise } from '../lib/maybe-promise.ts'
import type { Attributes, Decision } from '../schema/access.ts'
import type { User } from '../schema/user.ts'

/** Expressions do not wait: where an authorizer has to be waited for, they are told that it did not decide. */
export function celAuthorizer(authorize: (user: User, attributes: Attributes) => MaybePromise<Decision>): CelAuthorizer {
  return (user, access) => {
    const asker = {
      name: user.name,
      groups: user.groups,
      ...(user.uid && { uid: user.uid }),
      ...(user.extra && { extra: Object.fromEntries(user.extra) }),
    }
    const { verb } = access
    const attributes =
      access.kind === 'path'
        ? { verb, path: access.path }
        : {
            verb,
            path: '',
            resource: {
              group: access.group,
              version: '*',
              plural: access.resource,
              subresource: access.subresource,
              namespace: access.namespace,
              name: access.name,
              ...(access.fieldSelector && { fieldSelector: access.fieldSelector }),
            },
          }
    const decision = authorize(asker, attributes)
    if (decision instanceof Promise) return { allowed: false, reason: '', error: 'the authorizer has to be waited for' }
    return { allowed: decision.verdict === 'allow', reason: decision.reason ?? '' }
  }
}
