/** Decides about a signing request: a certificate is issued, the request fails, or it is left alone. */

import { timestampOf } from '../../lib/time.ts'
import { type Authority, certify } from '../../lib/x509/authority.ts'
import type { CertificateRequest } from '../../lib/x509/certificate-request.ts'
import { requestedName } from '../../lib/x509/distinguished-name.ts'
import type { Validity } from '../../lib/x509/issue.ts'
import { conditionOf } from '../../schema/conditions.ts'
import { certificateRequestOf, SIGNERS, type SignerName, type SigningRequest, signerProblem } from './signers.ts'
import { usagesOf } from './usages.ts'

export type SigningParts = {
  /** The authority of a signer; undefined when another component signs. */
  readonly authorityFor: (signer: SignerName) => Authority | undefined
  /** How long certificates are valid at most. */
  readonly durationMs: number
  readonly now: number
}

/** The next status; undefined when there is nothing to do. Throws when nothing can be signed now. */
export function signedStatus(
  request: SigningRequest,
  { authorityFor, durationMs, now }: SigningParts,
): SigningRequest['status'] | undefined {
  const { spec, status } = request
  if (status.certificate || !isApproved(request) || hasFailed(request)) return undefined
  const signer = Object.values(SIGNERS).find(name => name === spec.signerName)
  const authority = signer && authorityFor(signer)
  if (!signer || !authority) return undefined
  const certificate = certificateRequestOf(request)
  const problem = signerProblem(signer, certificate, spec.usages ?? [])
  if (problem !== undefined) {
    const lastUpdateTime = timestampOf(now)
    const failed = { type: 'Failed', status: 'True', reason: 'SignerValidationFailure', message: problem, lastUpdateTime }
    return { ...status, conditions: [...(status.conditions ?? []), failed] }
  }
  const validity = validityOf(lifetime(spec.expirationSeconds, durationMs), { now, authority })
  return { ...status, certificate: Buffer.from(signed(certificate, { authority, usages: spec.usages ?? [], validity })).toString('base64') }
}

const has = ({ status }: SigningRequest, type: string) => conditionOf(status.conditions, type) !== undefined

const isApproved = (request: SigningRequest): boolean => has(request, 'Approved') && !has(request, 'Denied')
export const isDecided = (request: SigningRequest): boolean => has(request, 'Approved') || has(request, 'Denied')
const hasFailed = ({ status }: SigningRequest) =>
  (status.conditions ?? []).some(({ type, status }) => type === 'Failed' && (status === '' || status === 'True'))

type Signing = { readonly authority: Authority; readonly usages: readonly string[]; readonly validity: Validity }

function signed({ subject, names, publicKeyInfo }: CertificateRequest, { authority, usages, validity }: Signing): string {
  return certify(authority, { subject: requestedName(subject), names, publicKeyInfo, validity, ...usagesOf(usages) })
}

const MINUTE_MS = 60_000
const MIN_MS = 10 * MINUTE_MS
/** Clocks differ: certificates are valid from a little before they are issued. */
const BACKDATE_MS = 5 * MINUTE_MS
/** Shorter ones last as long as was asked for from now on. */
const SHORT_MS = 8 * 60 * MINUTE_MS

/** The requested validity, within the bounds of the signer. */
export function lifetime(expirationSeconds: number | undefined, maxMs: number): number {
  if (expirationSeconds === undefined) return maxMs
  const requestedMs = expirationSeconds * 1000
  return requestedMs > maxMs ? maxMs : Math.max(requestedMs, MIN_MS)
}

/** No certificate outlives its issuer. */
function validityOf(lifetimeMs: number, { now, authority }: { now: number; authority: Authority }): Validity {
  const last = authority.notAfter.getTime()
  if (now >= last) throw new Error(`refusing to sign a certificate that expired in the past: NotAfter=${authority.notAfter.toISOString()}`)
  const ends = now + (lifetimeMs < SHORT_MS ? lifetimeMs : lifetimeMs - BACKDATE_MS)
  return { notBefore: new Date(now - BACKDATE_MS), notAfter: new Date(Math.min(ends, last)) }
}
