/** The states of a request for a certificate: who may decide, who may issue, and what stays as it is. */

import { readCertificates } from '../../lib/certificate.ts'
import { DerError } from '../../lib/der-reader.ts'
import { goQuote } from '../../lib/go-text.ts'
import { pemBlocks } from '../../lib/pem.ts'
import { formatTime, instantOf } from '../../lib/time.ts'
import { duplicate, type FieldError, forbidden, invalid, type Ref, required, unsupported, withValue } from '../../schema/refs.ts'
import { bytes, keyed, message, type Static, string, time } from '../../schema/types.ts'
import { CONDITION_STATUSES } from '../shapes/meta.ts'

const CertificateSigningRequestCondition = message('CertificateSigningRequestCondition', {
  type: [1, string.always(), 'Approved, Denied, Failed or a word of the signer.'],
  status: [6, string.always(), 'Whether it holds: True, False or Unknown; the three known types can only be True.'],
  reason: [2, string, 'A short word for why.'],
  message: [3, string, 'The same for people.'],
  lastUpdateTime: [4, time, 'When the condition was last written; now, unless said.'],
  lastTransitionTime: [5, time, 'When the status last changed; set by the server, unless said.'],
})

export const CertificateSigningRequestStatus = message('CertificateSigningRequestStatus', {
  conditions: [
    1,
    keyed(CertificateSigningRequestCondition, 'type'),
    'What was decided; Approved, Denied and Failed stay once they are there.',
  ],
  certificate: [2, bytes, 'What the signer issued, in PEM: the certificate, then intermediate ones. Cannot change once set.'],
})
export type CertificateSigningRequestStatus = Static<typeof CertificateSigningRequestStatus>

const DECISIONS: readonly string[] = ['Approved', 'Denied']
const FINAL: readonly string[] = [...DECISIONS, 'Failed']

/** Signers send back the decision as they know it; unless its number changes it stays as the approver wrote it. */
export function keepDecisions(status: CertificateSigningRequestStatus, old: CertificateSigningRequestStatus): void {
  for (const type of DECISIONS) {
    const kept = ofType(old, type)
    if (kept.length === 0 || kept.length !== ofType(status, type).length) continue
    status.conditions = (status.conditions ?? []).map(condition => (condition.type === type ? { ...kept.shift()! } : condition))
  }
}

/** Fills the times that the client left to the server. */
export function stampConditions(status: CertificateSigningRequestStatus, old: CertificateSigningRequestStatus, now: Date): void {
  const stamp = formatTime(instantOf(now.getTime()))
  const times = new Map<string, string>()
  for (const { type, status: holds, lastTransitionTime } of old.conditions ?? []) {
    const key = JSON.stringify([type, holds])
    if (lastTransitionTime && !times.has(key)) times.set(key, lastTransitionTime)
  }
  for (const condition of status.conditions ?? []) {
    condition.lastUpdateTime ??= stamp
    condition.lastTransitionTime ??= times.get(JSON.stringify([condition.type, condition.status])) ?? stamp
  }
}

/** What a write may do beside changing conditions of other types. */
export type StatusChange = { readonly old: CertificateSigningRequestStatus | undefined; readonly may: 'decide' | 'issue' }

/** Rules on a write through the path of approvers, who decide, or of signers, who issue. */
export function* validateStatusChange(
  status: CertificateSigningRequestStatus,
  at: Ref<CertificateSigningRequestStatus>,
  { old = {}, may }: StatusChange,
): Iterable<FieldError> {
  yield* validateConditions(status, at, old)
  if (status.certificate !== old.certificate && certificateProblem(old.certificate) === undefined) {
    const problem = certificateProblem(status.certificate)
    if (problem !== undefined) yield invalid(withValue(at.certificate, '<certificate data>'), problem)
  }
  for (const type of FINAL)
    if (ofType(status, type).length < ofType(old, type).length)
      yield forbidden(at.conditions, `updates may not remove a condition of type "${type}"`)
  if (may === 'issue')
    for (const type of DECISIONS)
      if (ofType(status, type).length > ofType(old, type).length)
        yield forbidden(at.conditions, `updates may not add a condition of type "${type}"`)
  if (old.certificate && status.certificate !== old.certificate)
    yield forbidden(at.certificate, 'updates may not modify existing certificate content')
  if (isTorn(status) && !isTorn(old)) yield invalid(withValue(at.conditions, `{${UNION.join(', ')}}`), TORN)
}

/** What is already wrong in the stored conditions passes. */
function* validateConditions(
  { conditions = [] }: CertificateSigningRequestStatus,
  at: Ref<CertificateSigningRequestStatus>,
  { conditions: old = [] }: CertificateSigningRequestStatus,
): Iterable<FieldError> {
  const mayBeUntyped = old.some(({ type }) => !type)
  const mayRepeat = new Set(old.map(({ type }) => type)).size < old.length
  const seen = new Set<string>()
  for (const [i, { type, status }] of conditions.entries()) {
    const here = at.conditions[i]!
    if (!type && !mayBeUntyped) yield required(here.type)
    const allowed = FINAL.includes(type) ? ['True'] : CONDITION_STATUSES
    if (!status) yield required(here.status)
    else if (!allowed.includes(status)) yield unsupported(here.status, ...allowed)
    if (seen.has(type) && !mayRepeat) yield duplicate(here.type)
    seen.add(type)
  }
}

/** One or more certificates in PEM without headers, and text around them. */
function certificateProblem(base64: string | undefined): string | undefined {
  if (!base64) return undefined
  const { blocks } = pemBlocks(Buffer.from(base64, 'base64').toString('latin1'))
  for (const { label, headers, bytes } of blocks) {
    if (label !== 'CERTIFICATE') return `only CERTIFICATE PEM blocks are allowed, found ${goQuote(label)}`
    if (headers.size > 0) return 'no PEM block headers are permitted'
    try {
      if (readCertificates(bytes).length === 0) return 'found CERTIFICATE PEM block containing 0 certificates'
    } catch (error) {
      if (error instanceof DerError) return error.message
      throw error
    }
  }
  return blocks.length === 0 ? 'must contain at least one CERTIFICATE PEM block' : undefined
}

const ofType = ({ conditions = [] }: CertificateSigningRequestStatus, type: string) => conditions.filter(c => c.type === type)

/** Decided both ways. */
const isTorn = (status: CertificateSigningRequestStatus) => DECISIONS.every(type => ofType(status, type).length > 0)
const UNION = DECISIONS.map(type => `conditions[{"type": "${type}"}]`)
const TORN = `must specify at most one of: ${UNION.map(member => `\`${member}\``).join(', ')}`
