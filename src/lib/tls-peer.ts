/**
 * Verifies the other end of a TLS connection by the certificates that it has sent.
 *
 * Node offers two ways to them, and neither will do alone:
 * - `getPeerCertificate(true)` follows the names of issuers through what was sent, and goes on in the authorities of the context. Where two
 *   certificates have the same subject it takes the first, and loses whatever only the other leads to.
 * - `getPeerX509Certificate()` has every certificate in the order in which it was sent, under `issuerCertificate`. But it takes them out of
 *   the session, so that only the first call sees them, and never frees the memory of any but the leaf (Node 20 to 26).
 *
 * So the second is used only where the first leads nowhere, and for no more certificates than LIMITS says. All of them are candidates
 * for intermediates and nothing else: signatures decide.
 */
import type { DetailedPeerCertificate, TLSSocket } from 'node:tls'
import { LIMITS } from './limits.ts'
import { type Certificate, readCertificate } from './x509/certificate.ts'
import { DerError } from './x509/der-reader.ts'
import { CertificatePool } from './x509/pool.ts'
import { MAX_RSA_BITS, signatureChecks, type Verdict, type VerifyOptions, verify } from './x509/verify.ts'

export type PeerOptions = Omit<VerifyOptions, 'intermediates' | 'checks'>

/** A client and what each of several pools says about it, or why it cannot be verified at all; undefined when it has sent no certificate. */
export type VerifiedClient = { readonly certificate: Certificate; readonly verdicts: readonly Verdict[] } | { readonly problem: string }

export function verifyClient(socket: TLSSocket, pools: readonly PeerOptions[]): VerifiedClient | undefined {
  const raw = leafOf(socket)
  return raw && verifiedPeer(socket, readPeerCertificate(raw, 'client'), pools)
}

/** Why a server is not trusted, in the words of Go's TLS; undefined when it is. */
export function serverProblem(socket: TLSSocket, options: PeerOptions): string | undefined {
  const raw = leafOf(socket)
  if (!raw) return 'tls: received empty certificates message'
  const peer = verifiedPeer(socket, readPeerCertificate(raw, 'server'), [options])
  if ('problem' in peer) return peer.problem
  const [verdict] = peer.verdicts
  return verdict!.ok ? undefined : `tls: failed to verify certificate: ${verdict!.problem}`
}

/** There is none without a certificate, nor when the connection has ended. */
const leafOf = (socket: TLSSocket): Buffer | undefined => (socket.getPeerCertificate() as Partial<DetailedPeerCertificate> | null)?.raw

type PeerCertificate = { readonly certificate: Certificate } | { readonly problem: string }

function readPeerCertificate(der: Buffer, peer: 'client' | 'server'): PeerCertificate {
  const problem = (text: string) => ({ problem: `tls: ${text}` })
  let certificate: Certificate
  try {
    certificate = readCertificate(der)
  } catch (error) {
    if (!(error instanceof DerError)) throw error
    return problem(`failed to parse ${peer === 'client' ? 'client certificate' : 'certificate from server'}: ${error.message}`)
  }
  const { publicKey } = certificate
  if (publicKey === undefined) return problem(`the certificate of the ${peer} contains an unsupported type of public key`)
  const { modulusLength = 0 } = publicKey.key.asymmetricKeyDetails ?? {}
  if (modulusLength > MAX_RSA_BITS) return problem(`${peer} sent certificate containing RSA key larger than ${MAX_RSA_BITS} bits`)
  return { certificate }
}

/** Verifies with ever more candidates: none, as most certificates need none; then those that names link; then all. */
function verifiedPeer(socket: TLSSocket, peer: PeerCertificate, pools: readonly PeerOptions[]): VerifiedClient {
  if ('problem' in peer) return peer
  const { certificate } = peer
  const checks = signatureChecks()
  const verdictsWith = (intermediates: CertificatePool) => (options: PeerOptions) =>
    verify(certificate, { ...options, intermediates, checks })
  let verdicts = pools.map(verdictsWith(NONE))
  const isOpen = (verdict: Verdict) => !verdict.ok && !verdict.isAboutLeaf
  const retry = (candidates: readonly Buffer[]) => {
    if (candidates.length === 0) return
    const again = verdictsWith(new CertificatePool(candidates))
    verdicts = verdicts.map((verdict, i) => (isOpen(verdict) ? again(pools[i]!) : verdict))
  }
  if (verdicts.some(isOpen)) retry(linkedCertificates(socket))
  // Whoever is trusted by one pool is not looked at in the way that costs memory.
  if (verdicts.every(isOpen)) {
    const key = certificate.raw.toString('latin1')
    const all = remembered.get(key) ?? allCertificates(socket)
    retry(all)
    if (!verdicts.every(isOpen)) remember(key, all)
  }
  return { certificate, verdicts }
}

const NONE = new CertificatePool([])

/** What was sent behind the certificate, as far as names lead. */
function linkedCertificates(socket: TLSSocket): Buffer[] {
  const found: Buffer[] = []
  const seen = new Set<unknown>()
  let at: Partial<DetailedPeerCertificate> | undefined = socket.getPeerCertificate(true)
  // The last one is its own issuer, or has none.
  for (; at?.raw && !seen.has(at); at = at.issuerCertificate) {
    seen.add(at)
    found.push(at.raw)
  }
  return found.slice(1)
}

/** Everything that was sent behind the certificate, unless that has cost too much memory already. */
function allCertificates(socket: TLSSocket): Buffer[] {
  if (unfreed >= LIMITS.unfreedCertificates) return []
  const found: Buffer[] = []
  for (let at = socket.getPeerX509Certificate(); at; at = at.issuerCertificate) found.push(at.raw)
  const behind = found.slice(1)
  unfreed += behind.length
  return behind
}

/** Certificates whose memory is lost, in this process. */
let unfreed = 0

/**
 * What trusted peers have sent, by their certificate, so that the memory for it is lost only once. Whether they send it again makes no
 * difference: the certificates are as good as they were.
 */
const remembered = new Map<string, readonly Buffer[]>()
const MAX_REMEMBERED = 100

function remember(key: string, certificates: readonly Buffer[]): void {
  const [oldest] = remembered.keys()
  if (remembered.size >= MAX_REMEMBERED) remembered.delete(oldest!)
  remembered.set(key, certificates)
}
