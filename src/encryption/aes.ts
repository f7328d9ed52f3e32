/** AES in the modes that kube-apiserver stores records in: CBC, GCM, and GCM with a key for each record that is derived from a seed. */
import {
  type CipherGCMTypes,
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  type KeyObject,
  randomBytes,
} from 'node:crypto'
import type { TransformContext, Transformed, Transformer } from './transformer.ts'

const BLOCK = 16
const NONCE = 12
const TAG = 16
/** Bytes of a seed, of the random part from which a key is derived with it, and of the key. */
export const SEED_BYTES = 32
const INFO_BYTES = 32

const TOO_SHORT = 'the stored data was shorter than the required size'

/** `IV 16 | AES-CBC of the data, padded as PKCS #7 says`. The place of the record is not authenticated. */
export class AesCbc implements Transformer {
  readonly #key: KeyObject
  readonly #mode: string

  constructor(key: Uint8Array) {
    this.#key = createSecretKey(key)
    this.#mode = `aes-${key.length * 8}-cbc`
  }

  toStorage(data: Uint8Array): Uint8Array {
    const iv = randomBytes(BLOCK)
    const cipher = createCipheriv(this.#mode, this.#key, iv)
    return Buffer.concat([iv, cipher.update(data), cipher.final()])
  }

  fromStorage(data: Uint8Array): Transformed {
    if (data.length < BLOCK) throw new Error(TOO_SHORT)
    const blocks = data.subarray(BLOCK)
    if (blocks.length % BLOCK !== 0) throw new Error('the stored data is not a multiple of the block size')
    if (blocks.length === 0) throw new Error(NOT_PADDED)
    const decipher = createDecipheriv(this.#mode, this.#key, data.subarray(0, BLOCK)).setAutoPadding(false)
    const padded = Buffer.concat([decipher.update(blocks), decipher.final()])
    const padding = padded.at(-1)!
    if (padding === 0 || padding > padded.length) throw new Error(NOT_PADDED)
    for (let i = padded.length - padding; i < padded.length; i++) if (padded[i] !== padding) throw new Error('invalid padding on input')
    return { data: padded.subarray(0, padded.length - padding), isStale: false }
  }
}
const NOT_PADDED = 'invalid PKCS7 data (empty or not padded)'

/** `nonce 12 | AES-GCM of the data | tag 16`, with the place of the record as authenticated data. */
export class AesGcm implements Transformer {
  readonly #key: KeyObject
  readonly #mode: CipherGCMTypes

  constructor(key: Uint8Array) {
    this.#key = createSecretKey(key)
    this.#mode = `aes-${key.length * 8}-gcm` as CipherGCMTypes
  }

  toStorage(data: Uint8Array, { place }: TransformContext): Uint8Array {
    const nonce = randomBytes(NONCE)
    const cipher = createCipheriv(this.#mode, this.#key, nonce).setAAD(Buffer.from(place))
    return Buffer.concat([nonce, cipher.update(data), cipher.final(), cipher.getAuthTag()])
  }

  fromStorage(data: Uint8Array, { place }: TransformContext): Transformed {
    if (data.length < NONCE) throw new Error(TOO_SHORT)
    if (data.length < NONCE + TAG) throw new Error(NOT_AUTHENTIC)
    const decipher = createDecipheriv(this.#mode, this.#key, data.subarray(0, NONCE), { authTagLength: TAG })
    decipher.setAAD(Buffer.from(place)).setAuthTag(data.subarray(-TAG))
    const decrypted = decipher.update(data.subarray(NONCE, -TAG))
    try {
      decipher.final()
    } catch {
      throw new Error(NOT_AUTHENTIC)
    }
    return { data: decrypted, isStale: false }
  }
}
const NOT_AUTHENTIC = 'cipher: message authentication failed'

/**
 * `info 32 | AES-GCM with the key HKDF-Expand(SHA-256, seed, info)`. Each record has a key of its own, so that a seed does not wear out
 * however many records are written with it.
 */
export class ExtendedNonceGcm implements Transformer {
  readonly #seed: KeyObject

  constructor(seed: Uint8Array) {
    if (seed.length < SEED_BYTES) throw new Error(`invalid seed length ${seed.length} used for key generation`)
    this.#seed = createSecretKey(seed)
  }

  toStorage(data: Uint8Array, context: TransformContext): Uint8Array {
    const info = randomBytes(INFO_BYTES)
    return Buffer.concat([info, this.#derived(info).toStorage(data, context)])
  }

  fromStorage(data: Uint8Array, context: TransformContext): Transformed {
    if (data.length < INFO_BYTES) throw new Error(TOO_SHORT)
    return this.#derived(data.subarray(0, INFO_BYTES)).fromStorage(data.subarray(INFO_BYTES), context)
  }

  /** The first block of HKDF-Expand, which is as long as a key. */
  #derived(info: Uint8Array): AesGcm {
    return new AesGcm(createHmac('sha256', this.#seed).update(info).update(FIRST_BLOCK).digest())
  }
}
const FIRST_BLOCK = Buffer.from([1])
