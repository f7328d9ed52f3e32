/** JSON web tokens: what an unverified one claims, whether its signature is right, and signing. */
import type { JWTPayload } from 'jose'
import { isObject, type JsonObject } from '../lib/json-value.ts'
import type { SigningKey, VerificationKey } from './verification-keys.ts'

/** What a token says of itself. Nothing of it may be believed before its signature is verified. */
export type UnverifiedToken = { readonly header: JsonObject; readonly claims: JsonObject }

const PART = /^[A-Za-z0-9_-]+$/

/** Reads a compact token without verifying it; undefined for what is none. */
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

/** Why a signature is not believed, in the words of kube-apiserver. */
export class SignatureError extends Error {}

/** The claims of a token that one of the keys has signed. Throws SignatureError. */
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

/** Signs claims. They are written in the order of their names, as kube-apiserver writes them. */
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
