/** The extensions of a certificate, read as Go's crypto/x509 reads them, and whether an unknown one is critical. */
import { type AlternativeNames, NO_NAMES, readAlternativeNames } from './alternative-names.ts'
import { bitsOf, booleanOf, childrenOf, contextTag, countOf, DerError, type Element, oidText, Parts, readWhole, TAG } from './der-reader.ts'
import { type NameConstraints, readNameConstraints } from './name-constraints.ts'
import { EXTENSION } from './write-certificate.ts'

export type Extensions = AlternativeNames & {
  /** The CA bit of the basic constraints. */
  readonly isAuthority: boolean
  readonly hasBasicConstraints: boolean
  /** The limit of intermediates below, if there is one. */
  readonly maxPathLength: number | undefined
  /** Whether the key may sign certificates, which is also so without a key usage. */
  readonly signsCertificates: boolean
  /** The object identifiers of extended usages; empty allows any. */
  readonly purposes: readonly string[]
  /** The identifiers of the key and of the issuer's key. */
  readonly subjectKeyId: Buffer | undefined
  readonly authorityKeyId: Buffer | undefined
  /** The bytes of the alternative names, where there is such an extension. */
  readonly alternativeNames: Buffer | undefined
  readonly nameConstraints: NameConstraints | undefined
  readonly policies: Policies
  /** Whether there is an unknown critical extension. */
  readonly hasUnhandledCritical: boolean
}

/** Certificate policies (RFC 5280, 4.2.1.4, 4.2.1.5, 4.2.1.11, 4.2.1.14). Identifiers are dotted. */
export type Policies = {
  readonly identifiers: readonly string[]
  readonly mappings: readonly { readonly issuer: string; readonly subject: string }[]
  readonly requireExplicit: number | undefined
  readonly inhibitMapping: number | undefined
  readonly inhibitAny: number | undefined
}

const NO_POLICIES: Policies = {
  identifiers: [],
  mappings: [],
  requireExplicit: undefined,
  inhibitMapping: undefined,
  inhibitAny: undefined,
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] }

/** Reads the extensions from the element `wrapper` of a certificate. Throws DerError. */
export function readExtensions(wrapper: Element | undefined): Extensions {
  const policies: Mutable<Policies> = { ...NO_POLICIES }
  const found: Mutable<Extensions> = {
    ...NO_NAMES,
    isAuthority: false,
    hasBasicConstraints: false,
    maxPathLength: undefined,
    signsCertificates: true,
    purposes: [],
    subjectKeyId: undefined,
    authorityKeyId: undefined,
    alternativeNames: undefined,
    nameConstraints: undefined,
    policies,
    hasUnhandledCritical: false,
  }
  for (const [id, { value, isCritical }] of listed(wrapper)) {
    const reader = READERS.get(id)
    const isUnderstood = reader?.({ value, isCritical, found, policies }) ?? reader !== undefined
    if (isCritical && !isUnderstood) found.hasUnhandledCritical = true
  }
  return found
}

type Extension = { readonly value: Buffer; readonly isCritical: boolean }

function listed(wrapper: Element | undefined): Map<string, Extension> {
  const extensions = new Map<string, Extension>()
  for (const extension of wrapper ? childrenOf(readWhole(wrapper.content, TAG.sequence, 'extensions')) : []) {
    const parts = new Parts(extension)
    const id = oidText(parts.take(TAG.oid, 'ObjectIdentifier'))
    if (extensions.has(id)) throw new DerError('x509: certificate contains duplicate extension with OID '.concat(JSON.stringify(id)))
    const critical = parts.takeIf(TAG.boolean)
    extensions.set(id, {
      isCritical: critical !== undefined && booleanOf(critical),
      value: parts.take(TAG.octets, 'OCTET STRING').content,
    })
  }
  return extensions
}

/** Reads one extension into `found`. Returns false when it is not understood; undefined counts as true. */
type Reader = (extension: Extension & { readonly found: Mutable<Extensions>; readonly policies: Mutable<Policies> }) => boolean | void

