/** Who sends a request: authenticators tried in turn, then the anonymous user. */
import type { MaybePromise } from '../lib/maybe-promise.ts'
import type { User } from '../schema/kind.ts'
import type { ClientCertificate } from './certificate.ts'

/** All that a request can prove itself with. */
export type Credentials = {
  readonly authorization: string | undefined
  readonly certificate: ClientCertificate | undefined
}

/** What may be given up while it is waited for. Its signal is made when asked for: most requests never need one. */
export type Cancellable = { readonly signal: AbortSignal }

export type Authentication =
  | { readonly outcome: 'user'; readonly user: User }
  /** No credentials of this kind. */
  | { readonly outcome: 'none' }
  | { readonly outcome: 'invalid'; readonly reason: string }

export interface Authenticator {
  authenticate(credentials: Credentials, request: Cancellable): MaybePromise<Authentication>
}

const NONE: Authentication = { outcome: 'none' }
const AUTHENTICATED = 'system:authenticated'

export const ANONYMOUS: User = Object.freeze({ name: 'system:anonymous', groups: Object.freeze(['system:unauthenticated']) })

/**
 * The first authenticator that knows the user decides; bad credentials fail only when no other kind is good. Without any
 * credentials the request is anonymous, where that is allowed.
 */
export class Authenticators implements Authenticator {
  readonly #chain: readonly Authenticator[]
  readonly #anonymous: Authentication
  // Users come out of their sources as few, long-lived objects; the copy with the group added is made once for each.
  readonly #known = new WeakMap<User, Authentication>()

  constructor(chain: readonly Authenticator[], options: { anonymous: boolean }) {
    this.#chain = chain
    this.#anonymous = options.anonymous ? { outcome: 'user', user: ANONYMOUS } : NONE
  }

  /** Not a promise when no kind has to wait: certificates and known tokens are decided at once. */
  authenticate(credentials: Credentials, request: Cancellable): MaybePromise<Authentication> {
    return this.#from(0, undefined, { credentials, request })
  }

  #from(start: number, earlier: Authentication | undefined, asked: Asked): MaybePromise<Authentication> {
    let invalid = earlier
    for (let at = start; at < this.#chain.length; at++) {
      const found = this.#chain[at]!.authenticate(asked.credentials, asked.request)
      if (found instanceof Promise)
        return found.then(settled => {
          if (settled.outcome === 'user') return this.#authenticated(settled.user)
          return this.#from(at + 1, invalid ?? (settled.outcome === 'invalid' ? settled : undefined), asked)
        })
      if (found.outcome === 'user') return this.#authenticated(found.user)
      if (found.outcome === 'invalid') invalid ??= found
    }
    return invalid ?? this.#anonymous
  }

  #authenticated(user: User): Authentication {
    let known = this.#known.get(user)
    if (known === undefined) this.#known.set(user, (known = { outcome: 'user', user: authenticatedUser(user) }))
    return known
  }
}

type Asked = { readonly credentials: Credentials; readonly request: Cancellable }

/** A user that is known is in the group of all that are. */
export const authenticatedUser = (user: User): User =>
  user.groups.includes(AUTHENTICATED) ? user : { ...user, groups: [...user.groups, AUTHENTICATED] }
