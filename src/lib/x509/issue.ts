/** Issues certificates on P-256 with node:crypto: a certificate authority, servers and clients. Why not a library: docs/decisions/002-x509.md. */
import { createHash, createPrivateKey, generateKeyPairSync, type KeyObject, randomBytes, sign, X509Certificate } from 'node:crypto'
import { type IPAddress, parseIP } from '../ip.ts'
import { encodePem } from '../pem.ts'
import { childrenOf, readWhole, TAG } from './der-reader.ts'
import * as der from './der-writer.ts'

/** A certificate and its key in PEM. */
export type KeyPair = { readonly cert: string; readonly key: string }
export type Subject = { readonly commonName: string; readonly organizations?: readonly string[]; readonly uid?: string }
export type Validity = { readonly notBefore: Date; readonly notAfter: Date }

/** A new, self-signed certificate authority. */
export function issueAuthority(commonName: string, validity: Validity): KeyPair {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const keyId = keyIdOf(publicKey)
  const extensions = [
    extension(OID.basicConstraints, der.sequence(der.boolean(true)), { critical: true }),
    extension(OID.keyUsage, keyUsage('digitalSignature', 'keyEncipherment', 'keyCertSign'), { critical: true }),
    extension(OID.subjectKeyId, der.octets(keyId)),
  ]
  const cert = certificate({ subject: name({ commonName }), issuer: name({ commonName }), publicKey, validity, extensions }, privateKey)
  return { cert, key: pemOf(privateKey) }
}

/** A certificate for a server known by names and addresses. */
export function issueServer(authority: KeyPair, commonName: string, options: Validity & { names: readonly string[] }): KeyPair {
  const names = [...new Set(options.names)].map(generalName)
  return issueLeaf(authority, { commonName }, options, [
    extension(OID.extendedKeyUsage, der.sequence(der.oid(OID.serverAuth))),
    extension(OID.subjectAltName, der.sequence(...names)),
  ])
}

/** A certificate for a client: its common name is the user, its organizations are the groups. */
export function issueClient(authority: KeyPair, subject: Subject, validity: Validity): KeyPair {
  return issueLeaf(authority, subject, validity, [extension(OID.extendedKeyUsage, der.sequence(der.oid(OID.clientAuth)))])
}

function issueLeaf(authority: KeyPair, subject: Subject, validity: Validity, purpose: readonly Buffer[]): KeyPair {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const issuer = new X509Certificate(authority.cert)
  const extensions = [
    extension(OID.basicConstraints, der.sequence(), { critical: true }),
    extension(OID.keyUsage, keyUsage('digitalSignature'), { critical: true }),
    extension(OID.subjectKeyId, der.octets(keyIdOf(publicKey))),
    extension(OID.authorityKeyId, der.sequence(der.implicit(0, keyIdOf(issuer.publicKey)))),
    ...purpose,
  ]
  const cert = certificate(
    { subject: name(subject), issuer: subjectOf(issuer), publicKey, validity, extensions },
    createPrivateKey(authority.key),
  )
  return { cert, key: pemOf(privateKey) }
}

/** The attribute of a subject that holds the uid of a user. */
export const USER_UID = '1.3.6.1.4.1.57683.2'

const OID = {
  commonName: '2.5.4.3',
  organization: '2.5.4.10',
  subjectKeyId: '2.5.29.14',
  keyUsage: '2.5.29.15',
  subjectAltName: '2.5.29.17',
  basicConstraints: '2.5.29.19',
  authorityKeyId: '2.5.29.35',
  extendedKeyUsage: '2.5.29.37',
  serverAuth: '1.3.6.1.5.5.7.3.1',
  clientAuth: '1.3.6.1.5.5.7.3.2',
  ecdsaWithSha256: '1.2.840.10045.4.3.2',
}

type ToSign = {
  readonly subject: Buffer
  readonly issuer: Buffer
  readonly publicKey: KeyObject
  readonly validity: Validity
  readonly extensions: readonly Buffer[]
}

function certificate({ subject, issuer, publicKey, validity, extensions }: ToSign, signer: KeyObject): string {
  const algorithm = der.sequence(der.oid(OID.ecdsaWithSha256))
  const serial = randomBytes(16)
  // Positive and of full length, whatever the random bytes are.
  serial[0] = (serial[0]! & 0x7f) | 0x40
  const body = der.sequence(
    der.explicit(0, der.integer(Buffer.from([2]))),
    der.integer(serial),
    algorithm,
    issuer,
    der.sequence(der.time(validity.notBefore), der.time(validity.notAfter)),
    subject,
    publicKey.export({ type: 'spki', format: 'der' }),
    der.explicit(3, der.sequence(...extensions)),
  )
  return encodePem('CERTIFICATE', der.sequence(body, algorithm, der.bits(sign('sha256', body, signer))))
}

/** Organizations first, as other tools do. */
function name({ commonName, organizations = [], uid }: Subject): Buffer {
  const attribute = (type: string, value: string) => der.setOf(der.sequence(der.oid(type), der.utf8(value)))
  const parts = [...organizations.map(o => attribute(OID.organization, o)), attribute(OID.commonName, commonName)]
  return der.sequence(...parts, ...(uid === undefined ? [] : [attribute(USER_UID, uid)]))
}

/**
 * The subject of a certificate byte for byte: a chain is only valid if its names are the same bytes. It is the sixth part of
 * what was signed, after version, serial number, algorithm, issuer and validity.
 */
function subjectOf(cert: X509Certificate): Buffer {
  const [body] = childrenOf(readWhole(cert.raw, TAG.sequence, 'certificate'))
  return childrenOf(body!)[5]!.raw
}

function extension(id: string, value: Buffer, { critical = false } = {}): Buffer {
  return der.sequence(der.oid(id), ...(critical ? [der.boolean(true)] : []), der.octets(value))
}

const USAGES = { digitalSignature: 0, keyEncipherment: 2, keyCertSign: 5 } as const

function keyUsage(...usages: readonly (keyof typeof USAGES)[]): Buffer {
  let flags = 0
  for (const usage of usages) flags |= 0x80 >> USAGES[usage]
  const unused = Math.clz32(flags & -flags) ^ 31
  return der.bits(Buffer.from([flags]), unused)
}

/** An address or a DNS name, whichever the text is. */
function generalName(text: string): Buffer {
  const address = parseIP(text)
  if (address === undefined) return der.implicit(2, Buffer.from(text, 'ascii'))
  // An IPv4 address inside IPv6 stays one of IPv6: TLS clients compare the bytes.
  const [bits, size] = address.family === 4 && !address.mapped ? [address.bits, 4] : [unmapped(address), 16]
  return der.implicit(7, Buffer.from(bits.toString(16).padStart(size * 2, '0'), 'hex'))
}

const unmapped = ({ bits, mapped }: IPAddress) => (mapped ? (0xffffn << 32n) | bits : bits)

const keyIdOf = (key: KeyObject) =>
  createHash('sha1')
    .update(key.export({ type: 'spki', format: 'der' }))
    .digest()

const pemOf = (key: KeyObject) => key.export({ type: 'pkcs8', format: 'pem' }).toString()
