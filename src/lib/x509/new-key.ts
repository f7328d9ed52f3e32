/** New keys on P-256, with their encodings. Those are written here: to have OpenSSL write one takes longer than to make the key. */
import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { encodePem } from '../pem.ts'
import * as der from './der-writer.ts'

export type NewKey = {
  readonly privateKey: KeyObject
  /** The private key as PKCS #8, in PEM. */
  readonly pem: string
  /** The public key with its algorithm, in DER. */
  readonly publicKeyInfo: Buffer
}

const EC_PUBLIC_KEY = '1.2.840.10045.2.1'
const P_256 = '1.2.840.10045.3.1.7'
/** Both coordinates follow. */
const UNCOMPRESSED = 0x04

export function newKey(): NewKey {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  // The only form that Node writes itself. All numbers are of full length.
  const { x = '', y = '', d = '' } = privateKey.export({ format: 'jwk' })
  const point = der.bits(Buffer.concat([Buffer.from([UNCOMPRESSED]), bytesOf(x), bytesOf(y)]))
  const algorithm = der.sequence(der.oid(EC_PUBLIC_KEY), der.oid(P_256))
  const secret = der.sequence(number(1), der.octets(bytesOf(d)), der.explicit(1, point))
  const pem = encodePem('PRIVATE KEY', der.sequence(number(0), algorithm, der.octets(secret)))
  return { privateKey, pem, publicKeyInfo: der.sequence(algorithm, point) }
}

const bytesOf = (text: string) => Buffer.from(text, 'base64url')
const number = (value: number) => der.integer(Buffer.from([value]))
