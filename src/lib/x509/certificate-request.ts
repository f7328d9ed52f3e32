/** PKCS #10: what someone who wants a certificate sends to whoever issues it, signed with the key it is for. */
import { bitsOf, childrenOf, contextTag, type Element, oidText, Parts, readWhole, TAG } from './der-reader.ts'
import { type PublicKey, readPublicKey, signatureProblem } from './public-key.ts'

export type CertificateRequest = {
  /** The key to be certified; undefined when its algorithm is not known. */
  readonly publicKey: PublicKey | undefined
  /** The bytes of the key with its algorithm, as certificates hold them. */
  readonly publicKeyInfo: Buffer
  /** The common name in the subject, which is the user in the certificates of clients; empty when there is none. */
  readonly commonName: () => string
  /** The organizations in the subject, which stand for groups in the certificates of clients. */
  readonly organizations: () => string[]
  /** Why it is not signed with the key it is for; undefined when it is. */
  readonly signatureProblem: () => string | undefined
}

/** Reads a request. Throws DerError for anything else. */
export function readCertificateRequest(der: Buffer): CertificateRequest {
  const parts = new Parts(readWhole(der, TAG.sequence, 'certificateRequest'))
  const body = parts.take(TAG.sequence, 'tbsCertificateRequest')
  const algorithm = parts.take(TAG.sequence, 'AlgorithmIdentifier')
  const signature = bitsOf(parts.take(TAG.bits, 'BitString'))
  const { subject, info } = readBody(body)
  const publicKey = readPublicKey(info)
  return {
    publicKey,
    publicKeyInfo: info.raw,
    commonName: () => textsIn(subject, COMMON_NAME).at(-1) ?? '',
    organizations: () => textsIn(subject, ORGANIZATION),
    signatureProblem: () => signatureProblem(body.raw, algorithm, signature, publicKey),
  }
}

/** Subject and key; subject and attributes only need to be well-formed, for signers decide about them. */
function readBody(body: Element): { subject: Element; info: Element } {
  const parts = new Parts(body)
  parts.take(TAG.integer, 'int')
  const subject = parts.take(TAG.sequence, 'RDNSequence')
  for (const name of childrenOf(subject)) childrenOf(name)
  const info = parts.take(TAG.sequence, 'publicKeyInfo')
  const attributes = parts.takeIf(contextTag(0))
  if (attributes) childrenOf(attributes)
  return { subject, info }
}

const COMMON_NAME = '2.5.4.3'
const ORGANIZATION = '2.5.4.10'
const BMP_STRING = 0x1e

/** The values of one attribute of a subject. */
function textsIn(subject: Element, wanted: string): string[] {
  const attributes = childrenOf(subject).flatMap(childrenOf).map(childrenOf)
  return attributes.flatMap(([type, value]) => (type && value && oidText(type) === wanted ? [textOf(value)] : []))
}

/** Text in whatever alphabet it was written. */
function textOf({ tag, content }: Element): string {
  if (tag !== BMP_STRING || content.length % 2 !== 0) return content.toString('utf8')
  return Buffer.from(content).swap16().toString('utf16le')
}
