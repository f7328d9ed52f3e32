/** The steps of a start that have health checks: `poststarthook/NAME`, with the names of kube-apiserver. */
import type { HealthCheck } from '../http/observability/health.ts'
import type { MaybePromise } from '../lib/maybe-promise.ts'

/** The hooks of aggregated API groups. */
export const AGGREGATION_HOOKS = [
  'start-kube-aggregator-informers',
  'apiservice-registration-controller',
  'apiservice-status-local-available-controller',
  'apiservice-status-remote-available-controller',
  'apiservice-discovery-controller',
  'apiservice-openapi-controller',
  'apiservice-openapiv3-controller',
] as const

/** The hook of the address by which peers find this server, and those of requests that it passes on to them. */
export const PEER_HOOKS = {
  announced: 'peer-endpoint-reconciler-controller',
  passingOn: ['mixed-version-proxy-handler', 'local-discovery-cache-sync', 'peer-discovery-workers'],
} as const
type PeerHook = typeof PEER_HOOKS.announced | (typeof PEER_HOOKS.passingOn)[number]

const HOOKS = [
  'start-apiserver-admission-initializer',
  'generic-apiserver-start-informers',
  'priority-and-fairness-config-consumer',
  'start-apiextensions-informers',
  'start-apiextensions-controllers',
  'crd-informer-synced',
  'start-system-namespaces-controller',
  'start-cluster-authentication-info-controller',
  'start-legacy-token-tracking-controller',
  'storage-readiness',
  'start-service-ip-repair-controllers',
  'rbac/bootstrap-roles',
  'scheduling/bootstrap-system-priority-classes',
  'priority-and-fairness-config-producer',
  'bootstrap-controller',
  'start-kubernetes-service-cidr-controller',
  ...AGGREGATION_HOOKS,
  'kube-apiserver-autoregistration',
] as const

/** Outcomes of steps, which are no steps in kube-apiserver: their checks have no prefix. */
const OUTCOMES = ['autoregister-completion'] as const
type Hook = (typeof HOOKS)[number] | PeerHook | (typeof OUTCOMES)[number]

export class StartHooks {
  readonly #done = new Set<Hook>()
  readonly #ofPeers: readonly PeerHook[]

  /** With the hooks of peers that this server has. */
  constructor(ofPeers: readonly PeerHook[] = []) {
    this.#ofPeers = ofPeers
  }

  /** Marks steps as done when the work is; returns its result. */
  async track<R>(names: readonly Hook[], work: MaybePromise<R>): Promise<R> {
    const result = await work
    for (const name of names) this.#done.add(name)
    return result
  }

  checks(): HealthCheck[] {
    const check = (hook: Hook, name: string) => ({ name, check: () => (this.#done.has(hook) ? undefined : 'not finished') })
    return [
      ...[...HOOKS, ...this.#ofPeers].map(hook => check(hook, `poststarthook/${hook}`)),
      ...OUTCOMES.map(outcome => check(outcome, outcome)),
    ]
  }
}
