/** Whether a server is trusted by a bundle of certificates of which any is a trust anchor, be it no authority at all. */
import { X509Certificate } from 'node:crypto'
import { checkServerIdentity, type TLSSocket } from 'node:tls'

export type Trust = { readonly ca?: string | undefined; readonly servername?: string | undefined; readonly host?: string | undefined }

const PEM = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g

/** The name must be right, and the certificates that were shown must lead to one of the bundle, each valid and signed by the next. */
export function isTrusted(socket: TLSSocket, { ca = '', servername, host = '' }: Trust, now = Date.now()): boolean {
  if (checkServerIdentity(servername || host, socket.getPeerCertificate()) !== undefined) return false
  const anchors = (ca.match(PEM) ?? []).map(text => new X509Certificate(text))
  for (let shown = socket.getPeerX509Certificate(); shown; ) {
    const certificate: X509Certificate = shown
    if (now < Date.parse(certificate.validFrom) || now > Date.parse(certificate.validTo)) return false
    const isSignedBy = (other: X509Certificate) => certificate.checkIssued(other) && certificate.verify(other.publicKey)
    if (anchors.some(anchor => anchor.raw.equals(certificate.raw) || isSignedBy(anchor))) return true
    const issuer = certificate.issuerCertificate
    // Who signs others has to be an authority.
    if (!issuer?.ca || issuer.raw.equals(certificate.raw) || !isSignedBy(issuer)) return false
    shown = issuer
  }
  return false
}
