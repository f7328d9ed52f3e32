/**
 * Leader election by a Lease, as client-go does it: of all participants one leads, and another takes over when it is gone.
 *
 *     leader   renews ── renews ── ✗ ────── renewMs over: stops ─┐
 *     others            see it ──────────────── leaseMs over ────┴──→ take it
 *
 * No clock is compared with that of another machine: others count from when they saw a renewal, the leader from before it sent it.
 * As the leader gives up after a shorter time than others wait, it has stopped before another begins.
 */

import type { Lease } from '../kinds/coordination/lease.ts'
import { abortedWith } from '../lib/cancellation.ts'
import { chance, monotonicMs, sleep } from '../lib/environment.ts'
import { microTimestampOf } from '../lib/time.ts'
import type { Draft } from './client.ts'

type LeaseSpec = Lease['spec']

export type Timing = {
  /** How long others wait after the last renewal that they saw. */
  readonly leaseMs: number
  /** How long the leader goes on after the last renewal that succeeded; shorter than the former. */
  readonly renewMs: number
  /** How often it is renewed, or looked at. */
  readonly retryMs: number
}

/** Leases as participants read and write them. Writes resolve with undefined where the lease is there already, or is gone. */
export type LeaseAccess = {
  now(): Date
  get(named: { readonly namespace: string; readonly name: string }): Promise<Lease | undefined> | Lease | undefined
  create(lease: Draft<Lease>): Promise<Lease | undefined>
  /** Throws a conflict when the lease has changed since it was read. */
  update(lease: Lease): Promise<Lease | undefined>
}

export type ElectionOptions = {
  readonly leases: LeaseAccess
  readonly namespace: string
  readonly name: string
  /** Names this participant, and no other that ever was or will be. */
  readonly holder: string
  readonly timing: Timing
  readonly onError: (error: unknown) => void
  /** Called when another participant was found to lead. */
  readonly onOther?: () => void
  /** Ends the participation; the lease is given back. */
  readonly signal: AbortSignal
  /**
   * Called when this participant has become the leader. Resolves when all is stopped, after the signal of the term was aborted.
   * When it rejects the lease is given back, and another, or the same participant, tries.
   */
  readonly lead: (term: Term) => Promise<void>
}

export type Term = {
  /** Aborted when it ends. */
  readonly signal: AbortSignal
  /** Whether it still lasts, whatever else has been held up: nothing may be sent when it does not. */
  readonly mayWrite: () => boolean
  /** The revision of the lease as this participant wrote it last: as long as the lease has that one, nobody else has it. */
  readonly leaseRevision: () => number
}

/** Takes part until the signal is aborted. */
export async function takePart(options: ElectionOptions): Promise<void> {
  const { timing, signal, onError, lead } = options
  const candidate = new Candidate(options)
  while (!signal.aborted) {
    if (!(await candidate.tryToLead().catch(ignore))) {
      options.onOther?.()
      await pause(timing.retryMs * (1 + chance() / 5), signal)
      continue
    }
    const term = new AbortController()
    const failed = new AbortController()
    const leading = lead({
      signal: term.signal,
      mayWrite: () => candidate.isLeading,
      leaseRevision: () => candidate.leaseRevision,
    }).catch(error => {
      onError(error)
      failed.abort()
    })
    const ending = abortedWith(signal, failed.signal)
    await keepLeading(candidate, timing, ending.signal)
    ending.abort()
    term.abort()
    await leading
    await candidate.release().catch(ignore)
    if (failed.signal.aborted) await pause(timing.retryMs, signal)
  }
}

/** Until the signal is aborted, or the lease could not be renewed for too long. */
async function keepLeading(candidate: Candidate, { retryMs }: Timing, signal: AbortSignal): Promise<void> {
  while (!signal.aborted && candidate.isLeading) {
    await pause(Math.min(retryMs, candidate.leftMs), signal)
    if (signal.aborted) return
    // A renewal that takes longer than the rest of the term does not keep it.
    await Promise.race([candidate.tryToLead().catch(ignore), pause(candidate.leftMs, signal)])
  }
}

class Candidate {
  readonly #options: ElectionOptions
  /** The lease as it was last seen to change, and when that was. */
  #seen: { readonly record: string; readonly at: number } | undefined
  /** Until when this participant leads, on the monotonic clock. */
  #until = Number.NEGATIVE_INFINITY
  #leaseRevision = 0
  #trying: Promise<boolean> | undefined

  constructor(options: ElectionOptions) {
    this.#options = options
  }

  get isLeading(): boolean {
    return monotonicMs() < this.#until
  }
  get leaseRevision(): number {
    return this.#leaseRevision
  }
  get leftMs(): number {
    return Math.max(0, this.#until - monotonicMs())
  }

  /** Takes or renews the lease, if nobody else has it. */
  tryToLead(): Promise<boolean> {
    return (this.#trying = this.#tryToLead())
  }

  async #tryToLead(): Promise<boolean> {
    const { leases, namespace, name, holder, timing } = this.#options
    const began = monotonicMs()
    const stored = await leases.get({ namespace, name })
    if (stored && this.#isHeldByOther(stored.spec, began)) return false
    const spec = nextSpec(stored?.spec, { holder, leaseMs: timing.leaseMs, now: leases.now() })
    const written = stored ? await leases.update({ ...stored, spec }) : await leases.create({ metadata: { namespace, name }, spec })
    if (!written) return false
    this.#until = began + timing.renewMs
    this.#leaseRevision = Number(written.metadata.resourceVersion)
    return true
  }

  /** Lets another take over at once. */
  async release(): Promise<void> {
    const { leases, namespace, name, holder } = this.#options
    // A renewal that is under way would take it again.
    await this.#trying?.catch(ignore)
    this.#until = Number.NEGATIVE_INFINITY
    const stored = await leases.get({ namespace, name })
    if (stored?.spec.holderIdentity !== holder) return
    const renewTime = microTimestampOf(leases.now())
    await leases.update({ ...stored, spec: { ...stored.spec, holderIdentity: '', leaseDurationSeconds: 1, renewTime } })
  }

  #isHeldByOther(spec: LeaseSpec, now: number): boolean {
    const record = JSON.stringify(spec)
    // From now, as it may have been renewed since it was asked for.
    if (this.#seen?.record !== record) this.#seen = { record, at: monotonicMs() }
    const { holderIdentity: by, leaseDurationSeconds: seconds = 0 } = spec
    return Boolean(by) && by !== this.#options.holder && now < this.#seen.at + seconds * 1000
  }
}

/** The spec of the lease after this holder has taken or renewed it. */
export function nextSpec(spec: LeaseSpec | undefined, { holder, leaseMs, now }: { holder: string; leaseMs: number; now: Date }): LeaseSpec {
  const time = microTimestampOf(now)
  const isSame = spec?.holderIdentity === holder
  return {
    ...spec,
    holderIdentity: holder,
    leaseDurationSeconds: Math.ceil(leaseMs / 1000),
    acquireTime: (isSame && spec.acquireTime) || time,
    renewTime: time,
    leaseTransitions: (spec?.leaseTransitions ?? 0) + (spec && !isSame ? 1 : 0),
  }
}

/** Another came first, or the store cannot be reached: it is tried again. */
const ignore = () => false

const pause = (ms: number, signal: AbortSignal): Promise<void> => sleep(ms, { signal }).catch(() => {})
