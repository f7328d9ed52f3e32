/** Encodes and signs certificates with any type of issuer key. */
import { type KeyObject, randomBytes, type X509Certificate } from 'node:crypto'
import { encodePem } from '../pem.ts'
import { childrenOf, readWhole, TAG } from './der-reader.ts'
import * as der from './der-writer.ts'
import { algorithmOf, signed } from './signed.ts'

export type Validity = { readonly notBefore: Date; readonly notAfter: Date }

export type ToSign = {
  readonly subject: Buffer
  readonly issuer: Buffer
  /** The public key to be certified, with its algorithm. */
  readonly publicKeyInfo: Buffer
  readonly validity: Validity
  readonly extensions: readonly Buffer[]
}

/** A certificate in PEM. */
export function writeCertificate({ subject, issuer, publicKeyInfo, validity, extensions }: ToSign, signer: KeyObject): string {
  const algorithm = algorithmOf(signer)
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
  return encodePem('CERTIFICATE', signed(body, signer))
}

/**
 * The subject of a certificate byte for byte: a chain is only valid if its names are the same bytes. It is the sixth part of the signed
 * body, after version, serial number, algorithm, issuer and validity.
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
  nameConstraints: '2.5.29.30',
  crlDistributionPoints: '2.5.29.31',
  certificatePolicies: '2.5.29.32',
  policyMappings: '2.5.29.33',
  authorityKeyId: '2.5.29.35',
  policyConstraints: '2.5.29.36',
  extendedKeyUsage: '2.5.29.37',
  inhibitAnyPolicy: '2.5.29.54',
  authorityInfoAccess: '1.3.6.1.5.5.7.1.1',
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

/** The bits of the usages, without trailing zero bits. */
export function keyUsage(...usages: readonly KeyUsage[]): Buffer {
  const last = Math.max(...usages.map(usage => KEY_USAGES[usage]))
  const bytes = Buffer.alloc(Math.floor(last / 8) + 1)
  for (const usage of usages) bytes[Math.floor(KEY_USAGES[usage] / 8)]! |= 0x80 >> (KEY_USAGES[usage] % 8)
  return der.bits(bytes, 7 - (last % 8))
}

export const authorityKeyId = (keyId: Buffer): Buffer => extension(EXTENSION.authorityKeyId, der.sequence(der.implicit(0, keyId)))
