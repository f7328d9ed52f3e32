/**
 * One KMS plugin, as kube-apiserver uses it. The plugin encrypts a random seed, from which this server derives a key for each record, and
 * is asked every minute for its health and the id of its key:
 *
 *     Status ─→ the same key id ─→ the seed may be written with for three minutes more
 *            ─→ another key id ─→ Encrypt of a new seed, with which records are written from then on; those of others are stale
 *            ─→ no answer      ─→ asked every ten seconds; when the three minutes are over writes fail, reads go on
 *
 * A record carries its encrypted seed. Records of unknown seeds wait for Decrypt; a seed is never forgotten, as there are few of them: one
 * for each key id and start of a server.
 */
import { randomBytes, randomUUID } from 'node:crypto'
import { aggregate, goQuote } from '../../lib/go-text.ts'
import type { MaybePromise } from '../../lib/maybe-promise.ts'
import { timestampOf } from '../../lib/time.ts'
import { PluginError } from '../../transport/grpc/plugin-connection.ts'
import { AesGcm, ExtendedNonceGcm, SEED_BYTES } from '../aes.ts'
import { hashLabel, type TransformationMetrics } from '../metrics.ts'
import type { TransformContext, Transformed, Transformer } from '../transformer.ts'
import {
  checkDekSource,
  type DekSource,
  decodeEncryptedObject,
  encodeEncryptedObject,
  keyIdProblem,
  SEED,
  sourceKey,
} from './encrypted-object.ts'
import type { KmsPlugin } from './kms-plugin.ts'
import type { KmsService, KmsStatus } from './kms-service.ts'
import { type Checked, KMS_TIMES, type KmsTimes, PluginHealth } from './plugin-health.ts'

export type KmsProviderOptions = {
  readonly name: string
  readonly service: KmsService
  readonly metrics: TransformationMetrics
  readonly now?: () => number
  readonly times?: KmsTimes
  /** Called when records that could not be decrypted before may be decrypted now. */
  readonly onReadable: () => void
}

type State = {
  readonly transformer: Transformer
  readonly source: DekSource
  readonly sourceKey: string
  readonly expiresAt: number
}

export class KmsProvider implements Transformer, KmsPlugin {
  readonly #options: KmsProviderOptions
  readonly #now: () => number
  readonly #times: KmsTimes
  /** Transformers by the key of their source; a promise while the plugin decrypts it. */
  readonly #known = new Map<string, MaybePromise<Transformer>>()
  #state: State | undefined
  #version = ''
  readonly #health: PluginHealth
  /** The plugin did not answer; reads that need it fail at once for a moment instead of each waiting for it. */
  #silent: { readonly error: Error; readonly until: number } | undefined

  constructor(options: KmsProviderOptions) {
    this.#options = options
    this.#now = options.now ?? Date.now
    this.#times = options.times ?? KMS_TIMES
    this.#health = new PluginHealth({ ask: () => this.#ask(), onReadable: options.onReadable, now: this.#now, times: this.#times })
  }

  start(): Promise<void> {
    return this.#health.start()
  }

  check(): Promise<string | undefined> {
    return this.#health.check()
  }

  close(): void {
    this.#health.close()
    this.#options.service.close()
  }

  toStorage(data: Uint8Array, context: TransformContext): Uint8Array {
    const state = this.#currentState()
    const now = this.#now()
    if (now > state.expiresAt)
      throw new Error(
        `encryptedDEKSource with keyID hash ${goQuote(hashLabel(state.source.keyId))} expired at ${timestampOf(state.expiresAt)} (current time is ${timestampOf(now)})`,
      )
    this.#keep(state.sourceKey, state.transformer)
    const encrypted = state.transformer.toStorage(data, context)
    this.#options.metrics.usedKeyId('to_storage', this.#options.name, state.source.keyId)
    return encodeEncryptedObject({ ...state.source, data: encrypted })
  }

  fromStorage(stored: Uint8Array, context: TransformContext): MaybePromise<Transformed> {
    const { data, ...source } = decodeEncryptedObject(stored)
    let state: State
    try {
      state = this.#currentState()
    } catch (error) {
      this.#health.noteFailedRead()
      throw error
    }
    const isStale = source.keyId !== state.source.keyId || source.type !== state.source.type
    const decrypt = (transformer: Transformer): MaybePromise<Transformed> => {
      this.#options.metrics.usedKeyId('from_storage', this.#options.name, source.keyId)
      const transformed = transformer.fromStorage(data, context) as Transformed
      return { data: transformed.data, isStale }
    }
    const key = sourceKey(source)
    const known = this.#known.get(key) ?? this.#decrypted(key, source)
    return known instanceof Promise ? known.then(decrypt) : decrypt(known)
  }

