/** PKCS #10: what someone who wants a certificate sends to whoever issues it, signed with the key it is for. */
import { bitsOf, childrenOf, contextTag, type Element, Parts, readWhole, TAG } from './der-reader.ts'
import { type PublicKey, readPublicKey, signatureProblem } from './public-key.ts'

export type CertificateRequest = {
  /** The key to be certified; undefined when its algorithm is not known. */
  readonly publicKey: PublicKey | undefined
  /** The bytes of the key with its algorithm, as certificates hold them. */
  readonly publicKeyInfo: Buffer
  /** Why it is not signed with the key it is for; undefined when it is. */
  readonly signatureProblem: () => string | undefined
}

/** Reads a request. Throws DerError for anything else. */
export function readCertificateRequest(der: Buffer): CertificateRequest {
  const parts = new Parts(readWhole(der, TAG.sequence, 'certificateRequest'))
  const body = parts.take(TAG.sequence, 'tbsCertificateRequest')
  const algorithm = parts.take(TAG.sequence, 'AlgorithmIdentifier')
  const signature = bitsOf(parts.take(TAG.bits, 'BitString'))
  const info = readBody(body)
  const publicKey = readPublicKey(info)
  return {
    publicKey,
    publicKeyInfo: info.raw,
    signatureProblem: () => signatureProblem(body.raw, algorithm, signature, publicKey),
  }
}

/** The key's part; subject and attributes only need to be well-formed, for signers decide about them. */
function readBody(body: Element): Element {
  const parts = new Parts(body)
  parts.take(TAG.integer, 'int')
  for (const name of childrenOf(parts.take(TAG.sequence, 'RDNSequence'))) childrenOf(name)
  const info = parts.take(TAG.sequence, 'publicKeyInfo')
  const attributes = parts.takeIf(contextTag(0))
  if (attributes) childrenOf(attributes)
  return info
}
