/** Writes and signs certificates with whatever key the issuer has. */
import { type KeyObject, randomBytes, sign, type X509Certificate } from 'node:crypto'
import { encodePem } from '../pem.ts'
import { childrenOf, readWhole, TAG } from './der-reader.ts'
import * as der from './der-writer.ts'

export type Validity = { readonly notBefore: Date; readonly notAfter: Date }

export type ToSign = {
  readonly subject: Buffer
  readonly issuer: Buffer
  /** The key to be certified with its algorithm. */
  readonly publicKeyInfo: Buffer
  readonly validity: Validity
  readonly extensions: readonly Buffer[]
}

/** A certificate in PEM. */
export function writeCertificate({ subject, issuer, publicKeyInfo, validity, extensions }: ToSign, signer: KeyObject): string {
  const { algorithm, hash } = schemeOf(signer)
  const serial = randomBytes(16)
  // Positive and of full length, whatever the random bytes are.
  serial[0] = (serial[0]! & 0x7f) | 0x40
  const body = der.sequence(
    der.explicit(0, der.integer(Buffer.from([2]))),
    der.integer(serial),
    algorithm,
    issuer,
    der.sequence(der.time(validity.notBefore), der.time(validity.notAfter)),
    subject,
    publicKeyInfo,
    der.explicit(3, der.sequence(...extensions)),
  )
  return encodePem('CERTIFICATE', der.sequence(body, algorithm, der.bits(sign(hash, body, signer))))
}

/**
 * The subject of a certificate byte for byte: a chain is only valid if its names are the same bytes. It is the sixth part of
 * what was signed, after version, serial number, algorithm, issuer and validity.
 */
export function subjectOf(cert: X509Certificate): Buffer {
  const [body] = childrenOf(readWhole(cert.raw, TAG.sequence, 'certificate'))
  return childrenOf(body!)[5]!.raw
}

export const EXTENSION = {
  subjectKeyId: '2.5.29.14',
  keyUsage: '2.5.29.15',
  subjectAltName: '2.5.29.17',
  basicConstraints: '2.5.29.19',
  authorityKeyId: '2.5.29.35',
  extendedKeyUsage: '2.5.29.37',
} as const

export function extension(id: string, value: Buffer, { critical = false } = {}): Buffer {
  return der.sequence(der.oid(id), ...(critical ? [der.boolean(true)] : []), der.octets(value))
}

const KEY_USAGES = {
  digitalSignature: 0,
  contentCommitment: 1,
  keyEncipherment: 2,
  dataEncipherment: 3,
  keyAgreement: 4,
  certSign: 5,
  crlSign: 6,
  encipherOnly: 7,
  decipherOnly: 8,
} as const
export type KeyUsage = keyof typeof KEY_USAGES

/** The bits of the usages, without those at the end that are not set. */
export function keyUsage(...usages: readonly KeyUsage[]): Buffer {
  const last = Math.max(...usages.map(usage => KEY_USAGES[usage]))
  const bytes = Buffer.alloc(Math.floor(last / 8) + 1)
  for (const usage of usages) bytes[Math.floor(KEY_USAGES[usage] / 8)]! |= 0x80 >> (KEY_USAGES[usage] % 8)
  return der.bits(bytes, 7 - (last % 8))
}

export const authorityKeyId = (keyId: Buffer): Buffer => extension(EXTENSION.authorityKeyId, der.sequence(der.implicit(0, keyId)))

type Scheme = { readonly algorithm: Buffer; readonly hash: string | null }

/** How a key signs; the hash is as strong as the curve. */
function schemeOf({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): Scheme {
  if (asymmetricKeyType === 'ed25519') return { algorithm: der.sequence(der.oid('1.3.101.112')), hash: null }
  if (asymmetricKeyType === 'rsa') return { algorithm: der.sequence(der.oid('1.2.840.113549.1.1.11'), der.NULL), hash: 'sha256' }
  const [id, hash] = { secp384r1: [3, 'sha384'], secp521r1: [4, 'sha512'] }[asymmetricKeyDetails?.namedCurve ?? ''] ?? [2, 'sha256']
  if (asymmetricKeyType !== 'ec') throw new Error(`a key of type ${asymmetricKeyType} cannot sign certificates`)
  return { algorithm: der.sequence(der.oid(`1.2.840.10045.4.3.${id}`)), hash: hash as string }
}
