/** The steps of a start that have health checks: `poststarthook/NAME`, with the names of kube-apiserver. */
import type { HealthCheck } from '../http/observability/health.ts'

const HOOKS = [
  'crd-informer-synced',
  'start-system-namespaces-controller',
  'start-service-ip-repair-controllers',
  'rbac/bootstrap-roles',
  'scheduling/bootstrap-system-priority-classes',
  'priority-and-fairness-config-consumer',
  'priority-and-fairness-config-producer',
  'bootstrap-controller',
  'kube-apiserver-autoregistration',
  'start-cluster-authentication-info-controller',
] as const
type Hook = (typeof HOOKS)[number]

export class StartHooks {
  readonly #done = new Map<Hook, boolean>()

  constructor() {
    for (const name of HOOKS) this.#done.set(name, false)
  }

  /** Notes when steps are done; the promise is handed back. */
  track<R>(names: readonly Hook[], work: Promise<R>): Promise<R> {
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
