/** Issues certificates on P-256 with node:crypto: a certificate authority, servers and clients. Why not a library: docs/decisions/002-x509.md. */
import { createHash, createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto'
import { type IPAddress, parseIP } from '../ip.ts'
import * as der from './der-writer.ts'
import { ATTRIBUTE } from './distinguished-name.ts'
import { newKey } from './new-key.ts'
import { authorityKeyId, EXTENSION, extension, keyUsage, subjectOf, type Validity, writeCertificate } from './write-certificate.ts'

/** A certificate and its key in PEM. */
export type KeyPair = { readonly cert: string; readonly key: string }
export type Subject = { readonly commonName: string; readonly organizations?: readonly string[]; readonly uid?: string }
export type { Validity } from './write-certificate.ts'

/** A new, self-signed certificate authority. */
export function issueAuthority(commonName: string, validity: Validity): KeyPair {
  const { publicKeyInfo, pem, signer } = newKey()
  const key = signer()
  const keyId = keyIdOf(publicKeyInfo)
  const extensions = [
    extension(EXTENSION.basicConstraints, der.sequence(der.boolean(true)), { critical: true }),
    extension(EXTENSION.keyUsage, keyUsage('digitalSignature', 'keyEncipherment', 'certSign'), { critical: true }),
    extension(EXTENSION.subjectKeyId, der.octets(keyId)),
  ]
  const subject = name({ commonName })
  const cert = writeCertificate({ subject, issuer: subject, publicKeyInfo, validity, extensions }, key)
  const pair = { cert, key: pem }
  issuers.set(pair, { name: subject, key, keyId })
  return pair
}

/** A certificate for a server known by names and addresses. */
export function issueServer(authority: KeyPair, commonName: string, options: Validity & { names: readonly string[] }): KeyPair {
  const names = [...new Set(options.names)].map(generalName)
  return issueLeaf(authority, { commonName }, options, [
    extension(EXTENSION.extendedKeyUsage, der.sequence(der.oid(SERVER_AUTH))),
    extension(EXTENSION.subjectAltName, der.sequence(...names)),
  ])
}

/** A certificate for a client: its common name is the user, its organizations are the groups. */
export function issueClient(authority: KeyPair, subject: Subject, validity: Validity): KeyPair {
  return issueLeaf(authority, subject, validity, [extension(EXTENSION.extendedKeyUsage, der.sequence(der.oid(CLIENT_AUTH)))])
}

function issueLeaf(authority: KeyPair, subject: Subject, validity: Validity, purpose: readonly Buffer[]): KeyPair {
  const { publicKeyInfo, pem } = newKey()
  const issuer = issuerOf(authority)
  const extensions = [
    extension(EXTENSION.basicConstraints, der.sequence(), { critical: true }),
    extension(EXTENSION.keyUsage, keyUsage('digitalSignature'), { critical: true }),
    extension(EXTENSION.subjectKeyId, der.octets(keyIdOf(publicKeyInfo))),
    authorityKeyId(issuer.keyId),
    ...purpose,
  ]
  const cert = writeCertificate({ subject: name(subject), issuer: issuer.name, publicKeyInfo, validity, extensions }, issuer.key)
  return { cert, key: pem }
}

type Issuer = { readonly name: Buffer; readonly key: KeyObject; readonly keyId: Buffer }

/** Authorities that were made or read here: a server issues several certificates at its start, and to read a key takes longer than to make one. */
const issuers = new WeakMap<KeyPair, Issuer>()

function issuerOf(authority: KeyPair): Issuer {
  const known = issuers.get(authority)
  if (known !== undefined) return known
  const cert = new X509Certificate(authority.cert)
  const issuer = { name: subjectOf(cert), key: createPrivateKey(authority.key), keyId: keyIdOf(infoOf(cert.publicKey)) }
  issuers.set(authority, issuer)
  return issuer
}

const SERVER_AUTH = '1.3.6.1.5.5.7.3.1'
const CLIENT_AUTH = '1.3.6.1.5.5.7.3.2'

/** Organizations first, as other tools do. */
function name({ commonName, organizations = [], uid }: Subject): Buffer {
  const attribute = (type: string, value: string) => der.setOf(der.sequence(der.oid(type), der.utf8(value)))
  const parts = [...organizations.map(o => attribute(ATTRIBUTE.organization, o)), attribute(ATTRIBUTE.commonName, commonName)]
  return der.sequence(...parts, ...(uid === undefined ? [] : [attribute(ATTRIBUTE.userUid, uid)]))
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

const infoOf = (key: KeyObject): Buffer => key.export({ type: 'spki', format: 'der' })
const keyIdOf = (publicKeyInfo: Buffer) => createHash('sha1').update(publicKeyInfo).digest()
