/** What is done while the server starts, each step with its health check under the name that kube-apiserver has for it. */
import type { HealthCheck } from '../http/observability/health.ts'

export class StartHooks {
  readonly #done = new Map<string, boolean>()

  /** Names the steps, in the order in which they are told. */
  constructor(names: readonly string[]) {
    for (const name of names) this.#done.set(name, false)
  }

  /** Notes when steps are done; the promise is handed back. */
  track<R>(names: readonly string[], work: Promise<R>): Promise<R> {
    return work.then(result => {
      for (const name of names) this.#done.set(name, true)
      return result
    })
  }

  checks(): HealthCheck[] {
    return [...this.#done.keys()].map(name => ({
      name: `poststarthook/${name}`,
      check: () => (this.#done.get(name) ? undefined : 'not finished'),
    }))
  }
}
