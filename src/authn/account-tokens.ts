/** Tokens of service accounts: signed by this server, valid as long as their bound objects exist. */

import { createHash } from 'node:crypto'
import { goQuote } from '../lib/go-text.ts'
import type { Json, JsonObject } from '../lib/json-value.ts'
import { LIMITS } from '../lib/limits.ts'
import type { TokenClaims, TokenFinding } from '../schema/access.ts'
import type { AnyObject } from '../schema/object-meta.ts'
import type { User } from '../schema/user.ts'
import {
  accountOf,
  ClaimError,
  checkBound,
  checkLegacy,
  type FindBound,
  LEGACY_ISSUER,
  legacyAccountOf,
  legacyClaims,
} from './account-claims.ts'
import type { Cancellable } from './authenticator.ts'
import { readUnverified, SignatureError, verifySignature } from './json-web-token.ts'
import { sharedAudiences, type TokenAuthenticator } from './token.ts'
import type { VerificationKey } from './verification-keys.ts'

export type AccountTokensParts = {
  /** The accepted issuers; tokens are signed in the name of the first. */
  readonly issuers: readonly string[]
  readonly sign: (claims: JsonObject) => Promise<string>
  /** Accepted public keys, that of the signing key among them. */
  readonly keys: AcceptedKeys
  /** The audiences of the server itself. */
  readonly audiences: readonly string[]
  readonly find: FindBound
  readonly now: () => number
  readonly newId: () => string
  /** Whether tokens may be bound to webhook configurations. */
  readonly mayBindWebhooks: boolean
  /** Called with the Secret of a legacy token, at every use. */
  readonly onLegacyUse?: (secret: AnyObject) => void
}

/** The keys that tokens are verified with. Those of an external signer change. */
export type AcceptedKeys = {
  readonly current: readonly VerificationKey[]
  /** Increases when a key is added or removed. */
  readonly version?: number
  /** Looks for keys that are not known yet. */
  readonly refresh?: () => Promise<void>
}

/** A token with a valid signature. Its claims are checked at every use. */
type Verified = { readonly user: User; readonly audiences: readonly string[]; readonly check: (request: Audited) => void }
type Audited = Pick<Cancellable, 'annotate'>

export class AccountTokens implements TokenAuthenticator {
  readonly #parts: AccountTokensParts
  readonly #issuers: ReadonlySet<string>
  // Keyed by hash, so that tokens are not kept in memory and the time of a lookup reveals nothing; the least recently used is evicted
  // first.
  readonly #verified = new Map<string, Verified>()
  #version: number | undefined

  constructor(parts: AccountTokensParts) {
    this.#parts = parts
    this.#issuers = new Set([...parts.issuers, LEGACY_ISSUER])
  }

