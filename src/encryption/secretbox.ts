/** NaCl's secretbox, XSalsa20 with Poly1305: `nonce 24 | tag 16 | encrypted data`. The place of the record is not authenticated. */
import { randomBytes } from 'node:crypto'
import { xsalsa20poly1305 } from '@noble/ciphers/salsa.js'
import type { Transformed, Transformer } from './transformer.ts'

const NONCE = 24
const TAG = 16

export class Secretbox implements Transformer {
  readonly #key: Uint8Array

  constructor(key: Uint8Array) {
    this.#key = key
  }

  toStorage(data: Uint8Array): Uint8Array {
    const nonce = randomBytes(NONCE)
    return Buffer.concat([nonce, xsalsa20poly1305(this.#key, nonce).encrypt(data)])
  }

  fromStorage(data: Uint8Array): Transformed {
    if (data.length < NONCE + TAG) throw new Error('the stored data was shorter than the required size')
    try {
      return { data: xsalsa20poly1305(this.#key, data.subarray(0, NONCE)).decrypt(data.subarray(NONCE)), isStale: false }
    } catch {
      // The words of kube-apiserver for a record that is not authentic.
      throw new Error('output array was not large enough for encryption')
    }
  }
}
