/** The keys that sign and verify tokens, their ids, and the key set that is published. */
import { createHash, createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto'
import { pemBlocks } from '../lib/pem.ts'

/** A key and the only algorithm it is used with: a token never chooses. */
export type VerificationKey = { readonly id: string; readonly algorithm: string; readonly key: KeyObject }
export type SigningKey = VerificationKey & { readonly privateKey: KeyObject }

const CURVES: ReadonlyMap<string | undefined, string> = new Map([
  ['prime256v1', 'ES256'],
  ['secp384r1', 'ES384'],
  ['secp521r1', 'ES512'],
])
/** Shorter keys are insecure, and rejected by the library. */
const MIN_RSA_BITS = 2048

/** The public part of a key, for verification; throws for keys that cannot sign tokens. */
export function verificationKey(given: KeyObject): VerificationKey {
  const key = given.type === 'private' ? createPublicKey(given) : given
  return { id: keyId(key), algorithm: algorithmOf(key), key }
}

/** A private key that signs tokens; throws for unsuitable keys. */
export const signingKey = (privateKey: KeyObject): SigningKey => ({ ...verificationKey(privateKey), privateKey })

/** The public key of every key and certificate in PEM; other blocks are skipped. Throws when there is none. */
export function readVerificationKeys(text: string): VerificationKey[] {
  const keys = pemBlocks(text).blocks.flatMap(({ label, bytes }) => {
    const pem = `-----BEGIN ${label}-----\n${bytes.toString('base64')}\n-----END ${label}-----\n`
    if (label.endsWith('PRIVATE KEY')) return [verificationKey(createPrivateKey(pem))]
    if (label.endsWith('PUBLIC KEY') || label === 'CERTIFICATE') return [verificationKey(createPublicKey(pem))]
    return []
  })
  if (keys.length === 0) throw new Error('data does not contain any valid RSA or ECDSA public keys')
  return keys
}

/** A JSON web key set (RFC 7517). */
export function keySet(keys: readonly VerificationKey[]): object {
  return {
    keys: keys.map(({ id, algorithm, key }) => {
      const { kty, crv, x, y, n, e } = key.export({ format: 'jwk' })
      // JSON leaves out undefined fields.
      return { use: 'sig', kty, kid: id, crv, alg: algorithm, x, y, n, e }
    }),
  }
}

/** A hash of the key. */
const keyId = (key: KeyObject) =>
  createHash('sha256')
    .update(key.export({ type: 'spki', format: 'der' }))
    .digest('base64url')

function algorithmOf({ asymmetricKeyType: type, asymmetricKeyDetails: details = {} }: KeyObject): string {
  if (type === 'rsa') {
    if ((details.modulusLength ?? 0) < MIN_RSA_BITS) throw new Error(`an RSA key must have at least ${MIN_RSA_BITS} bits`)
    return 'RS256'
  }
  const algorithm = type === 'ec' ? CURVES.get(details.namedCurve) : undefined
  if (algorithm === undefined) throw new Error('a key must be RSA, or ECDSA on the curve P-256, P-384 or P-521')
  return algorithm
}
