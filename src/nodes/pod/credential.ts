/**
 * The certificate of one source of a projected volume, over its life at a kubelet:
 *
 *     nothing ─→ requested ─→ issued ─→ requested again ─→ issued …
 *                    └──→ denied, failed ←──┘
 *
 * Keys exist only in the memory of a kubelet, so it requests everything again after a restart.
 */
import type { PodCertificateRequest } from '../../kinds/certificates/podcertificaterequest.ts'
import { goQuote } from '../../lib/go-text.ts'
import { timeOf } from './container-state.ts'
import type { PodEvent } from './pod-draft.ts'

export type PodRequest = PodCertificateRequest

export type Credential =
  /** The name of the request, and the certificate in use meanwhile. */
  | { readonly state: 'requested'; readonly request: string; readonly held?: Held }
  | { readonly state: 'issued'; readonly held: Held }
  | { readonly state: 'denied' | 'failed'; readonly reason: string; readonly message: string }

/** An issued certificate, and the events already recorded about its end. */
export type Held = {
  readonly refreshAt: number
  readonly notAfter: number
  readonly isOverdueReported?: true
  readonly isExpiryReported?: true
}

export type CredentialStep = {
  /** Undefined when a certificate is to be requested for the first time. */
  readonly credential: Credential | undefined
  /** Whether a new certificate is to be requested now. */
  readonly isDue: boolean
  readonly events: readonly PodEvent[]
  /** The time at which there is more to do. */
  readonly nextAt: number
}

/** Time after the planned refresh at which a certificate counts as overdue. */
const OVERDUE_MS = 10 * 60_000

export type CredentialParts = {
  /** The request, if it still exists. */
  readonly request: PodRequest | undefined
  readonly now: number
  /** Random delay of a refresh, so that those of many pods do not coincide. */
  readonly jitterMs: number
}

/** The next state of a credential. */
export function nextCredential(before: Credential | undefined, { request, now, jitterMs }: CredentialParts): CredentialStep {
  if (before?.state === 'requested') {
    // A deleted request is made again.
    if (!request) return due(before.held && { state: 'issued', held: before.held })
    const decided = decision(request, jitterMs)
    return decided ? { ...decided, isDue: false } : aged(before, now)
  }
  if (before?.state !== 'issued') return before ? { credential: before, isDue: false, events: [], nextAt: Infinity } : due(undefined)
  const step = aged(before, now)
  return now < before.held.refreshAt ? step : { ...step, isDue: true }
}

const due = (credential: Credential | undefined): CredentialStep => ({ credential, isDue: true, events: [], nextAt: Infinity })

/** Why the volume cannot be mounted, in the words of a kubelet; undefined when it can. */
export function credentialProblem(credential: Credential | undefined): string | undefined {
  if (!credential || (credential.state === 'requested' && !credential.held)) return 'credential bundle is not issued yet'
  if (credential.state === 'issued' || credential.state === 'requested') return undefined
  const { state, reason, message } = credential
  return `PodCertificateRequest was permanently ${state}: reason=${goQuote(reason)} message=${goQuote(message)}`
}

function decision({ metadata, status }: PodRequest, jitterMs: number): Omit<CredentialStep, 'isDue'> | undefined {
  for (const { type, reason, message } of status.conditions ?? []) {
    if (type === 'Issued') {
      const held = { refreshAt: timeOf(status.beginRefreshAt) + jitterMs, notAfter: timeOf(status.notAfter) }
      return { credential: { state: 'issued', held }, events: [], nextAt: held.refreshAt }
    }
    if (type !== 'Denied' && type !== 'Failed') continue
    const subject = `PodCertificateRequest ${metadata.namespace}/${metadata.name} ${type === 'Denied' ? 'was denied' : 'failed'}`
    // A kubelet passes its format string as the reason; this is the message that it means.
    const text = `${subject}, reason=${goQuote(reason)}, message=${goQuote(message)}`
    const credential = { state: type === 'Denied' ? ('denied' as const) : ('failed' as const), reason, message }
    return { credential, events: [{ type: 'Warning', reason: type, message: text }], nextAt: Infinity }
  }
  return undefined
}

/** Reports once that a certificate is overdue, and once that it has expired. */
function aged(credential: Extract<Credential, { held?: Held }>, now: number): CredentialStep {
  const { held } = credential
  if (!held) return { credential, isDue: false, events: [], nextAt: Infinity }
  const events: PodEvent[] = []
  const overdueAt = held.refreshAt + OVERDUE_MS
  const isOverdue = now > overdueAt && !held.isOverdueReported
  const isOver = now > held.notAfter && !held.isExpiryReported
  if (isOverdue) events.push({ type: 'Warning', reason: 'CertificateOverdueForRefresh', message: 'PodCertificate refresh overdue' })
  if (isOver) events.push({ type: 'Warning', reason: 'CertificateExpired', message: 'PodCertificate expired' })
  const noted: Held = { ...held, ...(isOverdue && { isOverdueReported: true }), ...(isOver && { isExpiryReported: true }) }
  const times = [
    held.refreshAt,
    ...(noted.isOverdueReported ? [] : [overdueAt + 1]),
    ...(noted.isExpiryReported ? [] : [held.notAfter + 1]),
  ]
  const nextAt = Math.min(...times.filter(at => at > now))
  return { credential: { ...credential, held: noted }, isDue: false, events, nextAt }
}
