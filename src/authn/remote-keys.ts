/** The keys of an OpenID provider: found through its discovery document, fetched when needed, and refreshed when they rotate. */
import { createPublicKey, type KeyObject } from 'node:crypto'
import { goQuote } from '../lib/go-text.ts'
import { isObject, type JsonObject } from '../lib/json-value.ts'

export type Fetched = { readonly status: number; readonly cacheControl: string; readonly text: string }
/** Fetches a document; rejects on failure and timeout. */
export type Fetch = (url: string) => Promise<Fetched>

export type RemoteKey = { readonly id: string; readonly key: KeyObject }

/** The reason why there are no keys; clients may see the message. */
export class ProviderError extends Error {}

/** The minimum interval between two attempts: forged tokens must not cause requests to the provider. */
const MIN_INTERVAL_MS = 2000
const MAX_AGE_MS = 24 * 3600_000
const MAX_KEYS = 100

export type RemoteKeysParts = {
  readonly issuer: string
  readonly discoveryUrl?: string | undefined
  readonly fetch: Fetch
  readonly now: () => number
  /** Called with the document of the keys each time that it was fetched; without one, if it could not be. */
  readonly fetched?: ((keySet?: string) => void) | undefined
}

type Document = { readonly document: JsonObject; readonly text: string; readonly cacheControl: string }

export class RemoteKeys {
  readonly #parts: RemoteKeysParts
  #address: string | undefined
  #keys: readonly RemoteKey[] = []
  #expires = 0
  #lastTry = Number.NEGATIVE_INFINITY
  #failure: ProviderError | undefined
  #fetching: Promise<void> | undefined

  constructor(parts: RemoteKeysParts) {
    this.#parts = parts
  }

  /** Whether the provider has ever responded. */
  get isKnown(): boolean {
    return this.#address !== undefined
  }

  /** The keys of the last fetch. */
  get current(): readonly RemoteKey[] {
    return this.#keys
  }

  /** Fetches the keys again, unless they are still fresh or were fetched a moment ago. Throws ProviderError. */
  async refresh(): Promise<void> {
    const now = this.#parts.now()
    if (this.#address !== undefined && now < this.#expires) return
    if (!this.#fetching && now - this.#lastTry < MIN_INTERVAL_MS) {
      if (this.#failure) throw this.#failure
      return
    }
    // Concurrent callers wait for the same fetch.
    this.#fetching ??= this.#fetch(now).finally(() => (this.#fetching = undefined))
    await this.#fetching
  }

  async #fetch(now: number): Promise<void> {
    this.#lastTry = now
    this.#failure = undefined
    try {
      this.#address ??= await this.#discover()
      const { document, cacheControl } = await this.#getKeys(this.#address)
      this.#keys = readKeys(document)
      this.#expires = now + maxAge(cacheControl)
    } catch (error) {
      this.#failure = error instanceof ProviderError ? error : new ProviderError('oidc: the provider could not be asked')
      throw this.#failure
    }
  }

  async #getKeys(address: string): Promise<Document> {
    const { fetched } = this.#parts
    try {
      const found = await this.#get(address, 'oidc: get keys failed')
      fetched?.(found.text)
      return found
    } catch (error) {
      fetched?.()
      throw error
    }
  }

  async #discover(): Promise<string> {
    const { issuer, discoveryUrl = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration` } = this.#parts
    const { document } = await this.#get(discoveryUrl, 'oidc: discovery failed')
    const { issuer: named, jwks_uri: address } = document
    if (named !== issuer)
      throw new ProviderError(
        `oidc: issuer did not match the issuer returned by provider, expected ${goQuote(issuer)} got ${goQuote(String(named))}`,
      )
    if (typeof address !== 'string' || !URL.canParse(address)) throw new ProviderError('provider did not return JWKS URL')
    return address
  }

  async #get(url: string, failed: string): Promise<Document> {
    const { status, text, cacheControl } = await this.#parts.fetch(url).catch(error => {
      throw new ProviderError(`${failed} ${(error as Error).message}`)
    })
    if (status !== 200) throw new ProviderError(`${failed}: status ${status}`)
    try {
      const document: unknown = JSON.parse(text)
      if (isObject(document)) return { document, text, cacheControl }
    } catch {
      // Reported below, like any other response that is not an object.
    }
    throw new ProviderError(`${failed}: the answer is not a JSON object`)
  }
}

/** Keys that can verify signatures; others are skipped. */
function readKeys({ keys }: JsonObject): RemoteKey[] {
  if (!Array.isArray(keys)) throw new ProviderError('oidc: failed to decode keys: there are none')
  return keys.slice(0, MAX_KEYS).flatMap(jwk => {
    if (!isObject(jwk) || (jwk['use'] !== undefined && jwk['use'] !== 'sig')) return []
    try {
      const key = createPublicKey({ key: jwk, format: 'jwk' })
      return [{ id: typeof jwk['kid'] === 'string' ? jwk['kid'] : '', key }]
    } catch {
      return []
    }
  })
}

function maxAge(cacheControl: string): number {
  if (/\bno-(store|cache)\b/i.test(cacheControl)) return 0
  const [, seconds = '0'] = /\bmax-age=(\d{1,9})\b/i.exec(cacheControl) ?? []
  return Math.min(Number(seconds) * 1000, MAX_AGE_MS)
}
