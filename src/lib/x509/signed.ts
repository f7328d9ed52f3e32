/** Signs the bodies of certificates and of requests for them, with keys of every type. */
import { type KeyObject, sign } from 'node:crypto'
import * as der from './der-writer.ts'

/** A body with its signature. */
export const signed = (body: Buffer, key: KeyObject): Buffer =>
  der.sequence(body, algorithmOf(key), der.bits(sign(schemeOf(key).hash, body, key)))

/** The signature algorithm of a key, as certificates encode it. */
export const algorithmOf = (key: KeyObject): Buffer => schemeOf(key).algorithm

type Scheme = { readonly algorithm: Buffer; readonly hash: string | null }

/** The signature scheme of a key; the hash is as strong as the curve. */
function schemeOf({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): Scheme {
  if (asymmetricKeyType === 'ed25519') return { algorithm: der.sequence(der.oid('1.3.101.112')), hash: null }
  if (asymmetricKeyType === 'rsa') return { algorithm: der.sequence(der.oid('1.2.840.113549.1.1.11'), der.NULL), hash: 'sha256' }
  const [id, hash] = { secp384r1: [3, 'sha384'], secp521r1: [4, 'sha512'] }[asymmetricKeyDetails?.namedCurve ?? ''] ?? [2, 'sha256']
  if (asymmetricKeyType !== 'ec') throw new Error(`a key of type ${asymmetricKeyType} cannot sign certificates`)
  return { algorithm: der.sequence(der.oid(`1.2.840.10045.4.3.${id}`)), hash: hash as string }
}
