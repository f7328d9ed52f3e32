/** Who sends a request: authenticators tried in turn, then the anonymous user. */
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
  authenticate(credentials: Credentials, request: Cancellable): Authentication | Promise<Authentication>
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

  async authenticate(credentials: Credentials, request: Cancellable): Promise<Authentication> {
    let invalid: Authentication | undefined
    for (const authenticator of this.#chain) {
      const answer = authenticator.authenticate(credentials, request)
      // Certificates and known tokens are decided at once; waiting all the same would cost every request a turn.
      const found = answer instanceof Promise ? await answer : answer
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

/** A user that is known is in the group of all that are. */
export const authenticatedUser = (user: User): User =>
  user.groups.includes(AUTHENTICATED) ? user : { ...user, groups: [...user.groups, AUTHENTICATED] }
