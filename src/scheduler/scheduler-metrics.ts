/** The metrics of the scheduler, under the names of kube-scheduler. */
import { type Family, Histogram, type Labels } from '../lib/exposition.ts'
import { GroupMetrics } from './groups/group-metrics.ts'

/** Seconds, or numbers, each bound so many times the one before. */
const growing = (first: number, factor: number, count: number) => Array.from({ length: count }, (_, i) => first * factor ** i)
const ATTEMPTS = growing(0.001, 2, 15)
const WAITS = growing(0.01, 2, 20)
const MAX_COUNTED_ATTEMPTS = 15

export type AttemptResult = 'scheduled' | 'unschedulable' | 'error'
/** Pods that wait, by the part of the queue that they wait in. */
export type PendingPods = Readonly<Record<'active' | 'backoff' | 'unschedulable' | 'gated', number>>
/** The state of the queue. */
export type Pending = {
  readonly pods: PendingPods
  /** The same for pods without a group, and for groups. */
  readonly entities: Readonly<Record<'pod' | 'podgroup', PendingPods>>
  /** Pods whose group, or a group above it, is not there. */
  readonly incomplete: number
}

export class SchedulerMetrics {
  readonly groups = new GroupMetrics()
  readonly #attempts = new Map<string, { readonly labels: Labels; readonly seconds: Histogram }>()
  readonly #algorithm = new Histogram(ATTEMPTS)
  readonly #triesOfPods = new Histogram(growing(1, 2, 5))
  readonly #waits = new Map<string, Histogram>()
  readonly #victims = new Histogram(growing(1, 2, 7))
  #preemptions = 0
  #pending: (() => Pending) | undefined

  /** A scheduler has begun: says which pods wait. */
  begun(pending: () => Pending): void {
    this.#pending = pending
  }

  /** A pod was tried. */
  attempted(result: AttemptResult, profile: string, seconds: number): void {
    const key = `${result} ${profile}`
    let known = this.#attempts.get(key)
    if (!known) this.#attempts.set(key, (known = { labels: { result, profile }, seconds: new Histogram(ATTEMPTS) }))
    known.seconds.observe(seconds)
  }

  /** A node was looked for. */
  searched(seconds: number): void {
    this.#algorithm.observe(seconds)
  }

  /** A pod has its node, after so many attempts and so many seconds since it came. */
  placed(attempts: number, seconds: number): void {
    this.#triesOfPods.observe(attempts)
    const label = attempts >= MAX_COUNTED_ATTEMPTS ? `${MAX_COUNTED_ATTEMPTS}+` : String(attempts)
    let waits = this.#waits.get(label)
    if (!waits) this.#waits.set(label, (waits = new Histogram(WAITS)))
    waits.observe(seconds)
  }

  /** Room was looked for among less important pods, of which these are to go. */
  preempted(victims: number): void {
    this.#preemptions++
    if (victims > 0) this.#victims.observe(victims)
  }

  /** Nothing where no scheduler runs. */
  families(): Family[] {
    if (!this.#pending) return []
    const attempts = [...this.#attempts.values()]
    const { pods, entities, incomplete } = this.#pending()
    return [
      {
        name: 'scheduler_schedule_attempts_total',
        type: 'counter',
        help: 'Attempts to schedule pods, by result.',
        samples: attempts.map(({ labels, seconds }) => [labels, seconds.count] as const),
      },
      {
        name: 'scheduler_scheduling_attempt_duration_seconds',
        type: 'histogram',
        help: 'Time of attempts to schedule pods, to their binding.',
        samples: attempts.map(({ labels, seconds }) => [labels, seconds] as const),
      },
      {
        name: 'scheduler_scheduling_algorithm_duration_seconds',
        type: 'histogram',
        help: 'Time that the search for a node took.',
        samples: [[{}, this.#algorithm]],
      },
      {
        name: 'scheduler_pending_pods',
        type: 'gauge',
        help: 'Pods that wait for a node, by queue.',
        // Pods that join a group while it is tried are with it at once: none is pending.
        samples: Object.entries({ ...pods, incomplete, pending: 0 }).map(([queue, count]) => [{ queue }, count] as const),
      },
      {
        name: 'scheduler_queued_entities',
        type: 'gauge',
        help: 'Pods without a group, and groups of pods, that wait for nodes, by queue.',
        samples: Object.entries(entities).flatMap(([type, counts]) =>
          Object.entries(counts).map(([queue, count]) => [{ queue, type }, count] as const),
        ),
      },
      {
        name: 'scheduler_pod_scheduling_attempts',
        type: 'histogram',
        help: 'Attempts until a pod was scheduled.',
        samples: [[{}, this.#triesOfPods]],
      },
      {
        name: 'scheduler_pod_scheduling_sli_duration_seconds',
        type: 'histogram',
        help: 'Time from the arrival of a pod until it was scheduled, by attempts.',
        samples: [...this.#waits].map(([attempts, waits]) => [{ attempts }, waits] as const),
      },
      {
        name: 'scheduler_preemption_attempts_total',
        type: 'counter',
        help: 'Attempts to make room for a pod.',
        samples: [[{}, this.#preemptions]],
      },
      {
        name: 'scheduler_preemption_victims',
        type: 'histogram',
        help: 'Pods that had to go for one pod.',
        samples: [[{}, this.#victims]],
      },
      ...this.groups.families(),
    ]
  }
}
