/** What a TLS connection says about the client at its other end. */
import type { TLSSocket } from 'node:tls'
import type { ClientCertificate } from '../../authn/client-certificate.ts'
import { USER_UID } from '../../lib/x509/issue.ts'
import type { Peer } from '../message.ts'

export function peerOf(socket: TLSSocket): Peer {
  return { address: socket.remoteAddress ?? '', certificate: certificateOf(socket) }
}

/** Without a certificate a connection may still call itself authorized, so the certificate itself is looked for. */
function certificateOf(socket: TLSSocket): ClientCertificate | undefined {
  const sent = socket.getPeerCertificate()
  if (!sent || sent.subject === undefined) return undefined
  const names = sent.subject as unknown as Readonly<Record<string, string | string[] | undefined>>
  return {
    trusted: socket.authorized,
    commonName: [names['CN'] ?? ''].flat().at(-1) ?? '',
    organizations: [names['O'] ?? []].flat(),
    uids: [names[USER_UID] ?? []].flat(),
    sha256: sent.fingerprint256.replaceAll(':', '').toLowerCase(),
    notBefore: Date.parse(sent.valid_from),
    notAfter: Date.parse(sent.valid_to),
  }
}
