/**
 * A certificate authority that issues certificates for others' keys. Extensions and their order are those of Go's x509.CreateCertificate.
 */
import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto'
import { type AlternativeNames, NO_NAMES, writeAlternativeNames } from './alternative-names.ts'
import { readCertificate } from './certificate.ts'
import * as der from './der-writer.ts'
import { type DistinguishedName, writeName } from './distinguished-name.ts'
import type { KeyPair } from './issue.ts'
import {
  authorityKeyId,
  EXTENSION,
  extension,
  type KeyUsage,
  keyUsage,
  subjectOf,
  type Validity,
  writeCertificate,
} from './write-certificate.ts'

export type Authority = {
  /** Its certificate in PEM. */
  readonly cert: string
  readonly name: Buffer
  readonly key: KeyObject
  readonly keyId: Buffer | undefined
  readonly notAfter: Date
}

/** The authority of a certificate and its key in PEM; throws when they cannot be read. */
export function authorityOf({ cert, key }: KeyPair): Authority {
  const read = new X509Certificate(cert)
  const { subjectKeyId, notAfter } = readCertificate(read.raw)
  return { cert, name: subjectOf(read), key: createPrivateKey(key), keyId: subjectKeyId, notAfter }
}

export type Certification = {
  readonly subject: DistinguishedName
  readonly names?: AlternativeNames
  /** The public key to be certified, with its algorithm. */
  readonly publicKeyInfo: Buffer
  readonly keyUsages: readonly KeyUsage[]
  /** The object identifiers of extended usages. */
  readonly purposes: readonly string[]
  readonly validity: Validity
}

/** Issues a certificate in PEM for a subject's key; the subject is no authority itself. */
export function certify(authority: Authority, wanted: Certification): string {
  const { subject, names = NO_NAMES, publicKeyInfo, keyUsages, purposes, validity } = wanted
  const alternatives = writeAlternativeNames(names)
  const extensions = [
    ...(keyUsages.length > 0 ? [extension(EXTENSION.keyUsage, keyUsage(...keyUsages), { critical: true })] : []),
    ...(purposes.length > 0 ? [extension(EXTENSION.extendedKeyUsage, der.sequence(...purposes.map(der.oid)))] : []),
    extension(EXTENSION.basicConstraints, der.sequence(), { critical: true }),
    ...(authority.keyId ? [authorityKeyId(authority.keyId)] : []),
    // Without a subject, the alternative names are its only identity.
    ...(alternatives ? [extension(EXTENSION.subjectAltName, alternatives, { critical: subject.size === 0 })] : []),
  ]
  return writeCertificate({ subject: writeName(subject), issuer: authority.name, publicKeyInfo, validity, extensions }, authority.key)
}
