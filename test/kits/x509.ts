/** Creates requests and certificates of every type, for tests. */
import { constants, type KeyObject, sign } from 'node:crypto'
import { encodePem } from '../../src/lib/pem.ts'
import { type AlternativeNames, NO_NAMES, writeAlternativeNames } from '../../src/lib/x509/alternative-names.ts'
import * as der from '../../src/lib/x509/der-writer.ts'

export type KeyPair = { readonly publicKey: KeyObject; readonly privateKey: KeyObject }

const ALGORITHMS = { ec: '1.2.840.10045.4.3.2', rsa: '1.2.840.113549.1.1.11', ed25519: '1.3.101.112' }

export const spkiOf = (key: KeyObject): Buffer => key.export({ type: 'spki', format: 'der' })

export type RequestOptions = {
  /** Signs instead of the key itself. */
  readonly signer?: KeyObject
  /** Default: jane. */
  readonly commonName?: string
  readonly organizations?: readonly string[]
  /** The requested alternative names. */
  readonly names?: Partial<AlternativeNames>
  /** Further requested extensions in DER. */
  readonly extensions?: readonly Buffer[]
  /** The ASN.1 string type of names; UTF-8 by default. */
  readonly alphabet?: 'utf8' | 'bmp'
}

/** A PKCS #10 request for a key, in DER. */
export function certificateRequest(
  { publicKey, privateKey }: KeyPair,
  { signer = privateKey, commonName = 'jane', organizations = [], alphabet = 'utf8', names, extensions = [] }: RequestOptions = {},
): Buffer {
  const written = organizations.map(text => (alphabet === 'utf8' ? der.utf8(text) : bmp(text)))
  const alternatives = names && writeAlternativeNames({ ...NO_NAMES, ...names })
  const asked = [...(alternatives ? [extension('2.5.29.17', alternatives)] : []), ...extensions]
  return signed(requestBody(publicKey, { commonName, organizations: written, extensions: asked }), signer)
}

/** The request in PEM and base64, as in a CertificateSigningRequest. */
export const encodedRequest = (pair: KeyPair, options: RequestOptions = {}): string =>
  Buffer.from(encodePem('CERTIFICATE REQUEST', certificateRequest(pair, options))).toString('base64')
const bmp = (text: string) => Buffer.concat([Buffer.from([0x1e, text.length * 2]), Buffer.from(text, 'utf16le').swap16()])

/** The request, signed with RSA-PSS; `salt` is the length of the salt in its parameters. */
export function pssCertificateRequest({ publicKey, privateKey }: KeyPair, { salt = 32 } = {}): Buffer {
  const body = requestBody(publicKey)
  const hash = der.sequence(der.oid('2.16.840.1.101.3.4.2.1'), NULL)
  const mask = der.sequence(der.oid('1.2.840.113549.1.1.8'), hash)
  const parameters = der.sequence(der.explicit(0, hash), der.explicit(1, mask), der.explicit(2, number(salt)))
  const signature = sign('sha256', body, { key: privateKey, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 32 })
  return der.sequence(body, der.sequence(der.oid('1.2.840.113549.1.1.10'), parameters), der.bits(signature))
}

type Body = { readonly commonName?: string; readonly organizations?: readonly Buffer[]; readonly extensions?: readonly Buffer[] }

function requestBody(publicKey: KeyObject, { commonName: cn = 'jane', organizations = [], extensions = [] }: Body = {}): Buffer {
  const subject = [...organizations.map(text => der.setOf(der.sequence(der.oid('2.5.4.10'), text))), commonName(cn)]
  const asked = der.sequence(der.oid('1.2.840.113549.1.9.14'), der.setOf(der.sequence(...extensions)))
  const attributes = der.explicit(0, extensions.length === 0 ? Buffer.alloc(0) : asked)
  return der.sequence(number(0), der.sequence(...subject), spkiOf(publicKey), attributes)
}

export type CertificateOptions = {
  readonly notBefore?: Date
  readonly notAfter?: Date
  /** The CA bit; without it there are no basic constraints. */
  readonly ca?: boolean
  /** General names in DER, for the alternative names of the subject. */
  readonly names?: readonly Buffer[]
}

/** A certificate for a key in DER, signed with the key itself. */
export function certificate({ publicKey, privateKey }: KeyPair, options: CertificateOptions = {}): Buffer {
  const { notBefore = new Date('2026-01-01T00:00:00Z'), notAfter = new Date('2027-01-01T00:00:00Z'), ca, names } = options
  const extensions = [
    ...(ca === undefined ? [] : [extension('2.5.29.19', der.sequence(...(ca ? [der.boolean(true)] : [])))]),
    ...(names ? [extension('2.5.29.17', der.sequence(...names))] : []),
  ]
  const body = der.sequence(
    der.explicit(0, number(2)),
    number(7),
    algorithmOf(privateKey),
    name('issuer'),
    der.sequence(der.time(notBefore), der.time(notAfter)),
    name('jane'),
    spkiOf(publicKey),
    ...(extensions.length > 0 ? [der.explicit(3, der.sequence(...extensions))] : []),
  )
  return signed(body, privateKey)
}

function signed(body: Buffer, key: KeyObject): Buffer {
  const hash = key.asymmetricKeyType === 'ed25519' ? null : 'sha256'
  return der.sequence(body, algorithmOf(key), der.bits(sign(hash, body, key)))
}

const number = (value: number) => der.integer(Buffer.from([value]))
const commonName = (text: string) => der.setOf(der.sequence(der.oid('2.5.4.3'), der.utf8(text)))
const name = (text: string) => der.sequence(commonName(text))
export const extension = (id: string, value: Buffer) => der.sequence(der.oid(id), der.octets(value))
const algorithmOf = ({ asymmetricKeyType }: KeyObject) =>
  der.sequence(der.oid(ALGORITHMS[asymmetricKeyType as keyof typeof ALGORITHMS]), ...(asymmetricKeyType === 'rsa' ? [NULL] : []))
const NULL = Buffer.from([5, 0])
