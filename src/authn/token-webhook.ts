/** Users by token, as a webhook says: it is sent a TokenReview, and what it says is remembered for a while. */
import { createHash } from 'node:crypto'
import { ExpiringMap } from '../lib/expiring-map.ts'
import { isObject, type Json, type JsonObject } from '../lib/json-value.ts'
import { ReviewError } from '../lib/review-call.ts'
import type { TokenFinding } from '../schema/access.ts'
import type { User } from '../schema/user.ts'
import { sharedAudiences, type TokenAuthenticator } from './token.ts'

export type TokenWebhookParts = {
  /** The API version of reviews. */
  readonly version: 'v1' | 'v1beta1'
  /** How long answers are remembered; failures to ask are not. */
  readonly cacheMs: number
  /** The audiences of the server itself, which a webhook that names none means. */
  readonly audiences: readonly string[]
  /** Sends a review; resolves with its status, or rejects with ReviewError. */
  readonly post: (review: JsonObject) => Promise<JsonObject>
  readonly now: () => number
  readonly warn: (message: string) => void
}

const REMEMBERED = 4096

export class TokenWebhook implements TokenAuthenticator {
  readonly #parts: TokenWebhookParts
  readonly #known: ExpiringMap<string, TokenFinding>
  readonly #asking = new Map<string, Promise<TokenFinding>>()

  constructor(parts: TokenWebhookParts) {
    this.#parts = parts
    this.#known = new ExpiringMap(REMEMBERED, parts.now)
  }

  /** Not a promise for tokens that were asked about a moment ago. Requests with the same token share one question. */
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
    let status: JsonObject
    try {
      status = await post({
        kind: 'TokenReview',
        apiVersion: `authentication.k8s.io/${version}`,
        metadata: {},
        spec: { token, ...(wanted.length > 0 && { audiences: [...wanted] }) },
        status: { user: {} },
      })
    } catch (error) {
      if (!(error instanceof ReviewError)) throw error
      warn(`the webhook that knows tokens could not be asked: ${error.message}`)
      return { outcome: 'invalid', reason: error.message }
    }
    const meant = textsOf(status['audiences'])
    const audiences = sharedAudiences(meant.length > 0 ? meant : own, wanted)
    const { error } = status
    if (audiences.length > 0 && status['authenticated'] !== true && typeof error === 'string' && error !== '')
      return { outcome: 'invalid', reason: error }
    const found: TokenFinding =
      audiences.length > 0 && status['authenticated'] === true
        ? { outcome: 'user', user: userOf(status['user']), audiences }
        : { outcome: 'none' }
    this.#known.set(key, found, cacheMs)
    return found
  }
}

function userOf(user: Json | undefined): User {
  const { username, uid, groups, extra } = isObject(user) ? user : {}
  const pairs = isObject(extra) ? Object.entries(extra).map(([key, values]) => [key, textsOf(values)] as const) : []
  return {
    name: typeof username === 'string' ? username : '',
    groups: textsOf(groups),
    ...(typeof uid === 'string' && uid !== '' && { uid }),
    ...(pairs.length > 0 && { extra: Object.fromEntries(pairs) }),
  }
}

const textsOf = (values: Json | undefined): string[] =>
  Array.isArray(values) ? values.filter((value): value is string => typeof value === 'string') : []
