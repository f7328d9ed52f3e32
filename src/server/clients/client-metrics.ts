/** Metrics of writes of the server's own components, under the names of Kubernetes' clients. Reads come from the caches. */
import { type Family, Histogram, type Labels } from '../../lib/exposition.ts'
import { StatusError } from '../../schema/status-error.ts'

const BOUNDS = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60]
const METHODS: Readonly<Record<string, string>> = { create: 'POST', update: 'PUT', patch: 'PATCH' }

export class ClientMetrics {
  readonly #requests = new Map<string, { readonly labels: Labels; count: number }>()
  readonly #durations = new Map<string, Histogram>()
  readonly #host: () => string

  /** `host` returns the address of the server. */
  constructor(host: () => string) {
    this.#host = host
  }

  /** Counts a write by its code or error. */
  written(verb: string, answer: number | unknown, seconds: number): void {
    const method = METHODS[verb] ?? 'DELETE'
    const code = typeof answer === 'number' ? String(answer) : answer instanceof StatusError ? String(answer.code) : '<error>'
    const key = `${method} ${code}`
    const known = this.#requests.get(key)
    if (known) known.count++
    else this.#requests.set(key, { labels: { code, method }, count: 1 })
    let durations = this.#durations.get(method)
    if (!durations) this.#durations.set(method, (durations = new Histogram(BOUNDS)))
    durations.observe(seconds)
  }

  families(): Family[] {
    const host = this.#host()
    return [
      {
        name: 'rest_client_requests_total',
        type: 'counter',
        help: 'Requests of the components of this server, by code and method.',
        samples: [...this.#requests.values()].map(({ labels, count }) => [{ ...labels, host }, count] as const),
      },
      {
        name: 'rest_client_request_duration_seconds',
        type: 'histogram',
        help: 'Time that requests of the components of this server took.',
        samples: [...this.#durations].map(([verb, durations]) => [{ verb, host }, durations] as const),
      },
    ]
  }
}
