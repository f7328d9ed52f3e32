/** Bearer tokens: the chain of token authenticators, and the token of a request. */
import { LIMITS } from '../lib/limits.ts'
import type { TokenFinding } from '../schema/access.ts'
import type { Authentication, Authenticator, Cancellable, Credentials } from './authenticator.ts'

export interface TokenAuthenticator {
  /** The user of the token, if it is valid for one of the audiences. `none` when it is not a token of this type. */
  authenticate(token: string, audiences: readonly string[], request: Cancellable): TokenFinding | Promise<TokenFinding>
}

const INVALID = 'invalid bearer token'

/** The first authenticator that identifies the user decides. */
export class TokenChain implements TokenAuthenticator {
  readonly #chain: readonly TokenAuthenticator[]

  constructor(chain: readonly TokenAuthenticator[]) {
    this.#chain = chain
  }

  /** Synchronous unless an authenticator has to wait: most tokens have been verified before. */
  authenticate(token: string, audiences: readonly string[], request: Cancellable): TokenFinding | Promise<TokenFinding> {
    if (token.length > LIMITS.tokenLength) return { outcome: 'invalid', reason: INVALID }
    return this.#from(0, [INVALID], { token, audiences, request })
  }

  #from(start: number, reasons: string[], attempt: TokenAttempt): TokenFinding | Promise<TokenFinding> {
    for (let at = start; at < this.#chain.length; at++) {
      const found = this.#chain[at]!.authenticate(attempt.token, attempt.audiences, attempt.request)
      if (found instanceof Promise)
        return found.then(settled => {
          if (settled.outcome === 'user') return settled
          return this.#from(at + 1, withReason(reasons, settled), attempt)
        })
      if (found.outcome === 'user') return found
      withReason(reasons, found)
    }
    return { outcome: 'invalid', reason: reasons.length === 1 ? INVALID : `[${reasons.join(', ')}]` }
  }
}

type TokenAttempt = { readonly token: string; readonly audiences: readonly string[]; readonly request: Cancellable }

function withReason(reasons: string[], found: TokenFinding): string[] {
  if (found.outcome === 'invalid' && !reasons.includes(found.reason)) reasons.push(found.reason)
  return reasons
}

/** Authenticates the bearer token of the Authorization header, for the audiences of the server itself. */
export class BearerAuthenticator implements Authenticator {
  readonly #tokens: TokenAuthenticator
  readonly #audiences: readonly string[]

  constructor(tokens: TokenAuthenticator, audiences: readonly string[]) {
    this.#tokens = tokens
    this.#audiences = audiences
  }

  authenticate({ authorization }: Credentials, request: Cancellable): Authentication | Promise<Authentication> {
    const token = bearerToken(authorization)
    return token === undefined ? { outcome: 'none' } : this.#tokens.authenticate(token, this.#audiences, request)
  }
}

/** The token of an `Authorization: Bearer` header; undefined for any other header. */
export function bearerToken(authorization: string | undefined): string | undefined {
  if (authorization === undefined) return undefined
  const [scheme = '', token = ''] = authorization.trim().split(' ', 3)
  return scheme.toLowerCase() === 'bearer' && token !== '' ? token : undefined
}

/** The requested audiences that a token is valid for, in the requested order. */
export const sharedAudiences = (meant: readonly string[], wanted: readonly string[]): readonly string[] =>
  wanted.filter(audience => meant.includes(audience))
