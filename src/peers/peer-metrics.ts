/** Metrics of requests that peers answer for this server, under the names of kube-apiserver. */
import type { Family } from '../lib/exposition.ts'

/** A group version resource; all empty for a request for discovery. */
export type CountedResource = { readonly group: string; readonly version: string; readonly resource: string }

type Labels = Readonly<Record<string, string>>

/** Counts by the values of labels. */
class Counter {
  readonly #counts = new Map<string, { readonly labels: Labels; count: number }>()

  add(labels: Labels): void {
    const key = JSON.stringify(labels)
    const known = this.#counts.get(key) ?? { labels, count: 0 }
    known.count++
    this.#counts.set(key, known)
  }

  samples(): (readonly [Labels, number])[] {
    return [...this.#counts.values()].map(({ labels, count }) => [labels, count] as const)
  }
}

export class PeerMetrics {
  readonly #passedOn = new Counter()
  readonly #notPassedOn = new Counter()
  readonly #notDiscovered = new Counter()
  /** How often discovery was answered. */
  readonly discovered = { 'of this server': 0, 'merged anew': 0, 'merged before': 0 }

  /** A peer has answered, or was not reached. */
  passedOn(status: number, { group, version, resource }: CountedResource): void {
    this.#passedOn.add({ code: String(status), group, version, resource })
  }

  /** A request was not passed on. */
  notPassedOn(type: 'endpoint_resolution', { group, version, resource }: CountedResource): void {
    this.#notPassedOn.add({ type, group, version, resource })
  }

  notDiscovered(type: 'hostport_resolution' | 'fetch_discovery'): void {
    this.#notDiscovered.add({ type })
  }

  families(): Family[] {
    const { 'of this server': own, 'merged anew': misses, 'merged before': hits } = this.discovered
    const counted = (name: string, help: string, samples: (readonly [Labels, number])[]): Family => ({
      name,
      help,
      type: 'counter',
      samples,
    })
    return [
      counted(
        'apiserver_rerouted_request_total',
        'Requests that were passed on to a peer that serves their resource, by its answer. Without group, version and resource: requests for discovery.',
        this.#passedOn.samples(),
      ),
      counted('apiserver_peer_proxy_errors_total', 'Requests that could not be passed on to a peer.', this.#notPassedOn.samples()),
      counted('apiserver_peer_discovery_sync_errors_total', 'Failures to read what a peer serves.', this.#notDiscovered.samples()),
      counted('aggregator_discovery_peer_aggregated_cache_hits_total', 'Answers with merged discovery that was made before.', [[{}, hits]]),
      counted('aggregator_discovery_peer_aggregated_cache_misses_total', 'Discovery that was merged with that of peers.', [[{}, misses]]),
      counted('aggregator_discovery_nopeer_requests_total', 'Requests for the discovery of this server alone.', [[{}, own]]),
    ]
  }
}
