/** Authenticates ID tokens of an OpenID provider: claims name the user and the groups. */

import { createHash } from 'node:crypto'
import { goQuote } from '../lib/go-text.ts'
import { isObject, type Json, type JsonObject, jsonTypeName } from '../lib/json-value.ts'
import { LIMITS } from '../lib/limits.ts'
import type { TokenFinding } from '../schema/access.ts'
import type { User } from '../schema/user.ts'
import { CREDENTIAL_ID } from './authenticator.ts'
import { readUnverified, type UnverifiedToken } from './json-web-token.ts'
import { type Fetch, ProviderError, RemoteKeys } from './remote-keys.ts'
import { sharedAudiences, type TokenAuthenticator } from './token.ts'

export type OidcSettings = {
  readonly issuer: string
  /** The URL of the discovery document, where it is not below the issuer's own URL. */
  readonly discoveryUrl?: string
  /** The client ids, one of which must be an audience of a token. */
  readonly clientIds: readonly string[]
  readonly usernameClaim: string
  /** A prefix of every user name; may be empty. */
  readonly usernamePrefix: string
  /** The claim that names groups; empty for none. */
  readonly groupsClaim: string
  readonly groupsPrefix: string
  /** Claims that must have exactly this value. */
  readonly requiredClaims: ReadonlyMap<string, string>
  readonly signingAlgorithms: readonly string[]
  /** Maps claims to a user, where the settings above are not enough. Throws TokenError. */
  readonly mapUser?: (claims: JsonObject) => User
}

export type OidcParts = {
  readonly settings: OidcSettings
  /** The audiences of the server itself, for which such tokens are valid. */
  readonly audiences: readonly string[]
  readonly fetch: Fetch
  /** Called with the keys of the issuer when they were fetched; without them, if they could not be. */
  readonly fetched?: (keySet?: string) => void
  readonly now: () => number
}

/** Accepted signing algorithms: none for which a public key could be used as a shared secret. */
export const SIGNING_ALGORITHMS = ['RS256', 'RS384', 'RS512', 'ES256', 'ES384', 'ES512', 'PS256', 'PS384', 'PS512'] as const

/** Why a token is rejected. */
export class TokenError extends Error {}

const LEEWAY_MS = 60_000
/** How long a verified token is accepted without verifying it again. */
const REMEMBER_MS = 10_000

type Remembered = { readonly user: User; readonly until: number }

export class OidcAuthenticator implements TokenAuthenticator {
  readonly #parts: OidcParts
  readonly #keys: RemoteKeys
  readonly #remembered = new Map<string, Remembered>()

  constructor(parts: OidcParts) {
    this.#parts = parts
    this.#keys = new RemoteKeys({
      issuer: parts.settings.issuer,
      discoveryUrl: parts.settings.discoveryUrl,
      fetch: parts.fetch,
      fetched: parts.fetched,
      now: parts.now,
    })
  }

  /** Returns a promise only for tokens that were not verified a moment ago. */
  authenticate(token: string, wanted: readonly string[]): TokenFinding | Promise<TokenFinding> {
    const audiences = sharedAudiences(this.#parts.audiences, wanted)
    if (audiences.length === 0) return { outcome: 'none' }
    const key = createHash('sha256').update(token).digest('base64')
    const known = this.#remembered.get(key)
    if (known && this.#parts.now() < known.until) return { outcome: 'user', user: known.user, audiences }
    return this.#verify(token, key, audiences)
  }

  async #verify(token: string, key: string, audiences: readonly string[]): Promise<TokenFinding> {
    const unverified = readUnverified(token)
    if (!unverified || issuerOf(unverified.claims) !== this.#parts.settings.issuer) return { outcome: 'none' }
    try {
      const claims = await this.#claimsOf(token, unverified)
      const { settings } = this.#parts
      const user = settings.mapUser?.(claims) ?? userOf(claims, settings)
      this.#remember(key, user, Number(claims['exp']) * 1000)
      return { outcome: 'user', user, audiences }
    } catch (error) {
      if (error instanceof TokenError) return { outcome: 'invalid', reason: `oidc: ${error.message}` }
      throw error
    }
  }

  #remember(key: string, user: User, expires: number): void {
    this.#remembered.delete(key)
    this.#remembered.set(key, { user, until: Math.min(this.#parts.now() + REMEMBER_MS, expires) })
    if (this.#remembered.size > LIMITS.cachedTokens) this.#remembered.delete(this.#remembered.keys().next().value!)
  }

  /** The claims of a token that the provider has signed for one of our client ids and that is currently valid. */
  async #claimsOf(token: string, { header }: UnverifiedToken): Promise<JsonObject> {
    const { issuer, clientIds, signingAlgorithms: allowed } = this.#parts.settings
    const { alg, kid } = header
    const fail = (why: string) => new TokenError(`verify token: ${why}`)
    if (typeof alg !== 'string' || !allowed.includes(alg))
      throw fail(
        `oidc: id token signed with unsupported algorithm, expected [${allowed.map(goQuote).join(' ')}] got ${goQuote(String(alg ?? ''))}`,
      )
    const claims = await this.#signed(token, { alg, kid: typeof kid === 'string' ? kid : '' })
    if (issuerOf(claims) !== issuer)
      throw fail(`oidc: id token issued by a different provider, expected ${goQuote(issuer)} got ${goQuote(String(claims['iss'] ?? ''))}`)
    const meant = [claims['aud'] ?? []].flat().filter(audience => typeof audience === 'string')
    if (!clientIds.some(client => meant.includes(client)))
      throw fail(
        `oidc: expected audience ${clientIds.length === 1 ? goQuote(clientIds[0]!) : `in [${clientIds.map(goQuote).join(' ')}]`} got [${meant.map(goQuote).join(' ')}]`,
      )
    const now = this.#parts.now()
    const expires = seconds(claims['exp']) ?? 0
    if (expires * 1000 < now) throw fail(`oidc: token is expired (Token Expiry: ${goTime(expires)})`)
    const from = seconds(claims['nbf'])
    if (from !== undefined && now + LEEWAY_MS < from * 1000)
      throw fail(`oidc: current time ${goTime(Math.floor(now / 1000))} before the nbf (not before) time: ${goTime(from)}`)
    return claims
  }

  /** Tries the known keys, and once more with refreshed keys when none fits. */
  async #signed(token: string, { alg, kid }: { alg: string; kid: string }): Promise<JsonObject> {
    const known = await this.#tryKeys(token, { alg, kid })
    if (known) return known
    const wasKnown = this.#keys.isKnown
    try {
      await this.#keys.refresh()
    } catch (error) {
      if (!(error instanceof ProviderError)) throw error
      throw new TokenError(
        wasKnown ? `verify token: failed to verify signature: fetching keys ${error.message}` : 'authenticator not initialized',
      )
    }
    const found = await this.#tryKeys(token, { alg, kid })
    if (!found) throw new TokenError('verify token: failed to verify signature: failed to verify id token signature')
    return found
  }

  async #tryKeys(token: string, { alg, kid }: { alg: string; kid: string }): Promise<JsonObject | undefined> {
    const { compactVerify } = await import('jose/jws/compact/verify')
    for (const { id, key } of this.#keys.current) {
      if (kid !== '' && id !== kid) continue
      try {
        const { payload } = await compactVerify(token, key, { algorithms: [alg] })
        const claims: unknown = JSON.parse(Buffer.from(payload).toString('utf8'))
        if (isObject(claims)) return claims
      } catch {
        // Another key may fit.
      }
    }
    return undefined
  }
}

