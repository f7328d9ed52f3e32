/** JSON web tokens: parsing without verification, verifying signatures, and signing. */
import type { JWTPayload } from 'jose'
import { isObject, type JsonObject } from '../lib/json-value.ts'
import type { SigningKey, VerificationKey } from './verification-keys.ts'

/** A parsed token. Its content must not be trusted before its signature is verified. */
export type UnverifiedToken = { readonly header: JsonObject; readonly claims: JsonObject }

const PART = /^[A-Za-z0-9_-]+$/

/** Parses a compact token without verifying it; undefined for any other string. */
export function readUnverified(token: string): UnverifiedToken | undefined {
  const [head = '', body = '', signature, ...more] = token.split('.')
  if (signature === undefined || more.length > 0) return undefined
  const header = readPart(head)
  const claims = readPart(body)
  return header && claims && { header, claims }
}

function readPart(part: string): JsonObject | undefined {
  if (!PART.test(part)) return undefined
  try {
    const value: unknown = JSON.parse(Buffer.from(part, 'base64url').toString('utf8'))
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** The reason why a signature is not valid, in the words of kube-apiserver. */
export class SignatureError extends Error {}

/** The claims of a token that is signed with one of the keys. Throws SignatureError. */
export async function verifySignature(token: string, keys: readonly VerificationKey[]): Promise<JsonObject> {
  const { compactVerify } = await import('jose/jws/compact/verify')
  let failure = new SignatureError('invalid signature, no keys found')
  for (const { key, algorithm } of keys) {
    try {
      const { payload } = await compactVerify(token, key, { algorithms: [algorithm] })
      const claims: unknown = JSON.parse(Buffer.from(payload).toString('utf8'))
      if (isObject(claims)) return claims
      failure = new SignatureError('go-jose/go-jose: error in cryptographic primitive')
    } catch (error) {
      failure = new SignatureError(CAUSES.get((error as { code?: string }).code) ?? 'go-jose/go-jose: error in cryptographic primitive')
    }
  }
  throw failure
}
const CAUSES: ReadonlyMap<string | undefined, string> = new Map([
  ['ERR_JOSE_ALG_NOT_ALLOWED', 'go-jose/go-jose: unknown/unsupported algorithm'],
])

/** Signs claims, which are encoded in the order of their names, as in kube-apiserver. */
export async function signToken(claims: JWTPayload, { privateKey, algorithm, id }: SigningKey): Promise<string> {
  const { CompactSign } = await import('jose/jws/compact/sign')
  return new CompactSign(Buffer.from(JSON.stringify(sorted(claims)))).setProtectedHeader({ alg: algorithm, kid: id }).sign(privateKey)
}

function sorted(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, v]) => v !== undefined)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, v]) => [name, sorted(v)]),
  )
}
