/** Authentication: a chain of authenticators, tried one after the other, then the anonymous user. */
import type { Cancellation } from '../lib/cancellation.ts'
import type { SentHeaders } from '../lib/header-lines.ts'
import type { MaybePromise } from '../lib/maybe-promise.ts'
import type { Annotate } from '../schema/request-context.ts'
import type { User } from '../schema/user.ts'

/** The credentials of a request. */
export type Credentials = {
  readonly authorization: string | undefined
  readonly certificate: ClientCertificate | undefined
  /** The request itself, for authenticators that need its path or other headers. */
  readonly request?: SentHeaders & { readonly target: string }
}

/** The client certificate of a connection. */
export type ClientCertificate = {
  /** Whether it leads to a client certificate authority. */
  readonly trusted: boolean
  /** Why it does not. */
  readonly problem?: string
  /** Whether it leads to an authority of front proxies, which may name users in headers. */
  readonly isProxy?: boolean
  readonly commonName: string
  readonly organizations: readonly string[]
  /** Every uid attribute of the subject; more than one is an error. */
  readonly uids: readonly string[]
  /** The organizational units of its subject. */
  readonly units?: readonly string[]
  /** SHA-256 of its DER bytes, in lower-case hex. */
  readonly sha256: string
  /** Start and end of the validity of the whole chain, in milliseconds since the epoch. */
  readonly notBefore: number
  readonly notAfter: number
}

/** A request that may be cancelled while it waits. */
export type Cancellable = {
  readonly signal: Cancellation
  /** Adds an annotation to its audit event, where there is one. */
  readonly annotate?: Annotate | undefined
}

export type Authentication =
  | { readonly outcome: 'user'; readonly user: User }
  /** The request has no credentials of this type. */
  | { readonly outcome: 'none' }
  | { readonly outcome: 'invalid'; readonly reason: string }

export interface Authenticator {
  authenticate(credentials: Credentials, request: Cancellable): MaybePromise<Authentication>
}

const NONE: Authentication = { outcome: 'none' }
const AUTHENTICATED = 'system:authenticated'
const UNAUTHENTICATED = 'system:unauthenticated'

/** The extra attribute of a user that identifies the credential. */
export const CREDENTIAL_ID = 'authentication.kubernetes.io/credential-id'

const ANONYMOUS: User = Object.freeze({ name: 'system:anonymous', groups: Object.freeze([UNAUTHENTICATED]) })

/**
 * The first authenticator that identifies a user decides; invalid credentials fail a request only if no other authenticator accepts it. A
 * request without credentials is anonymous, where that is allowed.
 */
export class Authenticators implements Authenticator {
  readonly #chain: readonly Authenticator[]
  readonly #anonymous: Authentication
  readonly #anonymousPaths: ReadonlySet<string> | undefined
  // Authenticators return few, long-lived User objects; the copy with the group added is made once for each.
  readonly #known = new WeakMap<User, Authentication>()

  /** If `anonymousPaths` is set, anonymous requests are allowed only for these paths. */
  constructor(chain: readonly Authenticator[], options: { anonymous: boolean; anonymousPaths?: ReadonlySet<string> | undefined }) {
    this.#chain = chain
    this.#anonymousPaths = options.anonymousPaths
    this.#anonymous = options.anonymous ? { outcome: 'user', user: ANONYMOUS } : NONE
  }

  /** Synchronous unless an authenticator has to wait: certificates and known tokens are decided immediately. */
  authenticate(credentials: Credentials, request: Cancellable): MaybePromise<Authentication> {
    return this.#from(0, undefined, { credentials, request })
  }

  #from(start: number, earlier: Authentication | undefined, attempt: Attempt): MaybePromise<Authentication> {
    let invalid = earlier
    for (let at = start; at < this.#chain.length; at++) {
      const found = this.#chain[at]!.authenticate(attempt.credentials, attempt.request)
      if (found instanceof Promise)
        return found.then(settled => {
          if (settled.outcome === 'user') return this.#authenticated(settled.user)
          return this.#from(at + 1, invalid ?? (settled.outcome === 'invalid' ? settled : undefined), attempt)
        })
      if (found.outcome === 'user') return this.#authenticated(found.user)
      if (found.outcome === 'invalid') invalid ??= found
    }
    return invalid ?? (this.#anonymousPaths ? this.#anonymousAt(attempt.credentials, this.#anonymousPaths) : this.#anonymous)
  }

  #anonymousAt({ request }: Credentials, paths: ReadonlySet<string>): Authentication {
    const [path = ''] = request?.target.split('?', 1) ?? []
    return paths.has(path) ? this.#anonymous : NONE
  }

  #authenticated(user: User): Authentication {
    let known = this.#known.get(user)
    if (known === undefined) this.#known.set(user, (known = { outcome: 'user', user: authenticatedUser(user) }))
    return known
  }
}

type Attempt = { readonly credentials: Credentials; readonly request: Cancellable }

/** Adds the group of all authenticated users, unless the user is anonymous or already has one of both groups. */
export const authenticatedUser = (user: User): User =>
  user.name === ANONYMOUS.name || user.groups.includes(AUTHENTICATED) || user.groups.includes(UNAUTHENTICATED)
    ? user
    : { ...user, groups: [...user.groups, AUTHENTICATED] }