const READERS: ReadonlyMap<string, Reader> = new Map<string, Reader>([
  [
    EXTENSION.keyUsage,
    ({ value, found }) => {
      const [first = 0, second = 0] = invalid('key usage', () => bitsOf(readWhole(value, TAG.bits, 'keyUsage')))
      // A key usage without bits restricts nothing.
      found.signsCertificates = (first === 0 && (second & 0x80) === 0) || (first & CERT_SIGN) !== 0
    },
  ],
  [
    EXTENSION.basicConstraints,
    ({ value, found }) =>
      invalid('basic constraints', () => {
        const parts = new Parts(readWhole(value, TAG.sequence, 'basicConstraints'))
        const [bit, length] = [parts.takeIf(TAG.boolean), parts.takeIf(TAG.integer)]
        found.hasBasicConstraints = true
        found.isAuthority = bit !== undefined && booleanOf(bit)
        found.maxPathLength = length && countOf(length)
      }),
  ],
  [
    EXTENSION.subjectAltName,
    ({ value, found }) => {
      found.alternativeNames = value
      const names = readAlternativeNames(value)
      Object.assign(found, names)
      return Object.values(names).some(list => list.length > 0)
    },
  ],
  [
    EXTENSION.nameConstraints,
    ({ value, found }) => {
      found.nameConstraints = readNameConstraints(value)
      return found.nameConstraints.isUnderstood
    },
  ],
  [EXTENSION.crlDistributionPoints, ({ value }) => void invalid('CRL distribution points', () => sequenceIn(value))],
  [
    EXTENSION.authorityKeyId,
    ({ value, isCritical, found }) => {
      if (isCritical) throw new DerError('x509: authority key identifier incorrectly marked critical')
      const id = invalid('authority key identifier', () => new Parts(sequenceIn(value)).takeIf(contextTag(0, { constructed: false })))
      found.authorityKeyId = id?.content
    },
  ],
  [
    EXTENSION.extendedKeyUsage,
    ({ value, found }) => {
      found.purposes = invalid('extended key usages', () => childrenOf(sequenceIn(value)).map(identifier))
    },
  ],
  [
    EXTENSION.subjectKeyId,
    ({ value, isCritical, found }) => {
      if (isCritical) throw new DerError('x509: subject key identifier incorrectly marked critical')
      found.subjectKeyId = invalid('subject key identifier', () => readWhole(value, TAG.octets, 'subjectKeyIdentifier').content)
    },
  ],
  [
    EXTENSION.authorityInfoAccess,
    ({ value, isCritical }) => {
      if (isCritical) throw new DerError('x509: authority info access incorrectly marked critical')
      invalid('authority info access', () => sequenceIn(value))
    },
  ],
  [
    EXTENSION.certificatePolicies,
    ({ value, policies }) => {
      policies.identifiers = invalid('certificate policies', () => childrenOf(sequenceIn(value)).map(policy => identifier(first(policy))))
      if (new Set(policies.identifiers).size < policies.identifiers.length) throw new DerError('x509: invalid certificate policies')
    },
  ],
  [
    EXTENSION.policyMappings,
    ({ value, policies }) => {
      policies.mappings = invalid('policy mappings extension', () =>
        childrenOf(sequenceIn(value)).map(mapping => {
          const parts = new Parts(mapping)
          return { issuer: identifier(parts.takeAny()), subject: identifier(parts.takeAny()) }
        }),
      )
    },
  ],
  [
    EXTENSION.policyConstraints,
    ({ value, policies }) =>
      invalid('policy constraints extension', () => {
        const parts = new Parts(sequenceIn(value))
        const count = (number: number) => {
          const part = parts.takeIf(contextTag(number, { constructed: false }))
          return part && countOf(part)
        }
        policies.requireExplicit = count(0)
        policies.inhibitMapping = count(1)
      }),
  ],
  [
    EXTENSION.inhibitAnyPolicy,
    ({ value, policies }) => {
      policies.inhibitAny = invalid('inhibit any policy extension', () => countOf(readWhole(value, TAG.integer, 'inhibitAnyPolicy')))
    },
  ],
])

/** The bit of keyCertSign in the first byte of a key usage. */
const CERT_SIGN = 0x80 >> 5

const sequenceIn = (value: Buffer): Element => readWhole(value, TAG.sequence, 'extension')
const first = (sequence: Element): Element => new Parts(sequence).takeAny()

function identifier(element: Element): string {
  if (element.tag !== TAG.oid) throw new DerError('x509: malformed OID')
  return oidText(element)
}

/** Reads a part of a certificate whose errors all have the same message. */
function invalid<T>(what: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw error instanceof DerError ? new DerError(`x509: invalid ${what}`) : error
  }
}
