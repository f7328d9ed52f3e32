/** The client at the other end of a TLS connection. */
import type { TLSSocket } from 'node:tls'
import type { ClientCertificate } from '../../authn/authenticator.ts'
import { LIMITS } from '../../lib/limits.ts'
import type { Certificate } from '../../lib/x509/certificate.ts'
import { ATTRIBUTE } from '../../lib/x509/distinguished-name.ts'
import type { CertificatePool } from '../../lib/x509/pool.ts'
import type { Verdict } from '../../lib/x509/verify.ts'
import { type SentCertificates, sentCertificates, verifyClient } from '../../transport/tls-peer.ts'
import type { Peer } from '../message.ts'

/** The client certificate authorities and, if configured, those of front proxies. Each pool verifies a certificate on its own. */
export class ClientPools {
  readonly users: CertificatePool
  readonly proxies: CertificatePool | undefined
  /** Verified certificates by the certificates that were sent: clients reconnect again and again. */
  readonly known = new Map<string, ClientCertificate>()

  constructor(users: CertificatePool, proxies: CertificatePool | undefined) {
    this.users = users
    this.proxies = proxies
  }
}

/** The certificate is verified when it is first needed, once per connection, with the `pools` of that time. */
export const peerOf = (socket: TLSSocket, pools: () => ClientPools): Peer => new TlsPeer(socket, pools)

class TlsPeer implements Peer {
  readonly address: string
  #unverified: { readonly socket: TLSSocket; readonly pools: () => ClientPools } | undefined
  #certificate: ClientCertificate | undefined

  constructor(socket: TLSSocket, pools: () => ClientPools) {
    this.address = socket.remoteAddress ?? ''
    this.#unverified = { socket, pools }
  }

  get certificate(): ClientCertificate | undefined {
    if (this.#unverified) {
      this.#certificate = certificateOf(this.#unverified.socket, this.#unverified.pools())
      this.#unverified = undefined
    }
    return this.#certificate
  }
}

function certificateOf(socket: TLSSocket, pools: ClientPools): ClientCertificate | undefined {
  const sent = sentCertificates(socket)
  if (sent === undefined) return undefined
  // Whether a user is a front proxy as well depends on the other certificates that were sent.
  const key = sent.key(pools.proxies ? 'linked' : 'leaf')
  const [known, now] = [pools.known.get(key), Date.now()]
  if (known && known.notBefore <= now && now <= known.notAfter) return known
  const certificate = verifiedCertificate(sent, pools, now)
  if (certificate.trusted || certificate.isProxy) {
    const [oldest] = pools.known.keys()
    if (pools.known.size >= LIMITS.knownClientCertificates) pools.known.delete(oldest!)
    pools.known.set(key, certificate)
  }
  return certificate
}

function verifiedCertificate(sent: SentCertificates, { users, proxies }: ClientPools, now: number): ClientCertificate {
  const usual = { now, purpose: 'clientAuth' } as const
  const client = verifyClient(sent, [{ ...usual, roots: users }, ...(proxies ? [{ ...usual, roots: proxies }] : [])])
  if ('problem' in client) return { ...UNREADABLE, problem: client.problem }
  const { certificate, verdicts } = client
  const [asUser, asProxy] = verdicts
  return {
    trusted: asUser!.ok,
    ...(asProxy && { isProxy: asProxy.ok }),
    ...(!asUser!.ok && { problem: `verifying certificate ${identifierOf(certificate)} failed: ${asUser!.problem}` }),
    commonName: certificate.subjectName.get(ATTRIBUTE.commonName)?.at(-1) ?? '',
    organizations: certificate.subjectName.get(ATTRIBUTE.organization) ?? [],
    uids: certificate.subjectName.get(ATTRIBUTE.userUid) ?? [],
    units: certificate.subjectName.get(ATTRIBUTE.organizationalUnit) ?? [],
    sha256: sent.key('leaf'),
    ...validityOf(verdicts, certificate),
  }
}

/** kube-apiserver's name for a certificate in messages. */
function identifierOf({ serialNumber, subjectKeyId, authorityKeyId }: Certificate): string {
  const hex = (bytes: Buffer | undefined) => Array.from(bytes ?? [], byte => byte.toString(16).toUpperCase().padStart(2, '0')).join(':')
  return `SN=${serialNumber}, SKID=${hex(subjectKeyId)}, AKID=${hex(authorityKeyId)}`
}

const UNREADABLE: ClientCertificate = {
  trusted: false,
  commonName: '',
  organizations: [],
  uids: [],
  sha256: '',
  notBefore: 0,
  notAfter: 0,
}

type Validity = { readonly notBefore: Date; readonly notAfter: Date }

/** The period in which the certificate and its chain are all valid: the chain that lasts longest counts. */
function validityOf(verdicts: readonly Verdict[], leaf: Validity): { readonly notBefore: number; readonly notAfter: number } {
  const lives = verdicts.flatMap(verdict => (verdict.ok ? [longest(verdict.chains.map(lifeOf))] : []))
  return together([lifeOf([leaf]), ...lives])
}

type Life = { readonly notBefore: number; readonly notAfter: number }

const lifeOf = (chain: readonly Validity[]): Life =>
  together(chain.map(({ notBefore, notAfter }) => ({ notBefore: notBefore.getTime(), notAfter: notAfter.getTime() })))

const together = (lives: readonly Life[]): Life => ({
  notBefore: Math.max(...lives.map(life => life.notBefore)),
  notAfter: Math.min(...lives.map(life => life.notAfter)),
})

const longest = (lives: readonly Life[]): Life => lives.reduce((best, life) => (life.notAfter > best.notAfter ? life : best))
