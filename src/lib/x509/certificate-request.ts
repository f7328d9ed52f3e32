/** PKCS #10: a request for a certificate, signed with the key that it is for. */
import type { KeyObject } from 'node:crypto'
import { type AlternativeNames, NO_NAMES, readAlternativeNames } from './alternative-names.ts'
import { bitsOf, childrenOf, contextTag, DerError, type Element, oidText, Parts, readWhole, TAG } from './der-reader.ts'
import * as der from './der-writer.ts'
import { ATTRIBUTE, type DistinguishedName, readName } from './distinguished-name.ts'
import { type PublicKey, readPublicKey, signatureProblem } from './public-key.ts'
import { signed } from './signed.ts'

export type CertificateRequest = {
  /** The key to be certified; undefined when its algorithm is not known. */
  readonly publicKey: PublicKey | undefined
  /** The bytes of the key with its algorithm, as certificates hold them. */
  readonly publicKeyInfo: Buffer
  readonly subject: DistinguishedName
  /** The alternative names that it asks for. */
  readonly names: AlternativeNames
  /** The common name in the subject, which is the user in the certificates of clients; empty when there is none. */
  readonly commonName: () => string
  /** The organizations in the subject, which stand for groups in the certificates of clients. */
  readonly organizations: () => string[]
  /** Why it is not signed with the key it is for; undefined when it is. */
  readonly signatureProblem: () => string | undefined
}

/** Reads a request. Throws DerError for anything else. */
export function readCertificateRequest(bytes: Buffer): CertificateRequest {
  const parts = new Parts(readWhole(bytes, TAG.sequence, 'certificateRequest'))
  const body = parts.take(TAG.sequence, 'tbsCertificateRequest')
  const algorithm = parts.take(TAG.sequence, 'AlgorithmIdentifier')
  const signature = bitsOf(parts.take(TAG.bits, 'BitString'))
  const { subject, info, names } = readBody(body)
  const publicKey = readPublicKey(info)
  return {
    publicKey,
    publicKeyInfo: info.raw,
    subject,
    names,
    commonName: () => subject.get(ATTRIBUTE.commonName)?.at(-1) ?? '',
    organizations: () => [...(subject.get(ATTRIBUTE.organization) ?? [])],
    signatureProblem: () => signatureProblem({ body: body.raw, algorithm, signature }, publicKey, { allowsSha1: true }),
  }
}

/** The least request that there is for a key: it has no subject, and shows that whoever sends it has the key. */
export const stubRequest = ({ publicKey, privateKey }: { publicKey: KeyObject; privateKey: KeyObject }): Buffer =>
  signed(
    der.sequence(
      der.integer(Buffer.from([0])),
      der.sequence(),
      publicKey.export({ type: 'spki', format: 'der' }),
      der.explicit(0, Buffer.alloc(0)),
    ),
    privateKey,
  )

/** Subject, key and names. Of the attributes, those count that ask for extensions; others need not even make sense. */
function readBody(body: Element): { subject: DistinguishedName; info: Element; names: AlternativeNames } {
  const parts = new Parts(body)
  parts.take(TAG.integer, 'int')
  const subject = readName(parts.take(TAG.sequence, 'RDNSequence'))
  const info = parts.take(TAG.sequence, 'publicKeyInfo')
  const attributes = parts.takeIf(contextTag(0))
  const extensions = attributes ? requestedExtensions(childrenOf(attributes)) : new Map<string, Buffer>()
  const names = extensions.get(SUBJECT_ALT_NAME)
  return { subject, info, names: names ? readAlternativeNames(names) : NO_NAMES }
}

const EXTENSION_REQUEST = '1.2.840.113549.1.9.14'
const SUBJECT_ALT_NAME = '2.5.29.17'

function requestedExtensions(attributes: readonly Element[]): Map<string, Buffer> {
  const found = new Map<string, Buffer>()
  for (const list of attributes.flatMap(attribute => extensionList(attribute) ?? []))
    for (const extension of childrenOf(list)) {
      const parts = new Parts(extension)
      const id = oidText(parts.take(TAG.oid, 'ObjectIdentifier'))
      if (found.has(id)) throw new DerError('x509: certificate request contains duplicate requested extensions')
      parts.takeIf(TAG.boolean)
      found.set(id, parts.take(TAG.octets, 'OCTET STRING').content)
    }
  return found
}

/** The extensions that an attribute asks for, if that is what it is. */
function extensionList(attribute: Element): Element | undefined {
  try {
    const [type, values] = childrenOf(attribute)
    return type?.tag === TAG.oid && oidText(type) === EXTENSION_REQUEST && values?.tag === TAG.set ? childrenOf(values)[0] : undefined
  } catch (error) {
    if (error instanceof DerError) return undefined
    throw error
  }
}
