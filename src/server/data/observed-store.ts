/** The store as the server uses it: measured, probed, and with failures turned into responses. */

import type { HealthCheck } from '../../http/observability/health.ts'
import type { Log } from '../../http/observability/log.ts'
import { monotonicMs, startDeadline, stopTimer, type Timer } from '../../lib/environment.ts'
import { type Family, Histogram } from '../../lib/exposition.ts'
import type { MaybePromise } from '../../lib/maybe-promise.ts'
import type { RequestTrace } from '../../lib/request-trace.ts'
import { internalError, outcomeUnknown, StatusError, spaceExceeded, tooLarge, unavailable } from '../../schema/status-error.ts'
import { TransformError } from '../../storage/record-transformer.ts'
import {
  type Change,
  FencedOff,
  OutcomeUnknown,
  type Revision,
  SpaceExceeded,
  type Store,
  type StoreSize,
  StoreUnavailable,
  type Swap,
  ValueTooLarge,
} from '../../storage/store.ts'

/** Seconds. */
const REQUESTS = [0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60]
const COMMITS = [0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128, 0.256, 0.512, 1.024, 2.048, 4.096, 8.192]
/** Time for which the result of a probe is reused, so that health requests do not keep the disk busy, and timeout of a probe. */
const PROBED_FOR_MS = 5_000
const PROBE_MS = 2_000
/** A full disk may still take small writes, so a failed write counts for this long. */
const FAILED_FOR_MS = 10_000

export type ObservedParts = {
  readonly log: Log
  /** Free pages of the database, and whether commits are synced to a disk. */
  readonly freePages?: () => number
}

export class ObservedStore {
  readonly #inner: Store
  readonly #parts: ObservedParts
  readonly #operations = { get: new Histogram(REQUESTS), list: new Histogram(REQUESTS), update: new Histogram(REQUESTS) }
  readonly #commits = new Histogram(COMMITS)
  #failures = 0
  /** The error of the last write, until one succeeds. */
  #problem: string | undefined
  #failedAt = Number.NEGATIVE_INFINITY
  /** Called when a write was refused for lack of space: history may be given up early. */
  onFull: () => void = () => {}
  #isFull = false
  #probe: { readonly at: number; readonly result: Promise<string | undefined> } | undefined

  constructor(inner: Store, parts: ObservedParts) {
    this.#inner = inner
    this.#parts = parts
  }

  /** The store to use: a failed write is answered with 503 and the reason. */
  get store(): Store {
    const inner = this.#inner
    return {
      get: (key, at, trace) => this.#timed('get', () => inner.get(key, at, trace)),
      list: (prefix, page) => this.#timed('list', () => inner.list(prefix, page)),
      ...(inner.readBack && { readBack: (key: string, modified: Revision) => inner.readBack!(key, modified) }),
      ...(inner.isStale && { isStale: (key: string, trace?: RequestTrace) => inner.isStale!(key, trace) }),
      swap: (key, change) => this.#swap(key, change),
      watch: (prefix, after, signal) => inner.watch(prefix, after, signal),
      ...(inner.isShared && { isShared: inner.isShared }),
      get generation() {
        return inner.generation ?? 0
      },
      fresh: () => this.#fresh(),
      extent: () => inner.extent(),
      compact: (before: Revision) => inner.compact(before),
      ...(inner.size && { size: () => inner.size!() }),
      probe: () => inner.probe(),
      abandon: () => inner.abandon?.(),
      close: () => inner.close(),
    }
  }

  /** Free pages of the database, where it has pages. */
  get freePages(): number | undefined {
    return this.#parts.freePages?.()
  }

  committed(ms: number): void {
    this.#commits.observe(ms / 1000)
  }

