/** Names of subjects and issuers, as Go's crypto/x509/pkix reads and writes them; unknown attributes are left out. */
import { isUtf8 } from 'node:buffer'
import { childrenOf, DerError, type Element, oidText, TAG } from './der-reader.ts'
import * as der from './der-writer.ts'

/** The attributes of a name by their object identifiers, each with its values in order. */
export type DistinguishedName = ReadonlyMap<string, readonly string[]>

export const ATTRIBUTE = {
  commonName: '2.5.4.3',
  serialNumber: '2.5.4.5',
  country: '2.5.4.6',
  locality: '2.5.4.7',
  province: '2.5.4.8',
  street: '2.5.4.9',
  organization: '2.5.4.10',
  organizationalUnit: '2.5.4.11',
  postalCode: '2.5.4.17',
  /** The uid of a user. */
  userUid: '1.3.6.1.4.1.57683.2',
} as const

/** Attributes of which only the last value counts. */
const SINGLE: readonly string[] = [ATTRIBUTE.commonName, ATTRIBUTE.serialNumber]

/** The attributes that a request may contain, in the order in which they are written. The uid is not among them: only signers set it. */
const REQUESTABLE: readonly string[] = [
  ATTRIBUTE.country,
  ATTRIBUTE.organization,
  ATTRIBUTE.organizationalUnit,
  ATTRIBUTE.locality,
  ATTRIBUTE.province,
  ATTRIBUTE.street,
  ATTRIBUTE.postalCode,
  ATTRIBUTE.commonName,
  ATTRIBUTE.serialNumber,
]

/** Reads a name; values that are not strings are left out. */
export function readName(name: Element): DistinguishedName {
  const found = new Map<string, string[]>()
  for (const [type, value] of childrenOf(name).flatMap(childrenOf).map(childrenOf)) {
    const text = value && textOf(value)
    if (!type || text === undefined) continue
    const id = oidText(type)
    const values = found.get(id)
    if (values) values.push(text)
    else found.set(id, [text])
  }
  return found
}

/** Reads a certificate's name, in which every value has to be a valid string of its type. Throws DerError. */
export function readStrictName(name: Element): DistinguishedName {
  for (const set of childrenOf(name)) {
    if (set.tag !== TAG.set) throw new DerError('x509: invalid RDNSequence')
    for (const attribute of childrenOf(set)) {
      const [type, value] = attribute.tag === TAG.sequence ? childrenOf(attribute) : []
      if (type?.tag !== TAG.oid || value === undefined) throw new DerError('x509: invalid RDNSequence: invalid attribute')
      const problem = textProblem(value)
      if (problem !== undefined) throw new DerError(`x509: invalid RDNSequence: invalid attribute value: ${problem}`)
    }
  }
  return readName(name)
}

/** The attributes that a signer copies from a request. */
export const requestedName = (name: DistinguishedName): DistinguishedName =>
  new Map(
    REQUESTABLE.flatMap((id): [string, readonly string[]][] => {
      const values = SINGLE.includes(id) ? (name.get(id) ?? []).slice(-1).filter(value => value !== '') : (name.get(id) ?? [])
      return values.length === 0 ? [] : [[id, values]]
    }),
  )

/** Encodes a name: the values of an attribute together, in the order of their bytes, as DER requires of a set. */
export function writeName(name: DistinguishedName): Buffer {
  const attribute = (id: string, value: string) => der.sequence(der.oid(id), text(value))
  const sets = Array.from(name, ([id, values]) => der.setOf(...values.map(value => attribute(id, value)).sort(Buffer.compare)))
  return der.sequence(...sets)
}

const PRINTABLE = /^[A-Za-z0-9 '()+,./:=?-]*$/
const text = (value: string) => (PRINTABLE.test(value) ? der.printable(value) : der.utf8(value))

const [UTF8_STRING, NUMERIC_STRING, PRINTABLE_STRING, T61_STRING, IA5_STRING, BMP_STRING] = [0x0c, 0x12, 0x13, 0x14, 0x16, 0x1e] as const

/** A string of any ASN.1 string type. T.61 is read as Latin-1, which is nearly the same. */
function textOf({ tag, content }: Element): string | undefined {
  switch (tag) {
    case UTF8_STRING:
    case NUMERIC_STRING:
    case PRINTABLE_STRING:
    case IA5_STRING:
      return content.toString('utf8')
    case T61_STRING:
      return content.toString('latin1')
    case BMP_STRING:
      return content.length % 2 === 0 ? Buffer.from(content).swap16().toString('utf16le').replace(/\0$/, '') : undefined
  }
  return undefined
}

/** Why a value is not a valid string of its type; undefined when it is. */
function textProblem({ tag, content }: Element): string | undefined {
  switch (tag) {
    case UTF8_STRING:
      return isUtf8(content) ? undefined : 'invalid UTF-8 string'
    case NUMERIC_STRING:
      return /^[0-9 ]*$/.test(content.toString('latin1')) ? undefined : 'invalid NumericString'
    case PRINTABLE_STRING:
      // Neither the asterisk nor the ampersand is a printable character of ASN.1, but both are common.
      return /^[A-Za-z0-9 '()+,./:=?*&-]*$/.test(content.toString('latin1')) ? undefined : 'invalid PrintableString'
    case IA5_STRING:
      return content.every(byte => byte < 0x80) ? undefined : 'invalid IA5String'
    case T61_STRING:
      return undefined
    case BMP_STRING:
      return content.length % 2 === 0 && !NOT_IN_BMP.test(textOf({ tag, content, raw: content }) ?? '') ? undefined : 'invalid BMPString'
  }
  return `unsupported string type: ${tag}`
}

/** Surrogates, and code points that are no characters. */
const NOT_IN_BMP = /[\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]/
