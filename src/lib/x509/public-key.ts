/** Public keys in certificates and in requests for them, and signature verification, as in Go's crypto/x509. */
import { constants, createPublicKey, type KeyObject, type VerifyKeyObjectInput, verify } from 'node:crypto'
import { bitsOf, childrenOf, contextTag, DerError, type Element, oidText, Parts, readWhole, TAG } from './der-reader.ts'

/** A key that can verify signatures; undefined stands for unknown algorithms. */
export type PublicKey = { readonly type: 'rsa' | 'ec' | 'ed25519'; readonly key: KeyObject; readonly curve?: string }

/** Reads a SubjectPublicKeyInfo. Throws DerError when the algorithm is known but the key is invalid. */
export function readPublicKey(info: Element): PublicKey | undefined {
  const parts = new Parts(info)
  const algorithm = new Parts(parts.take(TAG.sequence, 'AlgorithmIdentifier'))
  const id = oidText(algorithm.take(TAG.oid, 'ObjectIdentifier'))
  const bytes = bitsOf(parts.take(TAG.bits, 'BitString'))
  if (!Object.hasOwn(KEY_TYPES, id)) return undefined
  const type = KEY_TYPES[id]!
  const curve = type === 'ec' ? CURVES.get(oidText(algorithm.take(TAG.oid, 'ObjectIdentifier'))) : undefined
  if (type === 'ec' && curve === undefined) throw new DerError('x509: unsupported elliptic curve')
  // A key has one encoding only, so that equal keys have equal bytes.
  if (type === 'rsa' && !algorithm.takeIf(TAG.null)) throw new DerError('x509: RSA key missing NULL parameters')
  if (type === 'ed25519' && !algorithm.isAtEnd) throw new DerError('x509: Ed25519 key encoded with illegal parameters')
  if (type === 'ec' && bytes[0] !== UNCOMPRESSED) throw new DerError(MALFORMED.ec)
  try {
    const key = createPublicKey({ key: info.raw, format: 'der', type: 'spki' })
    return { type, key, ...(curve && { curve }) }
  } catch {
    throw new DerError(MALFORMED[type])
  }
}

/** The same of bytes that hold nothing else. */
export const readPublicKeyInfo = (bytes: Buffer): PublicKey | undefined => readPublicKey(readWhole(bytes, TAG.sequence, 'publicKeyInfo'))

/** Signed bytes with their signature and its algorithm. */
export type Signed = { readonly body: Buffer; readonly algorithm: Element; readonly signature: Buffer }

/**
 * Why a signature is not valid for the key; undefined when it is. SHA-1 is allowed only where a request proves possession of its own key.
 */
export function signatureProblem(
  { body, algorithm, signature }: Signed,
  key: PublicKey | undefined,
  { allowsSha1 = false } = {},
): string | undefined {
  const scheme = schemeOf(algorithm)
  if (scheme === undefined) return UNIMPLEMENTED
  if (scheme.insecure && !(allowsSha1 && scheme.hash === 'sha1'))
    return `x509: cannot verify signature: insecure algorithm ${scheme.insecure}`
  if (key === undefined) return UNIMPLEMENTED
  if (key.type !== scheme.key)
    return `x509: signature algorithm specifies an ${KEY_NAMES[scheme.key]} public key, but have public key of type ${GO_TYPES[key.type]}`
  const weakness = key.type === 'rsa' ? rsaProblem(key.key) : undefined
  if (weakness !== undefined) return weakness
  const options = scheme.pss ? { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST } : {}
  return isValid(scheme.hash, { body, signature }, { key: key.key, ...options }) ? undefined : FAILURES[key.type]
}

/** Whether a key has signed bytes in the one scheme that is used for its type where nothing names a scheme: with SHA-256, and RSA as PSS. */
export function isSignedBy({ type, key }: PublicKey, signed: Pick<Signed, 'body' | 'signature'>): boolean {
  if (type === 'ed25519') return isValid(null, signed, { key })
  if (type === 'ec') return isValid('sha256', signed, { key })
  const pss = { key, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_AUTO }
  return rsaProblem(key) === undefined && isValid('sha256', signed, pss)
}

function isValid(hash: string | null, { body, signature }: Pick<Signed, 'body' | 'signature'>, key: VerifyKeyObjectInput): boolean {
  try {
    return verify(hash, body, key, signature)
  } catch {
    // A key that node:crypto refuses verifies nothing.
    return false
  }
}

/** Why an RSA key is not used for verification; undefined for the usual ones. */
function rsaProblem({ asymmetricKeyDetails: { modulusLength = 0, publicExponent = 0n } = {} }: KeyObject): string | undefined {
  if (modulusLength < MIN_RSA_BITS)
    return `crypto/rsa: ${modulusLength}-bit keys are insecure (see https://go.dev/pkg/crypto/rsa#hdr-Minimum_key_size)`
  if (publicExponent < 2n) return 'crypto/rsa: public exponent too small or negative'
  if (publicExponent % 2n === 0n) return 'crypto/rsa: public exponent is even'
  return publicExponent > MAX_RSA_EXPONENT ? 'crypto/rsa: public exponent too large' : undefined
}

