/** A signer of service account tokens outside of the server: the service v1.ExternalJWTSigner over gRPC on a Unix socket. */
import { createPublicKey } from 'node:crypto'
import { sleep } from '../lib/environment.ts'
import { goQuote } from '../lib/go-text.ts'
import { isObject, type JsonObject } from '../lib/json-value.ts'
import type { Method } from '../transport/grpc/connection.ts'
import { PluginConnection } from '../transport/grpc/plugin-connection.ts'
import { readFields, Writer } from '../transport/grpc/wire.ts'
import { type VerificationKey, verificationKey } from './verification-keys.ts'

const TIMEOUT_MS = 60_000
/** When keys are fetched again after a failure. */
const FALLBACK_REFRESH_MS = 10_000
const MAX_KEY_ID_BYTES = 1024
const ALGORITHMS: readonly unknown[] = ['RS256', 'ES256', 'ES384', 'ES512']

export type ExternalKey = VerificationKey & { readonly isPublished: boolean }

export type ExternalSignerOptions = {
  /** The path of the socket. */
  readonly path: string
  readonly signal: AbortSignal
  /** Called when keys could not be fetched again; those known before stay. */
  readonly onError: (error: unknown) => void
}

type FetchedKeys = { readonly keys: readonly ExternalKey[]; readonly refreshMs: number }

export class ExternalSigner {
  readonly #connection: PluginConnection
  /** The same list each time, with the current keys in it. */
  readonly keys: ExternalKey[] = []
  readonly published: ExternalKey[] = []
  #version = 0
  #fetching: Promise<number> | undefined
  /** The longest life of a token that the signer accepts. */
  readonly mostSeconds: number

  /** Waits for the signer, and fetches its keys. Throws an Error with the reason. */
  static async open({ path, signal, onError }: ExternalSignerOptions): Promise<ExternalSigner> {
    const connection = new PluginConnection({ name: 'the external signer', endpoint: `unix://${path}`, timeoutMs: TIMEOUT_MS })
    signal.addEventListener('abort', () => connection.close(), { once: true })
    const fetched = await fetchKeys(connection).catch(inSetup('while initially filling key cache: while performing initial cache fill'))
    const mostSeconds = await connection.call(METADATA, undefined).catch(inSetup(''))
    const signer = new ExternalSigner(connection, fetched.keys, mostSeconds)
    void signer.#refresh(fetched.refreshMs, signal, onError)
    return signer
  }

  private constructor(connection: PluginConnection, keys: readonly ExternalKey[], mostSeconds: number) {
    this.#connection = connection
    this.mostSeconds = mostSeconds
    this.#use(keys)
  }

  /** Throws an Error for signatures that this server would not accept. */
  async sign(claims: object): Promise<string> {
    const payload = Buffer.from(JSON.stringify(claims)).toString('base64url')
    const { header, signature } = await this.#connection.call(SIGN, payload).catch(explained('while signing jwt'))
    this.#checkHeader(header)
    if (signature === '') throw new Error('empty signature returned')
    return `${header}.${payload}.${signature}`
  }

  #checkHeader(text: string): void {
    const fail = (why: string) => new Error(`while validating header: ${why}`)
    const header = headerIn(text)
    if (!header || Object.keys(header).some(name => !['alg', 'kid', 'typ'].includes(name))) throw fail('while parsing header JSON')
    const { alg, kid, typ } = header
    if (typ !== 'JWT') throw fail('bad type')
    if (typeof kid !== 'string' || kid === '') throw fail('key id missing')
    if (Buffer.byteLength(kid) > MAX_KEY_ID_BYTES) throw fail('key id longer than 1 kb')
    if (!ALGORITHMS.includes(alg)) throw fail(`bad signing algorithm ${goQuote(String(alg ?? ''))}`)
    if (this.keys.some(key => key.id === kid && !key.isPublished))
      throw fail(`key used for signing JWT (kid: ${kid}) is excluded from OIDC discovery docs`)
  }

  get current(): readonly ExternalKey[] {
    return this.keys
  }
  /** Increases when a key is added or removed. */
  get version(): number {
    return this.#version
  }

  /** Fetches the keys now, once for all who ask at the same time; those known before stay if that fails. */
  async refresh(): Promise<void> {
    await this.#fetch().catch(() => {})
  }

  #fetch(): Promise<number> {
    const fetching = async () => {
      const { keys, refreshMs } = await fetchKeys(this.#connection)
      this.#use(keys)
      return refreshMs
    }
    this.#fetching ??= fetching().finally(() => (this.#fetching = undefined))
    return this.#fetching
  }

  #use(keys: readonly ExternalKey[]): void {
    const idsOf = (all: readonly ExternalKey[]) => all.map(({ id }) => id).join(' ')
    if (idsOf(keys) !== idsOf(this.keys)) this.#version++
    this.keys.splice(0, this.keys.length, ...keys)
    this.published.splice(0, this.published.length, ...keys.filter(({ isPublished }) => isPublished))
  }

  async #refresh(afterMs: number, signal: AbortSignal, onError: (error: unknown) => void): Promise<void> {
    for (let ms = afterMs; !signal.aborted; ) {
      await sleep(ms, { signal, ref: false }).catch(() => {})
      if (signal.aborted) return
      try {
        ms = await this.#fetch()
      } catch (error) {
        if (!signal.aborted) onError(error)
        ms = FALLBACK_REFRESH_MS
      }
    }
  }
}

