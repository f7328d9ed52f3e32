/** X.509 certificates, read: validity, key, names and whether they may sign others. */
import { X509Certificate } from 'node:crypto'
import {
  bitsOf,
  childrenOf,
  contextTag,
  DerError,
  type Element,
  oidText,
  Parts,
  readElement,
  readWhole,
  TAG,
  timeOf,
} from './der-reader.ts'
import { readPublicKey } from './public-key.ts'

export type Certificate = {
  readonly notBefore: Date
  readonly notAfter: Date
  /** The bytes of the key with its algorithm. */
  readonly publicKeyInfo: Buffer
  /** The CA bit of its basic constraints. */
  readonly isAuthority: boolean
  /** By which certificates name the key of their issuer. */
  readonly subjectKeyId: Buffer | undefined
  readonly dnsNames: readonly string[]
  readonly emailAddresses: readonly string[]
}

/** Reads the one certificate that some bytes are. Throws DerError for anything else. */
export function readCertificate(der: Buffer): Certificate {
  const [certificate, ...more] = readCertificates(der)
  if (certificate === undefined) throw new DerError(MALFORMED)
  if (more.length > 0) throw new DerError('x509: trailing data')
  return certificate
}

/** Reads certificates that follow one another. Throws DerError for anything else. */
export function readCertificates(der: Buffer): Certificate[] {
  const found: Certificate[] = []
  for (let rest = der; rest.length > 0; ) {
    const next = wellFormed(() => readElement(rest))
    found.push(wellFormed(() => readOne(next.element)))
    rest = next.rest
  }
  return found
}

function readOne(element: Element): Certificate {
  const parts = new Parts(readWhole(element.raw, TAG.sequence, 'certificate'))
  const body = new Parts(parts.take(TAG.sequence, 'tbsCertificate'))
  parts.take(TAG.sequence, 'AlgorithmIdentifier')
  bitsOf(parts.take(TAG.bits, 'BitString'))
  // What is not looked at here must make sense, too.
  new X509Certificate(element.raw)
  body.takeIf(contextTag(0))
  body.take(TAG.integer, 'serial number')
  body.take(TAG.sequence, 'signature algorithm')
  body.take(TAG.sequence, 'issuer')
  const validity = new Parts(body.take(TAG.sequence, 'validity'))
  const [notBefore, notAfter] = [timeOf(validity.takeAny()), timeOf(validity.takeAny())]
  body.take(TAG.sequence, 'subject')
  const info = body.take(TAG.sequence, 'publicKeyInfo')
  readPublicKey(info)
  body.takeIf(contextTag(1))
  body.takeIf(contextTag(2))
  const extensions = extensionsOf(body.takeIf(contextTag(3)))
  return {
    notBefore,
    notAfter,
    publicKeyInfo: info.raw,
    isAuthority: isAuthority(extensions),
    subjectKeyId: subjectKeyIdIn(extensions),
    ...namesOf(extensions),
  }
}

type Extensions = ReadonlyMap<string, Buffer>

function extensionsOf(wrapper: Element | undefined): Extensions {
  const found = new Map<string, Buffer>()
  for (const extension of wrapper ? childrenOf(childrenOf(wrapper)[0]!) : []) {
    const parts = new Parts(extension)
    const id = oidText(parts.take(TAG.oid, 'ObjectIdentifier'))
    if (found.has(id)) throw new DerError('x509: certificate contains duplicate extension with OID '.concat(JSON.stringify(id)))
    parts.takeIf(TAG.boolean)
    found.set(id, parts.take(TAG.octets, 'OCTET STRING').content)
  }
  return found
}

function isAuthority(extensions: Extensions): boolean {
  const constraints = extensions.get(BASIC_CONSTRAINTS)
  const bit = constraints && new Parts(readWhole(constraints, TAG.sequence, 'basicConstraints')).takeIf(TAG.boolean)
  return bit?.content[0] === 0xff
}

function subjectKeyIdIn(extensions: Extensions): Buffer | undefined {
  const value = extensions.get(SUBJECT_KEY_ID)
  return value && readWhole(value, TAG.octets, 'subjectKeyIdentifier').content
}

function namesOf(extensions: Extensions): { dnsNames: string[]; emailAddresses: string[] } {
  const value = extensions.get(SUBJECT_ALT_NAME)
  const names = value ? childrenOf(readWhole(value, TAG.sequence, 'subjectAltName')) : []
  const textsOf = (number: number) =>
    names.filter(({ tag }) => tag === contextTag(number, { constructed: false })).map(({ content }) => content.toString('latin1'))
  return { emailAddresses: textsOf(1), dnsNames: textsOf(2) }
}

const BASIC_CONSTRAINTS = '2.5.29.19'
const SUBJECT_KEY_ID = '2.5.29.14'
const SUBJECT_ALT_NAME = '2.5.29.17'
const MALFORMED = 'x509: malformed certificate'

/** Errors about certificates have the messages of Go, without details of the encoding. */
function wellFormed<T>(read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw error instanceof DerError && error.message.startsWith('x509: ') ? error : new DerError(MALFORMED)
  }
}