  /** Returns a promise only for tokens that have not been verified before. */
  authenticate(token: string, wanted: readonly string[], request: Audited = {}): TokenFinding | Promise<TokenFinding> {
    const { version } = this.#parts.keys
    if (version !== this.#version) this.#verified.clear()
    this.#version = version
    const key = createHash('sha256').update(token).digest('base64')
    const verified = this.#verified.get(key)
    if (!verified) return this.#verify(token, key, { wanted, request })
    this.#remember(key, verified)
    return decide(verified, wanted, request)
  }

  async #verify(token: string, key: string, { wanted, request }: { wanted: readonly string[]; request: Audited }): Promise<TokenFinding> {
    const unverified = readUnverified(token)
    const issuer = unverified?.claims['iss']
    if (!unverified || typeof issuer !== 'string' || !this.#issuers.has(issuer)) return { outcome: 'none' }
    const { kid } = unverified.header
    try {
      const claims = await verifySignature(token, await this.#keysOf(kid))
      const verified = claims['iss'] === issuer ? this.#readClaims(token, claims) : undefined
      if (!verified) return { outcome: 'none' }
      this.#remember(key, verified)
      return decide(verified, wanted, request)
    } catch (error) {
      return refused(error)
    }
  }

  async #keysOf(kid: unknown): Promise<readonly VerificationKey[]> {
    const { keys } = this.#parts
    if (typeof kid !== 'string' || kid === '') return keys.current
    const named = () => keys.current.filter(({ id }) => id === kid)
    if (keys.refresh && named().length === 0) await keys.refresh()
    return named()
  }

  #readClaims(token: string, claims: JsonObject): Verified {
    const { audiences, find, now, mayBindWebhooks, onLegacyUse } = this.#parts
    const isLegacy = claims['iss'] === LEGACY_ISSUER && claims['kubernetes.io'] === undefined
    if (!isLegacy) {
      const check: Verified['check'] = ({ annotate }) => checkBound(claims, { now: now(), find, annotate, mayBindWebhooks })
      return { user: accountOf(claims), audiences: audiencesOf(claims, audiences), check }
    }
    const legacy = legacyClaims(claims)
    // The closure keeps the token: the Secret holds it anyway, and it is compared with that at every use.
    const check: Verified['check'] = ({ annotate }) => {
      if (claims['aud'] === undefined) annotate?.(LEGACY_TOKEN, legacy.subject)
      onLegacyUse?.(checkLegacy(token, legacy, { find, annotate }))
    }
    return { user: legacyAccountOf(legacy), audiences: audiencesOf(claims, audiences), check }
  }

  #remember(key: string, verified: Verified): void {
    this.#verified.delete(key)
    this.#verified.set(key, verified)
    if (this.#verified.size > LIMITS.cachedTokens) this.#verified.delete(this.#verified.keys().next().value!)
  }

  /** Signs a token that this server accepts. */
  issue({ subject, audiences, issued: iat, seconds, bound }: TokenClaims): Promise<string> {
    const { issuers, sign, newId } = this.#parts
    const claims = { iss: issuers[0]!, sub: subject, aud: [...audiences], iat, nbf: iat, exp: iat + seconds, jti: newId() }
    return sign({ ...claims, 'kubernetes.io': bound as Json })
  }

  /** Signs a token that is kept in a Secret and valid as long as that exists. */
  issueLegacy(account: AnyObject, secret: AnyObject): Promise<string> {
    const { namespace = '', name = '', uid = '' } = account.metadata
    return this.#parts.sign({
      iss: LEGACY_ISSUER,
      sub: `system:serviceaccount:${namespace}:${name}`,
      'kubernetes.io/serviceaccount/namespace': namespace,
      'kubernetes.io/serviceaccount/secret.name': secret.metadata.name ?? '',
      'kubernetes.io/serviceaccount/service-account.name': name,
      'kubernetes.io/serviceaccount/service-account.uid': uid,
    })
  }
}

const LEGACY_TOKEN = 'authentication.k8s.io/legacy-token'

/** Tokens without an audience are for the server itself. */
function audiencesOf({ aud }: JsonObject, own: readonly string[]): readonly string[] {
  const named = (Array.isArray(aud) ? aud : [aud]).filter(audience => typeof audience === 'string')
  return named.length === 0 ? own : named
}

function decide({ user, audiences: meant, check }: Verified, wanted: readonly string[], request: Audited): TokenFinding {
  const audiences = sharedAudiences(meant, wanted)
  if (audiences.length === 0) {
    const quoted = (list: readonly string[]) => `[${list.map(a => goQuote(a)).join(' ')}]`
    return { outcome: 'invalid', reason: `token audiences ${quoted(meant)} is invalid for the target audiences ${quoted(wanted)}` }
  }
  try {
    check(request)
  } catch (error) {
    return refused(error)
  }
  return { outcome: 'user', user, audiences }
}

function refused(error: unknown): TokenFinding {
  if (error instanceof ClaimError || error instanceof SignatureError) return { outcome: 'invalid', reason: error.message }
  throw error
}
