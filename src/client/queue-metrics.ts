/** Metrics of the work queues of a server, under the names of Kubernetes. */
import { monotonicMs } from '../lib/environment.ts'

/** Seconds, by powers of ten. */
const BOUNDS = [1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.1, 1, 10]

/** Counts of durations up to each bound; in the shape in which histograms are written out. */
class Durations {
  readonly bounds: readonly number[] = BOUNDS
  readonly counts = new Float64Array(BOUNDS.length)
  sum = 0
  count = 0

  observe(seconds: number): void {
    this.sum += seconds
    this.count++
    const at = BOUNDS.findIndex(bound => seconds <= bound)
    if (at >= 0) this.counts[at]!++
  }
}

/** The state of a queue: how many keys wait, and when those that are under way were begun. */
export type QueueState = { readonly depth: number; readonly begun: readonly number[] }

export class QueueMetrics {
  readonly name: string
  adds = 0
  retries = 0
  readonly waited = new Durations()
  readonly worked = new Durations()
  #state: () => QueueState = () => ({ depth: 0, begun: [] })

  constructor(name: string) {
    this.name = name
  }

  observe(state: () => QueueState): void {
    this.#state = state
  }

  get state(): QueueState {
    return this.#state()
  }
}

type Labels = Readonly<Record<string, string>>
/** Metrics of one name, as they are written out. */
export type QueueFamily = { readonly name: string; readonly help: string } & (
  | { readonly type: 'counter' | 'gauge'; readonly samples: readonly (readonly [labels: Labels, value: number])[] }
  | { readonly type: 'histogram'; readonly samples: readonly (readonly [labels: Labels, histogram: Durations])[] }
)

/** All that is counted of these queues. */
export function queueFamilies(queues: readonly QueueMetrics[]): QueueFamily[] {
  const now = monotonicMs()
  const numbers = (value: (queue: QueueMetrics) => number) => queues.map(queue => [{ name: queue.name }, value(queue)] as const)
  const running = ({ state }: QueueMetrics) => state.begun.map(begun => (now - begun) / 1000)
  const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0)
  return [
    { name: 'workqueue_adds_total', type: 'counter', help: 'Keys added to the queue.', samples: numbers(queue => queue.adds) },
    { name: 'workqueue_depth', type: 'gauge', help: 'Keys that wait in the queue.', samples: numbers(queue => queue.state.depth) },
    {
      name: 'workqueue_longest_running_processor_seconds',
      type: 'gauge',
      help: 'How long the longest running reconcile has taken so far.',
      samples: numbers(queue => Math.max(0, ...running(queue))),
    },
    {
      name: 'workqueue_queue_duration_seconds',
      type: 'histogram',
      help: 'How long keys wait in the queue.',
      samples: queues.map(queue => [{ name: queue.name }, queue.waited] as const),
    },
    { name: 'workqueue_retries_total', type: 'counter', help: 'Keys tried again after a failure.', samples: numbers(q => q.retries) },
    {
      name: 'workqueue_unfinished_work_seconds',
      type: 'gauge',
      help: 'How long all running reconciles have taken so far.',
      samples: numbers(queue => sum(running(queue))),
    },
    {
      name: 'workqueue_work_duration_seconds',
      type: 'histogram',
      help: 'How long reconciling a key takes.',
      samples: queues.map(queue => [{ name: queue.name }, queue.worked] as const),
    },
  ]
}
