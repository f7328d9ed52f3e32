/** Names of subjects and issuers, as Go's crypto/x509/pkix reads and writes them: what it does not know is left out. */
import { childrenOf, type Element, oidText } from './der-reader.ts'
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

/** Of these the last value counts. */
const SINGLE: readonly string[] = [ATTRIBUTE.commonName, ATTRIBUTE.serialNumber]

/** What others may ask for in a name, in the order in which it is written. A uid is not among it: it is for signers alone to give. */
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

/** Reads a name; values that are no text are left out. */
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

/** The attributes that a signer takes over from a request. */
export const requestedName = (name: DistinguishedName): DistinguishedName =>
  new Map(
    REQUESTABLE.flatMap((id): [string, readonly string[]][] => {
      const values = SINGLE.includes(id) ? (name.get(id) ?? []).slice(-1).filter(value => value !== '') : (name.get(id) ?? [])
      return values.length === 0 ? [] : [[id, values]]
    }),
  )

/** Writes a name: the values of an attribute together, in the order of their bytes, as the encoding wants it of a set. */
export function writeName(name: DistinguishedName): Buffer {
  const attribute = (id: string, value: string) => der.sequence(der.oid(id), text(value))
  const sets = Array.from(name, ([id, values]) => der.setOf(...values.map(value => attribute(id, value)).sort(Buffer.compare)))
  return der.sequence(...sets)
}

const PRINTABLE = /^[A-Za-z0-9 '()+,./:=?-]*$/
const text = (value: string) => (PRINTABLE.test(value) ? der.printable(value) : der.utf8(value))

const BMP_STRING = 0x1e
/** UTF8String, NumericString, PrintableString, T61String, IA5String. */
const TEXT_TAGS: readonly number[] = [0x0c, 0x12, 0x13, 0x14, 0x16]

/** Text in whatever alphabet it was written. */
function textOf({ tag, content }: Element): string | undefined {
  if (TEXT_TAGS.includes(tag)) return content.toString('utf8')
  return tag === BMP_STRING && content.length % 2 === 0 ? Buffer.from(content).swap16().toString('utf16le') : undefined
}
