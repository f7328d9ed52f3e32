/**
 * New keys on P-256, with their encodings. Those are written here: to have OpenSSL write one takes longer than to make the key.
 *
 * `generateKeyPairSync` may deadlock on Node 20: it holds the lock of a key while it makes the strings of a JWK or of the key's details; a
 * garbage collection at that moment frees the generator of the key, whose destructor waits for the same lock.
 */
import { createECDH, createPrivateKey, type KeyObject } from 'node:crypto'
import { encodePem } from '../pem.ts'
import * as der from './der-writer.ts'

export type NewKey = {
  /** The private key as PKCS #8, in PEM. */
  readonly pem: string
  /** The public key with its algorithm, in DER. */
  readonly publicKeyInfo: Buffer
  /** The private key, to sign with. */
  signer(): KeyObject
}

const EC_PUBLIC_KEY = '1.2.840.10045.2.1'
const P_256 = '1.2.840.10045.3.1.7'
/** The bytes of each coordinate and of the private number. */
const LENGTH = 32
/** A point begins with a byte which says that both coordinates follow. */
const X_AT = 1
const Y_AT = X_AT + LENGTH

export function newKey(): NewKey {
  const pair = createECDH('prime256v1')
  const point = pair.generateKeys()
  const number = fullLength(pair.getPrivateKey())
  const algorithm = der.sequence(der.oid(EC_PUBLIC_KEY), der.oid(P_256))
  const publicBits = der.bits(point)
  const secret = der.sequence(integer(1), der.octets(number), der.explicit(1, publicBits))
  return {
    pem: encodePem('PRIVATE KEY', der.sequence(integer(0), algorithm, der.octets(secret))),
    publicKeyInfo: der.sequence(algorithm, publicBits),
    signer() {
      const [x, y, d] = [point.subarray(X_AT, Y_AT), point.subarray(Y_AT), number].map(bytes => bytes.toString('base64url'))
      // Read faster than any other form.
      return createPrivateKey({ format: 'jwk', key: { kty: 'EC', crv: 'P-256', x: x!, y: y!, d: d! } })
    },
  }
}

/** OpenSSL leaves out the zeros at the beginning. */
const fullLength = (bytes: Buffer) => Buffer.concat([Buffer.alloc(LENGTH - bytes.length), bytes])
const integer = (value: number) => der.integer(Buffer.from([value]))