type Scheme = { readonly key: PublicKey['type']; readonly hash: string | null; readonly pss?: true; readonly insecure?: string }

function schemeOf(algorithm: Element): Scheme | undefined {
  const [id, parameters] = childrenOf(algorithm)
  if (id?.tag !== TAG.oid) return undefined
  const name = oidText(id)
  if (name === RSA_PSS) return pssScheme(parameters)
  const scheme = SCHEMES.get(name)
  return scheme?.key === 'ed25519' && parameters ? undefined : scheme
}

/** Only the usual parameters: one hash throughout, and a salt of the same length. */
function pssScheme(parameters: Element | undefined): Scheme | undefined {
  if (parameters?.tag !== TAG.sequence) return undefined
  const parts = new Parts(parameters)
  const wrapped = (number: number) => {
    const outer = parts.takeIf(contextTag(number))
    return outer && childrenOf(outer)[0]
  }
  const [hash, mask, salt] = [wrapped(0), wrapped(1), wrapped(2)]
  const maskHash = mask && childrenOf(mask)[1]
  const [known, same] = [hashOf(hash), hashOf(maskHash)]
  if (!known || known !== same || salt?.tag !== TAG.integer || salt.content.length !== 1 || salt.content[0] !== known.bytes)
    return undefined
  return { key: 'rsa', hash: known.name, pss: true }
}

function hashOf(algorithm: Element | undefined) {
  const [id] = algorithm ? childrenOf(algorithm) : []
  return id?.tag === TAG.oid ? HASHES.get(oidText(id)) : undefined
}

/** The first byte of an uncompressed point on a curve. */
const UNCOMPRESSED = 4
const MIN_RSA_BITS = 1024
const MAX_RSA_EXPONENT = 2n ** 31n - 1n
const UNIMPLEMENTED = 'x509: cannot verify signature: algorithm unimplemented'

const KEY_TYPES: Readonly<Record<string, PublicKey['type']>> = {
  '1.2.840.113549.1.1.1': 'rsa',
  '1.2.840.10045.2.1': 'ec',
  '1.3.101.112': 'ed25519',
}
const CURVES = new Map([
  ['1.3.132.0.33', 'P-224'],
  ['1.2.840.10045.3.1.7', 'P-256'],
  ['1.3.132.0.34', 'P-384'],
  ['1.3.132.0.35', 'P-521'],
])
const HASHES = new Map([
  ['2.16.840.1.101.3.4.2.1', { name: 'sha256', bytes: 32 }],
  ['2.16.840.1.101.3.4.2.2', { name: 'sha384', bytes: 48 }],
  ['2.16.840.1.101.3.4.2.3', { name: 'sha512', bytes: 64 }],
])
const RSA_PSS = '1.2.840.113549.1.1.10'
const SCHEMES = new Map<string, Scheme>([
  ['1.2.840.113549.1.1.4', { key: 'rsa', hash: 'md5', insecure: 'MD5-RSA' }],
  ['1.2.840.113549.1.1.5', { key: 'rsa', hash: 'sha1', insecure: 'SHA1-RSA' }],
  ['1.3.14.3.2.29', { key: 'rsa', hash: 'sha1', insecure: 'SHA1-RSA' }],
  ['1.2.840.113549.1.1.11', { key: 'rsa', hash: 'sha256' }],
  ['1.2.840.113549.1.1.12', { key: 'rsa', hash: 'sha384' }],
  ['1.2.840.113549.1.1.13', { key: 'rsa', hash: 'sha512' }],
  ['1.2.840.10045.4.1', { key: 'ec', hash: 'sha1', insecure: 'ECDSA-SHA1' }],
  ['1.2.840.10045.4.3.2', { key: 'ec', hash: 'sha256' }],
  ['1.2.840.10045.4.3.3', { key: 'ec', hash: 'sha384' }],
  ['1.2.840.10045.4.3.4', { key: 'ec', hash: 'sha512' }],
  ['1.3.101.112', { key: 'ed25519', hash: null }],
])

const KEY_NAMES = { rsa: 'RSA', ec: 'ECDSA', ed25519: 'Ed25519' }
const GO_TYPES = { rsa: '*rsa.PublicKey', ec: '*ecdsa.PublicKey', ed25519: 'ed25519.PublicKey' }
const FAILURES = {
  rsa: 'crypto/rsa: verification error',
  ec: 'x509: ECDSA verification failure',
  ed25519: 'x509: Ed25519 verification failure',
}
const MALFORMED = {
  rsa: 'x509: invalid RSA public key',
  ec: 'x509: failed to unmarshal elliptic curve point',
  ed25519: 'x509: wrong Ed25519 public key size',
}
