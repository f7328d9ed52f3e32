/**
 * Verifies the peer of a TLS connection by the certificates that it has sent.
 *
 * Node offers two ways to get them, and neither is enough alone:
 * - `getPeerCertificate(true)` follows the names of issuers through the sent certificates, and continues in the authorities of the context.
 * Where two certificates have the same subject it takes the first, and loses those that only the other leads to.
 * - `getPeerX509Certificate()` has every certificate in the order in which it was sent, under `issuerCertificate`. But it takes them out of
 * the session, so that only the first call sees them, and never frees the memory of any but the leaf (Node 20 to 26).
 *
 * So the second is used only where the first leads nowhere, and for no more certificates than LIMITS allows. All of them are only
 * candidates for intermediates: signatures decide.
 */
import { createHash } from 'node:crypto'
import type { DetailedPeerCertificate, TLSSocket } from 'node:tls'
import { LIMITS } from '../lib/limits.ts'
import { type Certificate, readCertificate } from '../lib/x509/certificate.ts'
import { DerError } from '../lib/x509/der-reader.ts'
import { CertificatePool } from '../lib/x509/pool.ts'
import { MAX_RSA_BITS, signatureChecks, type Verdict, type VerifyOptions, verify } from '../lib/x509/verify.ts'

export type PeerOptions = Omit<VerifyOptions, 'intermediates' | 'checks'>

/** A client certificate and the verdict of each of several pools, or the reason why it cannot be verified at all. */
export type VerifiedClient = { readonly certificate: Certificate; readonly verdicts: readonly Verdict[] } | { readonly problem: string }

export const verifyClient = (sent: SentCertificates, pools: readonly PeerOptions[]): VerifiedClient =>
  verifiedPeer(sent, readPeerCertificate(sent.leaf, 'client'), pools)

/** Why a server is not trusted, in the words of Go's TLS; undefined when it is. */
export function serverProblem(socket: TLSSocket, options: PeerOptions): string | undefined {
  const sent = sentCertificates(socket)
  if (!sent) return 'tls: received empty certificates message'
  const peer = verifiedPeer(sent, readPeerCertificate(sent.leaf, 'server'), [options])
  if ('problem' in peer) return peer.problem
  const [verdict] = peer.verdicts
  return verdict!.ok ? undefined : `tls: failed to verify certificate: ${verdict!.problem}`
}

/** The certificates that a peer has sent; undefined when it has sent none, or the connection has ended. */
export function sentCertificates(socket: TLSSocket): SentCertificates | undefined {
  const { raw } = (socket.getPeerCertificate() as Partial<DetailedPeerCertificate> | null) ?? {}
  return raw && new SentCertificates(socket, raw)
}

export class SentCertificates {
  readonly #socket: TLSSocket
  /** The peer's own certificate. */
  readonly leaf: Buffer
  #linked: readonly Buffer[] | undefined

  constructor(socket: TLSSocket, leaf: Buffer) {
    this.#socket = socket
    this.leaf = leaf
  }

  /** The intermediates that are linked by issuer names. */
  get linked(): readonly Buffer[] {
    if (!this.#linked) {
      const found: Buffer[] = []
      const seen = new Set<unknown>()
      let at: Partial<DetailedPeerCertificate> | undefined = this.#socket.getPeerCertificate(true)
      // The last one is its own issuer, or has no issuer.
      for (; at?.raw && !seen.has(at); at = at.issuerCertificate) {
        seen.add(at)
        found.push(at.raw)
      }
      this.#linked = found.slice(1)
    }
    return this.#linked
  }

  /** All intermediates, unless too much memory has been leaked already. */
  all(): readonly Buffer[] {
    const known = remembered.get(this.key())
    if (known || unfreed >= LIMITS.unfreedCertificates) return known ?? []
    const found: Buffer[] = []
    for (let at = this.#socket.getPeerX509Certificate(); at; at = at.issuerCertificate) found.push(at.raw)
    const behind = found.slice(1)
    unfreed += behind.length
    return behind
  }

  /** Identifies the certificates that can be read without a leak; or only the leaf. */
  key(part: 'leaf' | 'linked' = 'linked'): string {
    const hash = createHash('sha256').update(this.leaf)
    if (part === 'linked') for (const der of this.linked) hash.update(der)
    return hash.digest('hex')
  }
}

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

/** Verifies with ever more candidates: none, as most certificates need none; then the linked ones; then all. */
function verifiedPeer(sent: SentCertificates, peer: PeerCertificate, pools: readonly PeerOptions[]): VerifiedClient {
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
  if (verdicts.some(isOpen)) retry(sent.linked)
  // A peer that one pool trusts is not read in the way that leaks memory.
  if (verdicts.every(isOpen)) {
    const all = sent.all()
    retry(all)
    if (!verdicts.every(isOpen)) remember(sent.key(), all)
  }
  return { certificate, verdicts }
}

const NONE = new CertificatePool([])

/** The number of certificates leaked in this process. */
let unfreed = 0

/**
 * Certificates of trusted peers, by the part that can be read without a leak, so that their memory is leaked only once. It does not matter
 * whether such a peer sends the rest again: the certificates are still valid.
 */
const remembered = new Map<string, readonly Buffer[]>()
const MAX_REMEMBERED = 100

function remember(key: string, certificates: readonly Buffer[]): void {
  const [oldest] = remembered.keys()
  if (remembered.size >= MAX_REMEMBERED) remembered.delete(oldest!)
  remembered.set(key, certificates)
}
