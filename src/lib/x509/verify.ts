/**
 * Verifies a certificate as Go's x509.Verify does: from the leaf to a certificate of the given pool, by signatures. Names and key
 * identifiers only determine which certificates are tried, in which order.
 *
 *     leaf ─ signed by → intermediate … ─ signed by → a certificate of `roots`
 *
 * A leaf in the pool is trusted as it is, whether it is an authority or not. Errors are values in the words of Go.
 */
import { goQuote } from '../go-text.ts'
import { timestampOf } from '../time.ts'
import type { Certificate } from './certificate.ts'
import { ATTRIBUTE } from './distinguished-name.ts'
import { hostProblem } from './host-name.ts'
import { type NameConstraints, nameProblem } from './name-constraints.ts'
import { policiesHold } from './policies.ts'
import type { CertificatePool } from './pool.ts'
import { signatureProblem } from './public-key.ts'

export type VerifyOptions = {
  /** The trusted certificates. */
  readonly roots: CertificatePool
  /** Candidates from any source. */
  readonly intermediates?: CertificatePool
  /** Milliseconds since the epoch. */
  readonly now: number
  readonly purpose: keyof typeof PURPOSES
  /** The name or address that the certificate has to be valid for. */
  readonly host?: string
  /** The remaining number of signature checks, where several verifications share them. */
  readonly checks?: SignatureChecks
}

export type SignatureChecks = { left: number }

export type Verdict =
  | { readonly ok: true; readonly chains: readonly Chain[] }
  /** `isAboutLeaf` tells that no other intermediates could change the result. */
  | { readonly ok: false; readonly problem: string; readonly isAboutLeaf: boolean }

/** From the leaf to the anchor. */
type Chain = readonly Certificate[]

/** The object identifiers of extended key usages. */
const PURPOSES = { any: '2.5.29.37.0', serverAuth: '1.3.6.1.5.5.7.3.1', clientAuth: '1.3.6.1.5.5.7.3.2' } as const

/** The number of signatures verified for one leaf, so that no chain can keep the server busy; the number is Go's. */
export const signatureChecks = (): SignatureChecks => ({ left: 100 })

/** Intermediates with larger RSA keys are not tried: verifying their signatures takes too long. Go's TLS refuses such a chain, too. */
export const MAX_RSA_BITS = 8192

export function verify(leaf: Certificate, options: VerifyOptions): Verdict {
  const { roots, host, checks = signatureChecks() } = options
  const aboutLeaf = validityProblem(leaf, [], { ...options, role: 'leaf' }) ?? (host === undefined ? undefined : hostProblem(leaf, host))
  if (aboutLeaf !== undefined) return { ok: false, problem: aboutLeaf, isAboutLeaf: true }
  const built = roots.has(leaf) ? { chains: [[leaf]] } : buildChains([leaf], { ...options, checks })
  if (built.chains.length === 0) return { ok: false, problem: built.problem ?? unknownAuthority(undefined), isAboutLeaf: false }
  const chains: Chain[] = []
  let [wrongPolicies, wrongUsage] = [0, 0]
  let wrongName: string | undefined
  for (const chain of built.chains) {
    if (!policiesHold(chain)) wrongPolicies++
    else if (!isFor(chain, PURPOSES[options.purpose])) wrongUsage++
    else {
      const problem = constraintProblem(chain)
      if (problem === undefined) chains.push(chain)
      else wrongName ??= `x509: a root or intermediate certificate is not authorized to sign for this name: ${problem}`
    }
  }
  if (chains.length > 0) return { ok: true, chains }
  return { ok: false, problem: wrongName ?? noChain(wrongUsage, wrongPolicies), isAboutLeaf: false }
}

function noChain(wrongUsage: number, wrongPolicies: number): string {
  if (wrongPolicies === 0) return 'x509: certificate specifies an incompatible key usage'
  const details = [
    ...(wrongUsage > 0 ? [`${wrongUsage} candidate chains with incompatible key usage`] : []),
    `${wrongPolicies} candidate chains with invalid policies`,
  ]
  return `x509: no valid chains built: ${details.join(', ')}`
}

type Building = VerifyOptions & { readonly checks: SignatureChecks }
type Built = { readonly chains: readonly Chain[]; readonly problem?: string | undefined }

