/** Authenticates tokens by webhook: it receives a TokenReview, and its response is cached for a while. */

import { createHash } from 'node:crypto'
import { ExpiringMap } from '../lib/expiring-map.ts'
import { LIMITS } from '../lib/limits.ts'
import type { TokenFinding } from '../schema/access.ts'
import type { User } from '../schema/user.ts'
import type { AnswerFields } from '../transport/answer-fields.ts'
import { type Review, ReviewError } from '../transport/review-call.ts'
import { sharedAudiences, type TokenAuthenticator } from './token.ts'

export type TokenWebhookParts = {
  /** The API version of reviews. */
  readonly version: 'v1' | 'v1beta1'
  /** How long responses are cached; failures are not. */
  readonly cacheMs: number
  /** The audiences of the server itself, which apply when a webhook names none. */
  readonly audiences: readonly string[]
  /** Sends a review; resolves with its status, or rejects with ReviewError. */
  readonly post: <T>(review: Review<T>) => Promise<T>
  readonly now: () => number
  readonly warn: (message: string) => void
}

export class TokenWebhook implements TokenAuthenticator {
  readonly #parts: TokenWebhookParts
  readonly #known: ExpiringMap<string, TokenFinding>
  readonly #asking = new Map<string, Promise<TokenFinding>>()

  constructor(parts: TokenWebhookParts) {
    this.#parts = parts
    this.#known = new ExpiringMap(LIMITS.cachedTokens, parts.now)
  }

  /** Returns a promise only for tokens that are not in the cache. Requests with the same token share one review. */
  authenticate(token: string, wanted: readonly string[]): TokenFinding | Promise<TokenFinding> {
    const key = createHash('sha256')
      .update(JSON.stringify([token, wanted]))
      .digest('base64')
    const known = this.#known.get(key) ?? this.#asking.get(key)
    if (known) return known
    const asked = this.#ask(token, wanted, key).finally(() => this.#asking.delete(key))
    this.#asking.set(key, asked)
    return asked
  }

  async #ask(token: string, wanted: readonly string[], key: string): Promise<TokenFinding> {
    const { version, post, audiences: own, cacheMs, warn } = this.#parts
    let status: Status
    try {
      status = await post({
        kind: 'TokenReview',
        body: {
          apiVersion: `authentication.k8s.io/${version}`,
          metadata: {},
          spec: { token, ...(wanted.length > 0 && { audiences: [...wanted] }) },
          status: { user: {} },
        },
        read: statusOf,
      })
    } catch (error) {
      if (!(error instanceof ReviewError)) throw error
      warn(`the webhook that knows tokens could not be asked: ${error.message}`)
      return { outcome: 'invalid', reason: error.message }
    }
    const { authenticated, error, user } = status
    const audiences = sharedAudiences(status.audiences.length > 0 ? status.audiences : own, wanted)
    if (audiences.length > 0 && !authenticated && error !== '') return { outcome: 'invalid', reason: error }
    const found: TokenFinding = audiences.length > 0 && authenticated ? { outcome: 'user', user, audiences } : { outcome: 'none' }
    this.#known.set(key, found, cacheMs)
    return found
  }
}

type Status = { readonly authenticated: boolean; readonly user: User; readonly audiences: readonly string[]; readonly error: string }

const statusOf = (status: AnswerFields): Status => ({
  authenticated: status.bool('authenticated'),
  user: userOf(status.struct('user', 'UserInfo')),
  audiences: status.texts('audiences'),
  error: status.text('error'),
})

function userOf(user: AnswerFields): User {
  const [uid, extra] = [user.text('uid'), user.textsMap('extra')]
  return {
    name: user.text('username'),
    groups: user.texts('groups'),
    ...(uid !== '' && { uid }),
    ...(Object.keys(extra).length > 0 && { extra }),
  }
}
