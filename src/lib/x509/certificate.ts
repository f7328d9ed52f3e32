/** X.509 certificates, read as Go's crypto/x509 reads them. */
import { bitsOf, contextTag, countOf, DerError, type Element, integerOf, Parts, readElement, readWhole, TAG, timeOf } from './der-reader.ts'
import { type DistinguishedName, readStrictName } from './distinguished-name.ts'
import { type Extensions, readExtensions } from './extensions.ts'
import { type PublicKey, readPublicKey, type Signed } from './public-key.ts'

export type Certificate = Extensions & {
  /** All its bytes. */
  readonly raw: Buffer
  readonly version: number
  readonly serialNumber: bigint
  /** The names of subject and issuer, byte for byte. */
  readonly subject: Buffer
  readonly issuer: Buffer
  readonly subjectName: DistinguishedName
  readonly notBefore: Date
  readonly notAfter: Date
  /** The bytes of the key with its algorithm. */
  readonly publicKeyInfo: Buffer
  /** Undefined when the algorithm is not known. */
  readonly publicKey: PublicKey | undefined
  /** The signed part, its signature and the algorithm. */
  readonly signed: Signed
}

/** Reads exactly one certificate. Throws DerError for anything else. */
export function readCertificate(der: Buffer): Certificate {
  const [certificate, ...more] = readCertificates(der)
  if (certificate === undefined) throw new DerError(MALFORMED)
  if (more.length > 0) throw new DerError('x509: trailing data')
  return certificate
}

/** Reads a sequence of certificates. Throws DerError for anything else. */
export function readCertificates(der: Buffer): Certificate[] {
  const found: Certificate[] = []
  for (let rest = der; rest.length > 0; ) {
    const next = wellFormed(() => readElement(rest))
    found.push(wellFormed(() => readOne(next.element)))
    rest = next.rest
  }
  return found
}

/** The subject name of a certificate whose other parts are not parsed; undefined when there is none. */
export function subjectIn(der: Buffer): Buffer | undefined {
  try {
    const body = new Parts(new Parts(readWhole(der, TAG.sequence, 'certificate')).take(TAG.sequence, 'tbsCertificate'))
    body.takeIf(contextTag(0))
    // Serial number, algorithm, issuer and validity.
    for (let i = 0; i < 4; i++) body.takeAny()
    return body.take(TAG.sequence, 'subject').raw
  } catch (error) {
    if (error instanceof DerError) return undefined
    throw error
  }
}

function readOne(element: Element): Certificate {
  const parts = new Parts(readWhole(element.raw, TAG.sequence, 'certificate'))
  const signedBody = parts.take(TAG.sequence, 'tbsCertificate')
  const algorithm = parts.take(TAG.sequence, 'AlgorithmIdentifier')
  const signature = bitsOf(parts.take(TAG.bits, 'BitString'))
  const body = new Parts(signedBody)
  const version = versionOf(body.takeIf(contextTag(0)))
  const serialNumber = integerOf(body.take(TAG.integer, 'serial number'))
  if (serialNumber < 0n) throw new DerError('x509: negative serial number')
  if (!body.take(TAG.sequence, 'signature algorithm').raw.equals(algorithm.raw))
    throw new DerError("x509: inner and outer signature algorithm identifiers don't match")
  const issuer = body.take(TAG.sequence, 'issuer')
  readStrictName(issuer)
  const validity = new Parts(body.take(TAG.sequence, 'validity'))
  const [notBefore, notAfter] = [timeOf(validity.takeAny()), timeOf(validity.takeAny())]
  const subject = body.take(TAG.sequence, 'subject')
  const info = body.take(TAG.sequence, 'publicKeyInfo')
  const publicKey = readPublicKey(info)
  // Unique identifiers of issuer and subject, which are not used in practice.
  body.takeIf(contextTag(1, { constructed: false }))
  body.takeIf(contextTag(2, { constructed: false }))
  return {
    ...readExtensions(version === 3 ? body.takeIf(contextTag(3)) : undefined),
    raw: element.raw,
    version,
    serialNumber,
    subject: subject.raw,
    issuer: issuer.raw,
    subjectName: readStrictName(subject),
    notBefore,
    notAfter,
    publicKeyInfo: info.raw,
    publicKey,
    signed: { body: signedBody.raw, algorithm, signature },
  }
}

/** The version counted from one; it is encoded from zero. */
function versionOf(wrapper: Element | undefined): number {
  const version = wrapper ? countOf(readWhole(wrapper.content, TAG.integer, 'version')) + 1 : 1
  if (version > 3) throw new DerError('x509: invalid version')
  return version
}

const MALFORMED = 'x509: malformed certificate'

/** Errors about certificates have the messages of Go, without details of the encoding. */
function wellFormed<T>(read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw error instanceof DerError && error.message.startsWith('x509: ') ? error : new DerError(MALFORMED)
  }
}