/** All paths from the last certificate of a chain to the pool. Without one, the problem gives the reason and names the first candidate. */
function buildChains(chain: Chain, options: Building): Built {
  const { roots, intermediates, checks } = options
  const child = chain.at(-1)!
  const chains: Chain[] = []
  let problem: string | undefined
  let hint: Hint | undefined
  const candidates = [
    ...roots.issuersOf(child).map(issuer => ({ issuer, role: 'root' as const })),
    ...(intermediates?.issuersOf(child) ?? []).map(issuer => ({ issuer, role: 'intermediate' as const })),
  ]
  for (const { issuer, role } of candidates) {
    if (checks.left-- <= 0) {
      problem = 'x509: signature check attempts limit reached while verifying certificate chain'
      break
    }
    if (issuer.publicKey === undefined || isInChain(issuer, chain)) continue
    if (role === 'intermediate' && (issuer.publicKey.key.asymmetricKeyDetails?.modulusLength ?? 0) > MAX_RSA_BITS) continue
    const unsigned = issuanceProblem(child, issuer)
    if (unsigned !== undefined) {
      hint ??= { problem: unsigned, issuer }
      continue
    }
    problem = validityProblem(issuer, chain, { ...options, role })
    if (problem !== undefined) hint ??= { problem, issuer }
    else if (role === 'root') chains.push([...chain, issuer])
    else {
      const built = buildChains([...chain, issuer], options)
      chains.push(...built.chains)
      problem = built.problem
    }
  }
  return chains.length > 0 ? { chains } : { chains, problem: problem ?? unknownAuthority(hint) }
}

type Hint = { readonly problem: string; readonly issuer: Certificate }

function unknownAuthority(hint: Hint | undefined): string {
  const unknown = 'x509: certificate signed by unknown authority'
  if (!hint) return unknown
  const { subjectName, serialNumber } = hint.issuer
  const name = subjectName.get(ATTRIBUTE.commonName)?.at(-1) || subjectName.get(ATTRIBUTE.organization)?.[0] || `serial:${serialNumber}`
  return `${unknown} (possibly because of ${goQuote(hint.problem)} while trying to verify candidate authority certificate ${goQuote(name)})`
}

/** Prevents cycles of authorities that have signed one another. Two are the same if subject, key and alternative names are. */
function isInChain(issuer: Certificate, chain: Chain): boolean {
  for (const certificate of chain) {
    if (!issuer.subject.equals(certificate.subject) || !issuer.publicKeyInfo.equals(certificate.publicKeyInfo)) continue
    const [names, others] = [issuer.alternativeNames, certificate.alternativeNames]
    if (names === undefined || others === undefined) return names === others
    if (names.equals(others)) return true
  }
  return false
}

/** Why one certificate has not issued another; undefined when it has. */
function issuanceProblem(
  child: Certificate,
  { version, hasBasicConstraints, isAuthority, signsCertificates, publicKey }: Certificate,
): string | undefined {
  const mayIssue = hasBasicConstraints ? isAuthority : version < 3
  if (!mayIssue || !signsCertificates) return 'x509: invalid signature: parent certificate cannot sign this kind of certificate'
  return signatureProblem(child.signed, publicKey)
}

/** Why a certificate cannot be the next of a chain; undefined when it can. */
function validityProblem(
  certificate: Certificate,
  chain: Chain,
  { now, role }: { readonly now: number; readonly role: 'leaf' | 'intermediate' | 'root' },
): string | undefined {
  const { notBefore, notAfter, hasBasicConstraints, isAuthority, maxPathLength } = certificate
  if (certificate.hasUnhandledCritical) return 'x509: unhandled critical extension'
  const outside =
    now < notBefore.getTime() ? `before ${timestampOf(notBefore)}` : now > notAfter.getTime() ? `after ${timestampOf(notAfter)}` : undefined
  if (outside !== undefined)
    return `x509: certificate has expired or is not yet valid: current time ${timestampOf(new Date(now))} is ${outside}`
  // A root is trusted explicitly, and may be of a version without this bit.
  if (role === 'intermediate' && !(hasBasicConstraints && isAuthority))
    return 'x509: certificate is not authorized to sign other certificates'
  // The leaf does not count.
  if (maxPathLength !== undefined && chain.length - 1 > maxPathLength) return 'x509: too many intermediates for path length constraint'
  return undefined
}

/** Whether each certificate of a chain is valid for a purpose: one without purposes is valid for all. */
const isFor = (chain: Chain, purpose: string): boolean =>
  purpose === PURPOSES.any ||
  chain.every(({ purposes }) => purposes.length === 0 || purposes.includes(PURPOSES.any) || purposes.includes(purpose))

/** Why a certificate of a chain has names that an authority above it may not certify; undefined when none has. */
function constraintProblem(chain: Chain): string | undefined {
  for (const [i, certificate] of chain.entries()) {
    if (certificate.alternativeNames === undefined) continue
    const above = chain.slice(i + 1).flatMap(({ nameConstraints }): NameConstraints[] => (nameConstraints ? [nameConstraints] : []))
    const problem = above.length > 0 ? nameProblem(certificate, above) : undefined
    if (problem !== undefined) return problem
  }
  return undefined
}