  /** Whether the store can be written, synced and read. */
  get check(): HealthCheck {
    return { name: 'etcd', check: () => this.#probed() }
  }

  /**
   * Passes with a warning while the store is full: kube-apiserver stays ready when its etcd raises NOSPACE, and a load balancer must
   * go on to pass deletions to this server.
   */
  get quotaCheck(): HealthCheck {
    return {
      name: 'etcd-quota',
      check: () => undefined,
      warning: () => (this.#watchQuota() ? 'alarm NOSPACE: the store is full and takes deletions only' : undefined),
    }
  }

  /** Whether the store is full; changes of that are logged. */
  #watchQuota(): boolean {
    const size = this.#inner.size?.()
    if (!size) return false
    if (size.isFull !== this.#isFull) {
      this.#isFull = size.isFull
      const { usedBytes, quotaBytes } = size
      if (size.isFull) this.#parts.log.error({ alarm: 'NOSPACE', usedBytes, quotaBytes }, 'the store is full; it takes deletions only')
      else this.#parts.log.warn({ usedBytes, quotaBytes }, 'the store has space again')
    }
    return size.isFull
  }

  families(): Family[] {
    const { freePages } = this.#parts
    const isFull = this.#watchQuota()
    const size = this.#inner.size?.()
    const requests = Object.entries(this.#operations).filter(([, { count }]) => count > 0)
    return [
      {
        name: 'etcd_request_duration_seconds',
        type: 'histogram',
        help: 'Time that requests to the store have taken.',
        samples: requests.map(([operation, histogram]) => [{ operation, type: '' }, histogram] as const),
      },
      {
        name: 'etcd_request_errors_total',
        type: 'counter',
        help: 'Requests to the store that have failed.',
        samples: [[{ operation: 'update', type: '' }, this.#failures]],
      },
      ...(this.#inner.generation === undefined ? [] : [generationFamily(this.#inner.generation)]),
      ...(size ? sizeFamilies(size, isFull) : []),
      ...(freePages
        ? [
            {
              name: 'keelson_store_free_pages',
              type: 'gauge',
              across: 'max',
              help: 'Pages that are free for reuse.',
              samples: [[{}, freePages()]],
            } as const,
            {
              name: 'etcd_disk_backend_commit_duration_seconds',
              type: 'histogram',
              help: 'Time that commits have taken until they were synced to disk; one holds many writes.',
              samples: [[{}, this.#commits]],
            } as const,
          ]
        : []),
    ]
  }

  async #swap(key: string, change: Change): Promise<Swap> {
    const began = monotonicMs()
    try {
      const swapped = await this.#inner.swap(key, change)
      this.#operations.update.observe((monotonicMs() - began) / 1000)
      if (this.#problem !== undefined && swapped.ok) {
        this.#problem = undefined
        this.#parts.log.warn({}, 'the store takes writes again')
      }
      return swapped
    } catch (error) {
      // A request that is too large never reaches the store.
      if (error instanceof FencedOff || error instanceof StatusError) throw error
      this.#failures++
      if (error instanceof SpaceExceeded) {
        this.#watchQuota()
        this.onFull()
        throw spaceExceeded(error.problem)
      }
      if (error instanceof TransformError) throw internalError(error.message)
      // As in kube-apiserver, a failure that is not the client's says that the write may have been made nevertheless.
      if (error instanceof OutcomeUnknown) throw outcomeUnknown(error.message)
      if (error instanceof ValueTooLarge) throw tooLarge(error.message)
      if (!(error instanceof StoreUnavailable)) throw error
      if (this.#problem !== error.message) this.#parts.log.error({ error: error.message }, 'the store takes no writes')
      this.#problem = error.message
      this.#failedAt = monotonicMs()
      throw unavailable(`the server cannot store anything now: ${error.problem}`)
    }
  }

  #fresh(): MaybePromise<Revision> {
    const answer = this.#inner.fresh()
    return answer instanceof Promise ? this.#timed('get', () => answer) : answer
  }

  async #timed<R>(operation: 'get' | 'list', ask: () => Promise<R>): Promise<R> {
    const began = monotonicMs()
    try {
      const result = await ask()
      this.#operations[operation].observe((monotonicMs() - began) / 1000)
      return result
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error
      throw unavailable(`the server cannot read its store now: ${error.problem}`)
    }
  }

  #probed(): Promise<string | undefined> {
    const now = monotonicMs()
    if (this.#problem !== undefined && now - this.#failedAt < FAILED_FOR_MS) return Promise.resolve(this.#problem)
    if (!this.#probe || now - this.#probe.at > PROBED_FOR_MS) this.#probe = { at: now, result: this.#probeNow() }
    return this.#probe.result
  }

  async #probeNow(): Promise<string | undefined> {
    let timer: Timer | undefined
    const late = new Promise<string>(resolve => {
      timer = startDeadline(() => resolve(`nothing could be written within ${PROBE_MS / 1000} seconds`), PROBE_MS)
    })
    const probed = this.#inner.probe().then(
      () => undefined,
      (error: Error) => error.message,
    )
    try {
      return await Promise.race([probed, late])
    } finally {
      stopTimer(timer)
    }
  }
}

const generationFamily = (generation: number): Family => ({
  name: 'keelson_store_generation',
  type: 'counter',
  across: 'max',
  help: 'How often etcd has gone back to an earlier state.',
  samples: [[{}, generation]],
})

const sizeFamilies = ({ bytes, usedBytes, quotaBytes }: StoreSize, isFull: boolean): Family[] => [
  {
    name: 'apiserver_storage_size_bytes',
    type: 'gauge',
    across: 'max',
    help: 'What the database has taken from the disk, or from memory.',
    samples: [[{ storage_cluster_id: 'etcd-0' }, bytes]],
  },
  { name: 'keelson_store_used_bytes', type: 'gauge', across: 'max', help: 'What of that is in use.', samples: [[{}, usedBytes]] },
  {
    name: 'etcd_server_quota_backend_bytes',
    type: 'gauge',
    across: 'max',
    help: 'What may be in use at most (--quota-backend-bytes).',
    samples: [[{}, Number.isFinite(quotaBytes) ? quotaBytes : 0]],
  },
  {
    name: 'keelson_store_alarm',
    type: 'gauge',
    across: 'max',
    help: 'Whether an alarm is raised. With NOSPACE the store takes deletions only.',
    samples: [[{ alarm: 'NOSPACE' }, isFull ? 1 : 0]],
  },
]