/** Google's issuer has two names. */
const issuerOf = ({ iss }: JsonObject) => (iss === 'accounts.google.com' ? 'https://accounts.google.com' : iss)

const seconds = (value: unknown): number | undefined => (typeof value === 'number' && Number.isFinite(value) ? value : undefined)
/** A time as Go prints it. */
const goTime = (unix: number) => {
  const moment = new Date(unix * 1000)
  return Number.isNaN(moment.getTime()) ? String(unix) : `${moment.toISOString().slice(0, 19).replace('T', ' ')} +0000 UTC`
}

/** The user of a verified token's claims; name and groups may be known already. Throws TokenError. */
export function userOf(claims: JsonObject, settings: OidcSettings, known?: Pick<User, 'name' | 'groups'>): User {
  const { groups, name } = known ?? { groups: groupsOf(claims, settings), name: nameOf(claims, settings) }
  for (const [claim, value] of settings.requiredClaims) {
    if (!Object.hasOwn(claims, claim)) throw new TokenError(`required claim ${claim} not present in ID token`)
    const found = stringOf(claims[claim]!, why => `parse claim ${claim}: ${why}`)
    if (found !== value) throw new TokenError(`required claim ${claim} value does not match. Got = ${found}, want = ${value}`)
  }
  const jti = claims['jti']
  const extra = typeof jti === 'string' && jti !== '' ? { [CREDENTIAL_ID]: [`JTI=${jti}`] } : undefined
  return { name, groups, ...(extra && { extra }) }
}

/** The user's name. Throws TokenError. */
export function nameOf(claims: JsonObject, { usernameClaim: claim, usernamePrefix }: OidcSettings): string {
  const parse = (why: string) => `parse username claims ${goQuote(claim)}: ${why}`
  const name = Object.hasOwn(claims, claim) ? stringOf(claims[claim]!, parse) : ''
  // All users without a name would be the same user.
  if (name === '') throw new TokenError(parse('claim not present'))
  if (claim === 'email' && Object.hasOwn(claims, 'email_verified')) {
    const verified = claims['email_verified']!
    if (typeof verified !== 'boolean') throw new TokenError(`parse 'email_verified' claim: ${mismatch(verified, 'bool')}`)
    if (!verified) throw new TokenError('email not verified')
  }
  return usernamePrefix + name
}

/** One group or a list of them. */
export function groupsOf(claims: JsonObject, { groupsClaim: claim, groupsPrefix }: OidcSettings): string[] {
  if (claim === '') return []
  if (!Object.hasOwn(claims, claim)) {
    const names = claims['_claim_names']
    if (isObject(names) && Object.hasOwn(names, claim))
      throw new TokenError('could not expand distributed claims: claims that lie elsewhere are not fetched by this server')
    return []
  }
  const value = claims[claim]!
  const parse = (why: string) => `parse groups claim ${goQuote(claim)}: ${why}`
  const groups = Array.isArray(value) ? value.map(group => stringOf(group, parse)) : value === null ? [] : [stringOf(value, parse)]
  return groups.map(group => groupsPrefix + group)
}

function stringOf(value: Json, explain: (why: string) => string): string {
  if (typeof value !== 'string') throw new TokenError(explain(mismatch(value, 'string')))
  return value
}

const mismatch = (value: Json, type: string) => `json: cannot unmarshal ${jsonTypeName(value)} into Go value of type ${type}`