  /** Asks the plugin for a seed or key; whoever needs the same one meanwhile waits for the same answer. */
  #decrypted(key: string, { encryptedDekSource, keyId, annotations, type }: DekSource): MaybePromise<Transformer> {
    const { service, metrics } = this.#options
    metrics.cacheMissed()
    if (this.#silent && this.#now() < this.#silent.until) {
      this.#health.noteFailedRead()
      throw this.#silent.error
    }
    // A copy: the source is a part of the record.
    const ciphertext = Buffer.from(encryptedDekSource)
    const asking = service.decrypt({ ciphertext, uid: randomUUID(), keyId, annotations }).then(
      plain => {
        const transformer = type === SEED ? new ExtendedNonceGcm(plain) : aesGcmOf(plain)
        this.#keep(key, transformer)
        return transformer
      },
      error => {
        const failure = new Error(`failed to decrypt DEK, error: ${(error as Error).message}`, { cause: error })
        if (error instanceof PluginError && SILENT.has(error.code))
          this.#silent = { error: failure, until: this.#now() + this.#times.badForMs }
        throw failure
      },
    )
    this.#known.set(key, asking)
    asking.catch(() => {
      this.#health.noteFailedRead()
      this.#known.delete(key)
    })
    return asking
  }

  #keep(key: string, transformer: Transformer): void {
    if (this.#known.get(key) === transformer) return
    this.#known.set(key, transformer)
    this.#options.metrics.cacheSize(this.#options.name, this.#known.size)
  }

  async #ask(): Promise<Checked> {
    const { name, service } = this.#options
    let status: KmsStatus
    try {
      status = await service.status()
    } catch (error) {
      const { message } = error as Error
      return {
        problem: `failed to perform status section of the healthz check for KMS Provider ${name}, error: ${message}`,
        repeated: message,
      }
    }
    const problem = await this.#problemOf(status)
    this.#silent = undefined
    return { problem }
  }

  /** Takes in the plugin's status; returns the problem with it. */
  async #problemOf({ healthz, version, keyId }: KmsStatus): Promise<string | undefined> {
    const { name, metrics } = this.#options
    const problems: string[] = []
    if (healthz !== 'ok') problems.push(`got unexpected healthz status: ${healthz}`)
    if (version !== 'v2' && version !== 'v2beta1') problems.push(`expected KMSv2 API version v2, got ${version}`)
    else {
      if (this.#version === '') this.#version = version
      if (this.#version !== version)
        problems.push(`KMSv2 API version should not change after the initial status response version ${this.#version}, got ${version}`)
    }
    const wrong = keyIdProblem(keyId)
    if (wrong) {
      metrics.invalidKeyId(name, wrong.type)
      problems.push(`got invalid KMSv2 KeyID hash ${goQuote(hashLabel(keyId))}: ${wrong.message}`)
    } else {
      metrics.statusKeyId(name, keyId)
      const failure = await this.#rotate(keyId)
      if (failure !== undefined) problems.push(failure)
    }
    return problems.length === 0 ? undefined : `kmsv2 Provider ${name} is not healthy, error: ${aggregate(problems)}`
  }

  /** Makes a new seed if the plugin uses another key than for the last one. When that fails, the last one stays in use until it expires. */
  async #rotate(keyId: string): Promise<string | undefined> {
    const { service, metrics } = this.#options
    const state = this.#state
    // The time begins before the plugin is called, as it is the longest that writes may go on.
    const expiresAt = this.#now() + this.#times.writableMs
    if (state && state.source.keyId === keyId) {
      this.#state = { ...state, expiresAt }
      return undefined
    }
    const uid = randomUUID()
    let encryptedWith = ''
    let failure = '<nil>'
    try {
      const began = performance.now()
      const seed = randomBytes(SEED_BYTES)
      metrics.keyGenerated(began)
      const { ciphertext, ...answer } = await service.encrypt(uid, seed).catch(error => {
        throw new Error(`failed to encrypt DEK, error: ${(error as Error).message}`)
      })
      const source: DekSource = { ...answer, encryptedDekSource: ciphertext, type: SEED }
      checkDekSource(source)
      encryptedWith = source.keyId
      if (encryptedWith === keyId) {
        this.#state = { transformer: new ExtendedNonceGcm(seed), source, sourceKey: sourceKey(source), expiresAt }
        return undefined
      }
    } catch (error) {
      failure = (error as Error).message
    }
    const stateError = state ? '<nil>' : UNPRIMED
    const hashes = `statusKeyIDHash=${goQuote(hashLabel(keyId))}, encryptKeyIDHash=${goQuote(hashLabel(encryptedWith))}, stateKeyIDHash=${goQuote(hashLabel(state?.source.keyId ?? ''))}`
    const expiration = state ? timestampOf(state.expiresAt) : '0001-01-01T00:00:00Z'
    return `failed to rotate DEK uid=${goQuote(uid)}, useSeed=true, errState=${stateError}, errGen=${failure}, ${hashes}, expirationTimestamp=${expiration}`
  }

  #currentState(): State {
    if (!this.#state) throw new Error(UNPRIMED)
    return this.#state
  }
}
/** The words of kube-apiserver for a plugin that has never been healthy. */
const UNPRIMED = 'got unexpected nil transformer'

/** Codes of gRPC for a plugin that is not there or does not answer. */
const SILENT: ReadonlySet<number> = new Set([4, 14])

const AES_KEY_BYTES: readonly number[] = [16, 24, 32]
function aesGcmOf(key: Uint8Array): AesGcm {
  if (!AES_KEY_BYTES.includes(key.length)) throw new Error(`crypto/aes: invalid key size ${key.length}`)
  return new AesGcm(key)
}
