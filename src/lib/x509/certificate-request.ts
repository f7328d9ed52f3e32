/** PKCS #10: a certificate signing request, signed with the key to be certified. */
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
  /** The requested alternative names. */
  readonly names: AlternativeNames
  /** The common name of the subject, which is the user name of a client certificate; empty when absent. */
  readonly commonName: () => string
  /** The organizations of the subject, which are the groups of a client certificate. */
  readonly organizations: () => string[]
  /** Why its signature is not by its own key; undefined when it is. */
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

/** The minimal request for a key: it has no subject, and proves possession of the key. */
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

/** Reads subject, key and names. Only the attributes that request extensions count; others need not even be valid. */
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

/** The extensions that an attribute requests; undefined for other attributes. */
function extensionList(attribute: Element): Element | undefined {
  try {
    const [type, values] = childrenOf(attribute)
    return type?.tag === TAG.oid && oidText(type) === EXTENSION_REQUEST && values?.tag === TAG.set ? childrenOf(values)[0] : undefined
  } catch (error) {
    if (error instanceof DerError) return undefined
    throw error
  }
}
