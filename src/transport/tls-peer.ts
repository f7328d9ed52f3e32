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
import { createHash } from 'node:crypto'
import type { DetailedPeerCertificate, TLSSocket } from 'node:tls'
import { LIMITS } from '../lib/limits.ts'
import { type Certificate, readCertificate } from '../lib/x509/certificate.ts'
import { DerError } from '../lib/x509/der-reader.ts'
import { CertificatePool } from '../lib/x509/pool.ts'
import { MAX_RSA_BITS, signatureChecks, type Verdict, type VerifyOptions, verify } from '../lib/x509/verify.ts'

export type PeerOptions = Omit<VerifyOptions, 'intermediates' | 'checks'>

/** A client and what each of several pools says about it, or why it cannot be verified at all. */
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

/** What a peer has sent; undefined when it has sent no certificate, or the connection has ended. */
export function sentCertificates(socket: TLSSocket): SentCertificates | undefined {
  const { raw } = (socket.getPeerCertificate() as Partial<DetailedPeerCertificate> | null) ?? {}
  return raw && new SentCertificates(socket, raw)
}

export class SentCertificates {
  readonly #socket: TLSSocket
  /** The peer's own. */
  readonly leaf: Buffer
  #linked: readonly Buffer[] | undefined

  constructor(socket: TLSSocket, leaf: Buffer) {
    this.#socket = socket
    this.leaf = leaf
  }

  /** Those behind it, as far as names lead. */
  get linked(): readonly Buffer[] {
    if (!this.#linked) {
      const found: Buffer[] = []
      const seen = new Set<unknown>()
      let at: Partial<DetailedPeerCertificate> | undefined = this.#socket.getPeerCertificate(true)
      // The last one is its own issuer, or has none.
      for (; at?.raw && !seen.has(at); at = at.issuerCertificate) {
        seen.add(at)
        found.push(at.raw)
      }
      this.#linked = found.slice(1)
    }
    return this.#linked
  }

  /** All behind it, unless that has cost too much memory already. */
  all(): readonly Buffer[] {
    const known = remembered.get(this.key())
    if (known || unfreed >= LIMITS.unfreedCertificates) return known ?? []
    const found: Buffer[] = []
    for (let at = this.#socket.getPeerX509Certificate(); at; at = at.issuerCertificate) found.push(at.raw)
    const behind = found.slice(1)
    unfreed += behind.length
    return behind
  }

  /** Tells what was sent from anything else, as far as it is seen without a loss; or only the leaf from others. */
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

/** Verifies with ever more candidates: none, as most certificates need none; then those that names link; then all. */
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
  // Whoever is trusted by one pool is not looked at in the way that costs memory.
  if (verdicts.every(isOpen)) {
    const all = sent.all()
    retry(all)
    if (!verdicts.every(isOpen)) remember(sent.key(), all)
  }
  return { certificate, verdicts }
}

const NONE = new CertificatePool([])

/** Certificates whose memory is lost, in this process. */
let unfreed = 0

/**
 * What trusted peers have sent, by what is seen of it without a loss, so that the memory for it is lost only once. Whether such a peer sends
 * the rest again makes no difference: the certificates are as good as they were.
 */
const remembered = new Map<string, readonly Buffer[]>()
const MAX_REMEMBERED = 100

function remember(key: string, certificates: readonly Buffer[]): void {
  const [oldest] = remembered.keys()
  if (remembered.size >= MAX_REMEMBERED) remembered.delete(oldest!)
  remembered.set(key, certificates)
}
