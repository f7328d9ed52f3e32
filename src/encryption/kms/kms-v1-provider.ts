/**
 * One KMS plugin of the first version. Each record carries the key that it is encrypted with, encrypted by the plugin:
 *
 *     length of the encrypted key, 2 bytes | encrypted key | AES-GCM of the record
 *
 * Writes do not wait for the plugin, as they do in kube-apiserver: the key of the next write is encrypted ahead. While the plugin has not
 * answered yet the last key is used again; once it has failed, writes fail until it answers.
 */
import { randomBytes } from 'node:crypto'
import { aggregate } from '../../lib/go-text.ts'
import { LruCache } from '../../lib/lru-cache.ts'
import type { MaybePromise } from '../../lib/maybe-promise.ts'
import { AesCbc, AesGcm } from '../aes.ts'
import type { TransformationMetrics } from '../metrics.ts'
import type { TransformContext, Transformed, Transformer } from '../transformer.ts'
import type { KmsPlugin } from './kms-plugin.ts'
import type { KmsV1Service } from './kms-v1-service.ts'
import { type Checked, KMS_TIMES, type KmsTimes, PluginHealth } from './plugin-health.ts'

export type KmsV1ProviderOptions = {
  readonly name: string
  readonly service: KmsV1Service
  readonly metrics: TransformationMetrics
  /** How many keys are remembered; negative for none. */
  readonly cacheSize: number
  readonly now?: () => number
  readonly times?: KmsTimes
  /** Called when records that could not be decrypted before may be decrypted now. */
  readonly onReadable: () => void
}

const KEY_BYTES = 32
const LENGTH_BYTES = 2
const PING = Buffer.from('ping')

type Key = { readonly head: Buffer; readonly transformer: Transformer }

export class KmsV1Provider implements Transformer, KmsPlugin {
  readonly #options: KmsV1ProviderOptions
  readonly #health: PluginHealth
  readonly #known: LruCache<string, Transformer> | undefined
  readonly #asking = new Map<string, Promise<Transformer>>()
  /** The key of the next write, or the failure to encrypt one. */
  #next: Key | Error = new Error('the KMS plugin has not answered yet')
  #preparing: Promise<void> | undefined

  constructor(options: KmsV1ProviderOptions) {
    this.#options = options
    const { onReadable, now = Date.now, times = KMS_TIMES } = options
    this.#health = new PluginHealth({ ask: () => this.#ask(), onReadable, now, times })
    this.#known = options.cacheSize > 0 ? new LruCache(options.cacheSize) : undefined
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
    const key = this.#next
    void this.#prepare()
    if (key instanceof Error) throw key
    return Buffer.concat([key.head, key.transformer.toStorage(data, context)])
  }

  fromStorage(stored: Uint8Array, context: TransformContext): MaybePromise<Transformed> {
    const bytes = Buffer.from(stored.buffer, stored.byteOffset, stored.byteLength)
    const end = bytes.length < LENGTH_BYTES ? Number.POSITIVE_INFINITY : LENGTH_BYTES + bytes.readUInt16BE(0)
    if (bytes.length < end) throw new Error('invalid data encountered by envelope transformer: failed to read uint16 length prefixed data')
    const cipher = bytes.subarray(LENGTH_BYTES, end)
    const data = bytes.subarray(end)
    const key = cipher.toString('base64')
    const known = this.#known?.get(key) ?? this.#decrypted(key, cipher)
    return known instanceof Promise ? known.then(found => found.fromStorage(data, context)) : known.fromStorage(data, context)
  }

  /** Asks the plugin for a key; whoever needs the same one meanwhile waits for the same answer. */
  #decrypted(key: string, cipher: Uint8Array): Promise<Transformer> {
    const { service, metrics } = this.#options
    const asked = this.#asking.get(key)
    if (asked) return asked
    if (this.#known) metrics.cacheMissed()
    // A copy: the key is a part of the record.
    const asking = service.decrypt(Buffer.from(cipher)).then(plain => this.#keep(key, transformerOf(plain)))
    this.#asking.set(key, asking)
    asking.catch(() => this.#health.noteFailedRead()).finally(() => this.#asking.delete(key))
    return asking
  }

  #keep(key: string, transformer: Transformer): Transformer {
    const { cacheSize, metrics } = this.#options
    if (!this.#known) return transformer
    this.#known.set(key, transformer)
    metrics.cacheFilled(this.#known.size / cacheSize)
    return transformer
  }

  /** Has the key of the next write encrypted. Never rejects. */
  #prepare(): Promise<void> {
    this.#preparing ??= this.#encryptedKey()
      .then(
        key => {
          this.#next = key
        },
        error => {
          this.#next = error as Error
        },
      )
      .finally(() => {
        this.#preparing = undefined
      })
    return this.#preparing
  }

  async #encryptedKey(): Promise<Key> {
    const { service, metrics } = this.#options
    const began = performance.now()
    const plain = randomBytes(KEY_BYTES)
    metrics.keyGenerated(began)
    const cipher = Buffer.from(await service.encrypt(plain))
    if (cipher.length > MAX_CIPHER_BYTES) throw new Error('pending child length exceeds 2-byte length prefix')
    const length = Buffer.alloc(LENGTH_BYTES)
    length.writeUInt16BE(cipher.length)
    const transformer = this.#keep(cipher.toString('base64'), transformerOf(plain))
    return { head: Buffer.concat([length, cipher]), transformer }
  }

  async #ask(): Promise<Checked> {
    const { name, service } = this.#options
    let section = 'encrypt'
    try {
      const cipher = await service.encrypt(PING)
      section = 'decrypt'
      await service.decrypt(cipher)
    } catch (error) {
      const { message } = error as Error
      this.#next = error as Error
      return {
        problem: `failed to perform ${section} section of the healthz check for KMS Provider ${name}, error: ${message}`,
        repeated: message,
      }
    }
    await this.#prepare()
    return { problem: undefined }
  }
}

const MAX_CIPHER_BYTES = 0xffff

/** Writes with AES-GCM; reads AES-CBC, too, with which kube-apiserver wrote before 1.25. */
function transformerOf(key: Uint8Array): Transformer {
  if (![16, 24, 32].includes(key.length)) throw new Error(`crypto/aes: invalid key size ${key.length}`)
  const gcm = new AesGcm(key)
  const cbc = new AesCbc(key)
  return {
    toStorage: (data, context) => gcm.toStorage(data, context),
    fromStorage(data, context) {
      const failures: string[] = []
      for (const each of [gcm, cbc]) {
        try {
          return { ...each.fromStorage(data, context), isStale: each !== gcm }
        } catch (error) {
          failures.push((error as Error).message)
        }
      }
      throw new Error(aggregate(failures))
    },
  }
}
