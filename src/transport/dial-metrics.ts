/** Metrics of connections that are made through proxies, under the names of kube-apiserver. */
import { Counts } from '../lib/counts.ts'
import { type Family, Histogram, type Labels } from '../lib/exposition.ts'

/** The part of a dial that failed: reaching the proxy, or being connected by it. */
export type DialStage = 'connect' | 'proxy'

/** How a proxy is spoken to. */
export type DialKind = { readonly protocol: 'http_connect' | 'grpc'; readonly transport: 'tcp' | 'uds' }

/** One connection through a proxy that is being made. */
export type ObservedDial = { opened(): void; failed(stage: DialStage): void }

/** The state of a connection to a proxy of Konnectivity. */
export type TunnelStatus = 'created' | 'dialing' | 'ok'
export type TunnelFailure = 'unknown' | 'timeout' | 'endpoint' | 'dialclosed' | 'tunnelclosed' | 'context'

const BOUNDS = [0.005, 0.025, 0.1, 0.5, 2.5, 12.5]
const STATUSES: readonly TunnelStatus[] = ['created', 'dialing', 'ok']

export class DialMetrics {
  readonly #starts = new Counts()
  readonly #failures = new Counts()
  readonly #durations = new Map<string, { readonly labels: Labels; readonly histogram: Histogram }>()
  readonly #packets = new Counts()
  readonly #tunnelFailures = new Counts()
  readonly #tunnels = new Map<TunnelStatus, number>()

  begin({ protocol, transport }: DialKind): ObservedDial {
    const labels = { protocol, transport }
    this.#starts.add(labels)
    const began = performance.now()
    return {
      opened: () => this.#durationsOf(labels).observe((performance.now() - began) / 1000),
      failed: stage => this.#failures.add({ ...labels, stage }),
    }
  }

  /** A connection to a proxy of Konnectivity came into a state, or has left it for the next one or for good. */
  tunnelChanged(from: TunnelStatus | undefined, to: TunnelStatus | undefined): void {
    if (from) this.#tunnels.set(from, (this.#tunnels.get(from) ?? 0) - 1)
    if (to) this.#tunnels.set(to, (this.#tunnels.get(to) ?? 0) + 1)
  }

  tunnelFailed(reason: TunnelFailure): void {
    this.#tunnelFailures.add({ reason })
  }

  packet(segment: 'from_client' | 'to_client', type: string): void {
    this.#packets.add({ segment, packet_type: type })
  }

  families(): Family[] {
    const counters: [name: string, help: string, counts: Counts][] = [
      ['apiserver_egress_dialer_dial_start_total', 'Connections through proxies that were begun.', this.#starts],
      ['apiserver_egress_dialer_dial_failure_count', 'Connections through proxies that failed, by the stage.', this.#failures],
      ['konnectivity_network_proxy_client_stream_packets_total', 'Packets to and from proxies of Konnectivity.', this.#packets],
      [
        'konnectivity_network_proxy_client_dial_failure_total',
        'Connections that proxies of Konnectivity did not make.',
        this.#tunnelFailures,
      ],
    ]
    return [
      ...counters.map(([name, help, { samples }]): Family => ({ name, help, type: 'counter', samples })),
      {
        name: 'apiserver_egress_dialer_dial_duration_seconds',
        help: 'Time until a connection through a proxy was open.',
        type: 'histogram',
        samples: [...this.#durations.values()].map(({ labels, histogram }) => [labels, histogram] as const),
      },
      {
        name: 'konnectivity_network_proxy_client_client_connections',
        help: 'Connections to proxies of Konnectivity, by their state.',
        type: 'gauge',
        samples: STATUSES.filter(status => this.#tunnels.has(status)).map(status => [{ status }, this.#tunnels.get(status)!] as const),
      },
    ].filter(({ samples }) => samples.length > 0) as Family[]
  }

  #durationsOf(labels: Labels): Histogram {
    const key = Object.values(labels).join('\n')
    let known = this.#durations.get(key)
    if (!known) this.#durations.set(key, (known = { labels, histogram: new Histogram(BOUNDS) }))
    return known.histogram
  }
}
