/** Requests per second, their time and their errors, from the metrics as they are read again and again. */
import { type Signal, signal } from '@preact/signals'
import { loadMetrics, type Metrics, quantile, sum } from '../../core/metrics.ts'

export type Load = {
  readonly times: readonly number[]
  readonly rate: readonly (number | null)[]
  readonly errors: readonly (number | null)[]
  readonly median: readonly (number | null)[]
  readonly slow: readonly (number | null)[]
  readonly inFlight: number
}

const NAMES = new Set([
  'apiserver_request_total',
  'apiserver_request_duration_seconds_bucket',
  'apiserver_current_inflight_requests',
  'apiserver_resource_objects',
])
const EVERY_MS = 2_000
const MAX_POINTS = 150
const isShort = ({ verb }: Readonly<Record<string, string>>) => verb !== 'WATCH' && verb !== 'CONNECT'

export type LiveLoad = {
  readonly load: Signal<Load | undefined>
  readonly counts: Signal<ReadonlyMap<string, number> | undefined>
  readonly error: Signal<unknown>
  close(): void
}

export function liveLoad(): LiveLoad {
  const load = signal<Load | undefined>(undefined)
  const counts = signal<ReadonlyMap<string, number> | undefined>(undefined)
  const error = signal<unknown>(undefined)
  const abort = new AbortController()
  let before: { at: number; metrics: Metrics } | undefined
  let timer: ReturnType<typeof setTimeout> | undefined
  const read = async () => {
    try {
      if (!document.hidden) {
        const metrics = await loadMetrics(NAMES, abort.signal)
        const at = Date.now()
        counts.value = new Map(
          (metrics.get('apiserver_resource_objects') ?? []).map(({ labels, value }) => [
            labels['group'] ? `${labels['resource']}.${labels['group']}` : labels['resource']!,
            value,
          ]),
        )
        if (before) load.value = next(load.value, before.metrics, metrics, (at - before.at) / 1000, at / 1000)
        before = { at, metrics }
        error.value = undefined
      }
    } catch (failure) {
      if (!abort.signal.aborted) error.value = failure
    }
    if (!abort.signal.aborted) timer = setTimeout(read, EVERY_MS)
  }
  void read()
  return {
    load,
    counts,
    error,
    close() {
      abort.abort()
      clearTimeout(timer)
    },
  }
}

function next(load: Load | undefined, before: Metrics, now: Metrics, seconds: number, at: number): Load {
  const requests = (metrics: Metrics, fits: Parameters<typeof sum>[1]) => sum(metrics.get('apiserver_request_total'), fits)
  const grown = (fits: Parameters<typeof sum>[1]) => Math.max(0, requests(now, fits) - requests(before, fits)) / seconds
  const buckets = 'apiserver_request_duration_seconds_bucket'
  const time = (share: number) => {
    const found = quantile(share, now.get(buckets), before.get(buckets), isShort)
    return found === undefined ? null : found * 1000
  }
  const push = <T>(list: readonly T[] | undefined, value: T): T[] => [...(list ?? []), value].slice(-MAX_POINTS)
  return {
    times: push(load?.times, at),
    rate: push(load?.rate, grown(undefined)),
    errors: push(
      load?.errors,
      grown(({ code = '' }) => code.startsWith('5')),
    ),
    median: push(load?.median, time(0.5)),
    slow: push(load?.slow, time(0.99)),
    inFlight: sum(now.get('apiserver_current_inflight_requests')),
  }
}
