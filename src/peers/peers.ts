/** The APIs of the peers of this server, and requests that are passed on to them. */
import { Backend, type BackendSpec } from '../aggregation/backend.ts'
import type { Sender } from '../http/aggregated.ts'
import { header, type Request, type Response } from '../http/message.ts'
import type { DiscoveredGroup, Peers } from '../http/peers.ts'
import { deepEqual } from '../lib/json-value.ts'
import type { Attributes } from '../schema/access.ts'
import { unavailable } from '../schema/status-error.ts'
import { configuredDestination } from '../transport/destination.ts'
import { authorityOf, type Dial } from '../transport/egress.ts'
import { allExcluded, type Exclusion, isExcluded, NOTHING_EXCLUDED } from './excluded-versions.ts'
import { type CountedResource, PeerMetrics } from './peer-metrics.ts'

/** Set on a request that a server has passed on: its peer answers it, whatever it serves. */
const PASSED_ON = 'x-kubernetes-peer-proxied'

/** The name by which certificates of all servers of a cluster are valid. */
const SERVER_NAME = 'kubernetes.default.svc'

export type PeerAddress = { readonly ip: string; readonly port: number }

export type PeerParts = Pick<BackendSpec, 'ca' | 'certificate'> & {
  /** The identity of this server, once it has one. */
  readonly own: () => string
  /** Whether this server serves a resource itself. */
  readonly serves: (group: string, version: string, plural: string) => boolean
  /** The address at which a server says that others reach it; undefined when it says none. */
  readonly addressOf: (identity: string) => Promise<PeerAddress | undefined>
  /** Opens connections, where they are not direct. */
  readonly dial?: Dial | undefined
  /** From 0 to 1. */
  readonly random: () => number
}

/** The API of a peer. */
export type PeerApi = {
  /** Its resources, as `GROUP/VERSION/PLURAL`. */
  readonly resources: ReadonlySet<string>
  /** Its groups but the core one. */
  readonly groups: readonly DiscoveredGroup[]
}

export class KnownPeers implements Peers, Disposable {
  readonly metrics = new PeerMetrics()
  readonly #parts: PeerParts
  readonly #backends = new Map<string, PeerAddress & { readonly backend: Backend }>()
  #discovered: ReadonlyMap<string, PeerApi> = new Map()
  #exclusion = NOTHING_EXCLUDED
  /** Without excluded versions. */
  #groups: ReadonlyMap<string, readonly DiscoveredGroup[]> = new Map()
  #version = 0

  constructor(parts: PeerParts) {
    this.#parts = parts
  }

  get own(): string {
    return this.#parts.own()
  }

  get version(): number {
    return this.#version
  }

  answer(request: Request, { resource: wanted }: Attributes, sender: Sender): Promise<Response> | undefined {
    if (!wanted || this.#discovered.size === 0 || header(request.headers, PASSED_ON) === 'true') return undefined
    const { group, version, plural } = wanted
    if (this.#parts.serves(group, version, plural) || isExcluded(this.#exclusion, group, version)) return undefined
    const key = `${group}/${version}/${plural}`
    const serving = [...this.#discovered].filter(([, { resources }]) => resources.has(key)).map(([identity]) => identity)
    return serving.length === 0 ? undefined : this.#passOn(request, sender, { serving, counted: { group, version, resource: plural } })
  }

  groups(): ReadonlyMap<string, readonly DiscoveredGroup[]> {
    return this.#groups
  }

  discovered(document: Parameters<Peers['discovered']>[0]): void {
    this.metrics.discovered[document]++
  }

  /** The peers, as they were last discovered. */
  get known(): ReadonlyMap<string, PeerApi> {
    return this.#discovered
  }

  /** Takes what all peers serve; those that are missing are gone. */
  know(discovered: ReadonlyMap<string, PeerApi>): void {
    this.#discovered = discovered
    for (const [identity, { backend }] of this.#backends)
      if (!discovered.has(identity)) {
        backend[Symbol.dispose]()
        this.#backends.delete(identity)
      }
    this.#changed()
  }

  exclude(exclusion: Exclusion): void {
    const before = this.#exclusion
    this.#exclusion = exclusion
    if (!deepEqual(allExcluded(before), allExcluded(exclusion))) this.#changed()
  }

  /** The server behind an identity, at the address that it publishes; undefined while it publishes none. */
  async find(identity: string): Promise<Backend | undefined> {
    const { addressOf, ca, certificate, dial } = this.#parts
    const address = await addressOf(identity)
    if (!address) return undefined
    const { ip, port } = address
    const known = this.#backends.get(identity)
    if (known?.ip === ip && known.port === port) return known.backend
    known?.backend[Symbol.dispose]()
    const backend = new Backend({
      host: authorityOf(ip, port),
      servername: SERVER_NAME,
      ca,
      skipsVerification: false,
      destination: () => ({ ...configuredDestination(ip, port), ...(dial && { dial }) }),
      certificate,
      headers: { [PASSED_ON]: 'true' },
      sendsUid: true,
    })
    this.#backends.set(identity, { ip, port, backend })
    return backend
  }

  async #passOn(
    request: Request,
    sender: Sender,
    { serving, counted }: { readonly serving: readonly string[]; readonly counted: CountedResource },
  ): Promise<Response> {
    const found = await Promise.all(serving.map(identity => this.find(identity).catch(() => undefined)))
    const reachable = found.filter(backend => backend !== undefined)
    const backend = reachable[Math.floor(this.#parts.random() * reachable.length)]
    if (!backend) {
      this.metrics.notPassedOn('endpoint_resolution', counted)
      throw unavailable('Error getting ip and port info of the remote server while proxying')
    }
    const { proxyRequest } = await import('../aggregation/proxy-request.ts')
    // A peer redirects where this server would, such as below a proxied pod; the new path leads through this server again.
    const response = await proxyRequest(request, sender, { backend, redirects: 'passed back' })
    this.metrics.passedOn(response.status, counted)
    return response
  }

  #changed(): void {
    const isServed = ({ metadata: { name = '' } }: DiscoveredGroup, version: string) => !isExcluded(this.#exclusion, name, version)
    const without = (group: DiscoveredGroup): DiscoveredGroup => ({
      ...group,
      versions: group.versions.filter(({ version }) => isServed(group, version)),
    })
    const filtered = (groups: readonly DiscoveredGroup[]) => groups.map(without).filter(({ versions }) => versions.length > 0)
    this.#groups = new Map([...this.#discovered].map(([identity, { groups }]) => [identity, filtered(groups)]))
    this.#version++
  }

  [Symbol.dispose](): void {
    for (const { backend } of this.#backends.values()) backend[Symbol.dispose]()
    this.#backends.clear()
  }
}
