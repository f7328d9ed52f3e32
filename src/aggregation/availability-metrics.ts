/** Metrics of the availability of APIServices, under the names of kube-aggregator. */
import type { Family } from '../lib/exposition.ts'

type Available = { readonly status: string; readonly reason?: string }

export class AvailabilityMetrics {
  readonly #isAvailable = new Map<string, boolean>()
  readonly #losses = new Map<string, { readonly name: string; readonly reason: string; count: number }>()

  /** Records the condition Available of an APIService, after every change. */
  observe(name: string, condition: Available | undefined): void {
    const isAvailable = condition?.status === 'True'
    if (this.#isAvailable.get(name) && !isAvailable) this.#count(name, condition?.reason ?? 'UnknownReason')
    this.#isAvailable.set(name, isAvailable)
  }

  forget(name: string): void {
    this.#isAvailable.delete(name)
  }

  families(): Family[] {
    return [
      {
        name: 'aggregator_unavailable_apiservice',
        help: 'Gauge of APIServices which are marked as unavailable broken down by APIService name.',
        type: 'gauge',
        samples: [...this.#isAvailable].map(([name, isAvailable]) => [{ name }, isAvailable ? 0 : 1] as const),
      },
      {
        name: 'aggregator_unavailable_apiservice_total',
        help: 'Counter of APIServices which are marked as unavailable broken down by APIService name and reason.',
        type: 'counter',
        samples: [...this.#losses.values()].map(({ name, reason, count }) => [{ name, reason }, count] as const),
      },
    ]
  }

  #count(name: string, reason: string): void {
    const key = `${name} ${reason}`
    const known = this.#losses.get(key) ?? { name, reason, count: 0 }
    known.count++
    this.#losses.set(key, known)
  }
}
