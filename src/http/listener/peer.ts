/** What a TLS connection says about the client at its other end. */
import type { TLSSocket } from 'node:tls'
import type { ClientCertificate } from '../../authn/authenticator.ts'
import { ATTRIBUTE } from '../../lib/x509/distinguished-name.ts'
import type { Peer } from '../message.ts'

/** Fingerprints of the authorities of users and of proxies, where there are both. */
export type Anchors = { readonly users: ReadonlySet<string>; readonly proxies: ReadonlySet<string> }

export function peerOf(socket: TLSSocket, anchors?: Anchors): Peer {
  return { address: socket.remoteAddress ?? '', certificate: certificateOf(socket, anchors) }
}

/** Without a certificate a connection may still call itself authorized, so the certificate itself is looked for. */
function certificateOf(socket: TLSSocket, anchors: Anchors | undefined): ClientCertificate | undefined {
  const sent = socket.getPeerCertificate()
  if (!sent || sent.subject === undefined) return undefined
  const names = sent.subject as unknown as Readonly<Record<string, string | string[] | undefined>>
  return {
    ...trustIn(socket, anchors),
    commonName: [names['CN'] ?? ''].flat().at(-1) ?? '',
    organizations: [names['O'] ?? []].flat(),
    uids: [names[ATTRIBUTE.userUid] ?? []].flat(),
    units: [names['OU'] ?? []].flat(),
    sha256: sent.fingerprint256.replaceAll(':', '').toLowerCase(),
    notBefore: Date.parse(sent.valid_from),
    notAfter: Date.parse(sent.valid_to),
  }
}

/** The handshake verified the certificate against all authorities; which of them vouches for it is seen from the chain. */
function trustIn(socket: TLSSocket, anchors: Anchors | undefined): { trusted: boolean; isProxy?: boolean } {
  if (!anchors || !socket.authorized) return { trusted: socket.authorized }
  const chain = new Set<string>()
  for (let at = socket.getPeerCertificate(true); at?.fingerprint256 && !chain.has(at.fingerprint256); at = at.issuerCertificate)
    chain.add(at.fingerprint256)
  const isIn = (authorities: ReadonlySet<string>) => [...chain].some(fingerprint => authorities.has(fingerprint))
  return { trusted: isIn(anchors.users), isProxy: isIn(anchors.proxies) }
}