const explained =
  (what: string) =>
  (error: unknown): never => {
    throw new Error(what === '' ? (error as Error).message : `${what}: ${(error as Error).message}`, { cause: error })
  }
const inSetup = (what: string) =>
  explained(what === '' ? 'while setting up external-jwt-signer' : `while setting up external-jwt-signer: ${what}`)

function headerIn(text: string): JsonObject | undefined {
  try {
    const header = JSON.parse(Buffer.from(text, 'base64url').toString())
    return isObject(header) ? header : undefined
  } catch {
    return undefined
  }
}

async function fetchKeys(connection: PluginConnection): Promise<FetchedKeys> {
  const { keys, refreshSeconds, hasTimestamp } = await connection
    .call(FETCH_KEYS, undefined)
    .catch(explained('while getting externally supported jwt signing keys'))
  if (refreshSeconds <= 0) throw new Error(`found invalid refresh hint (${refreshSeconds}s)`)
  if (keys.length === 0) throw new Error('found no keys')
  if (!hasTimestamp) throw new Error('invalid data timestamp: proto: invalid nil Timestamp')
  return { keys: keys.map(keyOf), refreshMs: Math.min(refreshSeconds * 1000, MAX_TIMER_MS) }
}
const MAX_TIMER_MS = 2 ** 31 - 1

type RawKey = { readonly id: string; readonly der: Buffer; readonly isExcluded: boolean }

function keyOf({ id, der, isExcluded }: RawKey): ExternalKey {
  if (id === '' || Buffer.byteLength(id) > MAX_KEY_ID_BYTES) throw new Error(`found invalid public key id ${goQuote(id)}`)
  try {
    return { ...verificationKey(createPublicKey({ key: der, format: 'der', type: 'spki' })), id, isPublished: !isExcluded }
  } catch (error) {
    throw new Error(`while parsing public key of ${goQuote(id)}: ${(error as Error).message}`)
  }
}

const writer = () => new Writer({ reserve: 5 })

const SIGN: Method<string, { readonly header: string; readonly signature: string }> = {
  path: '/v1.ExternalJWTSigner/Sign',
  write: claims => writer().text(1, claims),
  read(message) {
    let [header, signature] = ['', '']
    readFields(message, ({ field, bytes }) => {
      if (field === 1) header = bytes.toString()
      else if (field === 2) signature = bytes.toString()
    })
    return { header, signature }
  },
}

type KeysAnswer = { readonly keys: readonly RawKey[]; readonly refreshSeconds: number; readonly hasTimestamp: boolean }

const FETCH_KEYS: Method<undefined, KeysAnswer> = {
  path: '/v1.ExternalJWTSigner/FetchKeys',
  write: writer,
  read(message) {
    const keys: RawKey[] = []
    let [refreshSeconds, hasTimestamp] = [0, false]
    readFields(message, ({ field, number, bytes }) => {
      if (field === 1) keys.push(rawKeyIn(bytes))
      else if (field === 2) hasTimestamp = true
      else if (field === 3) refreshSeconds = number
    })
    return { keys, refreshSeconds, hasTimestamp }
  },
}

function rawKeyIn(message: Buffer): RawKey {
  let id = ''
  let der: Buffer = Buffer.alloc(0)
  let isExcluded = false
  readFields(message, ({ field, number, bytes }) => {
    if (field === 1) id = bytes.toString()
    else if (field === 2) der = Buffer.from(bytes)
    else if (field === 3) isExcluded = number !== 0
  })
  return { id, der, isExcluded }
}

const METADATA: Method<undefined, number> = {
  path: '/v1.ExternalJWTSigner/Metadata',
  write: writer,
  read(message) {
    let seconds = 0
    readFields(message, ({ field, number }) => {
      if (field === 1) seconds = number
    })
    return seconds
  },
}
