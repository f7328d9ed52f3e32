/** Authenticates bootstrap tokens: the Secret named after the token gives the user and the expiry. */
import { createHash, timingSafeEqual } from 'node:crypto'
import {
  readToken,
  TOKEN_NAMESPACE,
  TOKEN_PREFIX,
  TOKEN_TYPE,
  TOKEN_USER,
  tokenExpiry,
  tokenGroups,
  tokenValue,
} from '../lib/bootstrap-token.ts'
import type { TokenFinding } from '../schema/access.ts'
import type { AnyObject } from '../schema/object-meta.ts'
import { sharedAudiences, type TokenAuthenticator } from './token.ts'

export type BootstrapTokenParts = {
  /** Finds a Secret by name. */
  readonly find: (namespace: string, name: string) => AnyObject | undefined
  /** Tokens have no audiences of their own: they are valid for those of the server. */
  readonly audiences: readonly string[]
  readonly now: () => number
}

const NONE: TokenFinding = { outcome: 'none' }

export class BootstrapTokens implements TokenAuthenticator {
  readonly #parts: BootstrapTokenParts

  constructor(parts: BootstrapTokenParts) {
    this.#parts = parts
  }

  authenticate(token: string, wanted: readonly string[]): TokenFinding {
    const { find, now } = this.#parts
    const parts = readToken(token)
    const audiences = sharedAudiences(this.#parts.audiences, wanted)
    const secret = parts && audiences.length > 0 ? find(TOKEN_NAMESPACE, TOKEN_PREFIX + parts.id) : undefined
    if (!parts || !secret || secret.metadata.deletionTimestamp || secret['type'] !== TOKEN_TYPE) return NONE
    const data = secret['data']
    if (!isSame(tokenValue(data, 'token-secret'), parts.secret) || tokenValue(data, 'token-id') !== parts.id) return NONE
    if ((tokenExpiry(data) ?? Number.POSITIVE_INFINITY) <= now() || tokenValue(data, 'usage-bootstrap-authentication') !== 'true')
      return NONE
    const groups = tokenGroups(data)
    return groups ? { outcome: 'user', user: { name: TOKEN_USER + parts.id, groups }, audiences } : NONE
  }
}

/** Compares hashes, so that the time does not reveal how much of a guess was right. */
const isSame = (a: string, b: string) => timingSafeEqual(createHash('sha256').update(a).digest(), createHash('sha256').update(b).digest())
