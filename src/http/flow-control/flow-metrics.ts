/** Metrics of flow schemas and priority levels. */
import { type Family, Histogram, type Labels } from '../../lib/exposition.ts'
import type { PriorityLevel, Rejection } from './priority-level.ts'

/** Seconds. */
const DURATIONS = [0, 0.005, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30]
const SEATS = [1, 2, 4, 8, 16, 32, 64, 100]
const WATCHES = [0, 1, 10, 100, 1000, 10000]

/** Counts of one flow schema at one priority level. */
export class FlowCounts {
  readonly labels: Labels
  readonly rejected = new Map<Rejection, number>()
  readonly waited = new Histogram(DURATIONS)
  readonly waitedInVain = new Histogram(DURATIONS)
  readonly executed = new Histogram(DURATIONS)
  /** Seats that requests were estimated to need. */
  readonly estimated = new Histogram(SEATS)
  /** Watches that writes concern. */
  readonly watched = new Histogram(WATCHES)
  dispatched = 0
  waiting = 0
  waitingSeats = 0
  executing = 0
  executingSeats = 0

  constructor(schema: string, level: string) {
    this.labels = { flow_schema: schema, priority_level: level }
  }

  reject(reason: Rejection): void {
    this.rejected.set(reason, (this.rejected.get(reason) ?? 0) + 1)
  }
}

type Sample = readonly [labels: Labels, value: number]
type Of<T> = (each: T) => number

export function flowControlMetrics(counts: readonly FlowCounts[], levels: readonly PriorityLevel[]): Family[] {
  const ofFlows = (value: Of<FlowCounts>): Sample[] => counts.map(each => [each.labels, value(each)])
  const ofLevels = (value: Of<PriorityLevel>): Sample[] =>
    levels.map(each => [{ priority_level: each.configuration.name }, finite(value(each))])
  const gauge = (name: string, help: string, samples: readonly Sample[]): Family => ({ name: PREFIX + name, type: 'gauge', help, samples })
  const waits = counts.flatMap(each => [
    [{ execute: 'true', ...each.labels }, each.waited] as const,
    ...(each.waitedInVain.count > 0 ? [[{ execute: 'false', ...each.labels }, each.waitedInVain] as const] : []),
  ])
  return [
    {
      name: `${PREFIX}rejected_requests_total`,
      type: 'counter',
      help: 'Requests that flow control has rejected.',
      samples: counts.flatMap(({ labels, rejected }) => [...rejected].map(([reason, n]): Sample => [{ ...labels, reason }, n])),
    },
    {
      name: `${PREFIX}dispatched_requests_total`,
      type: 'counter',
      help: 'Requests that flow control has let start.',
      samples: ofFlows(({ dispatched }) => dispatched),
    },
    gauge(
      'current_inqueue_requests',
      'Requests that wait.',
      ofFlows(({ waiting }) => waiting),
    ),
    gauge(
      'current_executing_requests',
      'Requests that have a seat.',
      ofFlows(({ executing }) => executing),
    ),
    gauge(
      'current_inqueue_seats',
      'Seats that requests wait for.',
      ofFlows(({ waitingSeats }) => waitingSeats),
    ),
    gauge(
      'current_executing_seats',
      'Seats that are taken.',
      ofFlows(({ executingSeats }) => executingSeats),
    ),
    {
      name: `${PREFIX}work_estimated_seats`,
      type: 'histogram',
      help: 'Seats that requests were estimated to need.',
      samples: counts.filter(({ estimated }) => estimated.count > 0).map(({ labels, estimated }) => [labels, estimated] as const),
    },
    {
      name: `${PREFIX}watch_count_samples`,
      type: 'histogram',
      help: 'Watches that writes concern.',
      samples: counts.filter(({ watched }) => watched.count > 0).map(({ labels, watched }) => [labels, watched] as const),
    },
    { name: `${PREFIX}request_wait_duration_seconds`, type: 'histogram', help: 'Time that requests have waited.', samples: waits },
    {
      name: `${PREFIX}request_execution_seconds`,
      type: 'histogram',
      help: 'Time that requests have had their seat.',
      samples: counts.map(each => [{ ...each.labels, type: 'regular' }, each.executed] as const),
    },
    gauge(
      'nominal_limit_seats',
      'Seats of the level: its share of all.',
      ofLevels(({ limits }) => limits.nominal),
    ),
    gauge(
      'request_concurrency_limit',
      'Seats of the level: its share of all.',
      ofLevels(({ limits }) => limits.nominal),
    ),
    gauge(
      'lower_limit_seats',
      'Seats that the level never lends.',
      ofLevels(({ limits }) => limits.lower),
    ),
    gauge(
      'upper_limit_seats',
      'Seats that the level can have with borrowed ones.',
      ofLevels(({ limits }) => limits.upper),
    ),
    gauge(
      'current_limit_seats',
      'Seats that the level can have now.',
      ofLevels(({ limits, borrowed }) => limits.nominal + borrowed),
    ),
    gauge(
      'demand_seats',
      'Seats that are taken or waited for.',
      ofLevels(({ executing, waiting }) => executing + waiting),
    ),
  ]
}

const PREFIX = 'apiserver_flowcontrol_'
const finite = (value: number) => (value === Number.POSITIVE_INFINITY ? Number.MAX_SAFE_INTEGER : value)
