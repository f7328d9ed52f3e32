/** The APIServices that name a Service: the server of each group version, and its description. */

import type { Client } from '../client/client.ts'
import type { Aggregated, AggregatedVersion, Described, Sender } from '../http/aggregated.ts'
import { type Request, type Response, textResponse } from '../http/message.ts'
import { APIService } from '../kinds/apiregistration/apiservice.ts'
import { deepEqual, type Json } from '../lib/json-value.ts'
import type { Attributes } from '../schema/access.ts'
import { conditionOf } from '../schema/conditions.ts'
import { AvailabilityMetrics } from './availability-metrics.ts'
import { Backend, type BackendSpec } from './backend.ts'
import type { ServiceDestination, ServiceReference } from './endpoint.ts'

const DEFAULT_PORT = 443

/** Advice for a Service whose pods are simulated. */
const INSTEAD =
  'run the API server where this server reaches it, and give the Service its address: by the annotation sim.keelson.dev/address, in an EndpointSlice of your own, or as type ExternalName'

export type RegistrationParts = Pick<BackendSpec, 'certificate' | 'sendsUid'> & {
  readonly destination: ServiceDestination
  /** Names this server in `Via`. */
  readonly serverName: string
}

const availableOf = ({ status }: APIService) => conditionOf(status?.conditions, 'Available')

/** One APIService with its server. */
export class Registration implements AggregatedVersion {
  readonly name: string
  readonly group: string
  readonly version: string
  readonly groupPriority: number
  readonly versionPriority: number
  readonly service: ServiceReference
  readonly backend: Backend
  isAvailable = false
  described: Described | undefined

  constructor({ metadata, spec }: APIService, parts: RegistrationParts) {
    const { group = '', version = '', service, caBundle = '', insecureSkipTLSVerify = false } = spec
    this.name = metadata.name!
    this.group = group
    this.version = version
    this.groupPriority = spec.groupPriorityMinimum
    this.versionPriority = spec.versionPriority
    const { namespace = '', name = '', port = DEFAULT_PORT } = service ?? {}
    this.service = { namespace, name, port }
    const servername = `${name}.${namespace}.svc`
    const { destination, serverName, certificate, sendsUid } = parts
    this.backend = new Backend({
      host: `${servername}:${port}`,
      servername,
      ca: Buffer.from(caBundle, 'base64').toString('utf8'),
      skipsVerification: insecureSkipTLSVerify,
      destination: () => destination(this.service, INSTEAD),
      certificate,
      via: `1.1 ${serverName}`,
      sendsUid,
    })
  }

  /** The path of the server's discovery. */
  get path(): string {
    return this.group === '' ? `/api/${this.version}` : `/apis/${this.group}/${this.version}`
  }

  async answer(request: Request, sender: Sender): Promise<Response> {
    if (!this.isAvailable) return textResponse(503, 'service unavailable\n')
    return (await import('./proxy-request.ts')).proxyRequest(request, sender, { backend: this.backend, redirects: 'refused' })
  }
}

export class Registrations implements Aggregated {
  readonly metrics = new AvailabilityMetrics()
  readonly #byVersion = new Map<string, Registration>()
  readonly #byName = new Map<string, { readonly registration: Registration; readonly spec: Json }>()
  readonly #parts: RegistrationParts
  /** This group registers the others, so that another server never serves it. */
  readonly #own: string
  readonly #listeners = new Set<() => void>()
  #version = 0

  constructor(parts: RegistrationParts, groupDomain: string) {
    this.#parts = parts
    this.#own = `apiregistration.${groupDomain}`
  }

  get version(): number {
    return this.#version
  }

  /** Calls the listener when an aggregated server comes, goes, becomes available or unavailable, or describes itself otherwise. */
  onChange(listener: () => void, signal: AbortSignal): void {
    this.#listeners.add(listener)
    signal.addEventListener('abort', () => this.#listeners.delete(listener), { once: true })
  }

  /** Follows the APIServices. `onFirst` is called with the first one that names a Service. */
  async follow(client: Client, signal: AbortSignal, onFirst: () => void): Promise<void> {
    let isFirst = true
    signal.addEventListener('abort', () => this.#end(), { once: true })
    await client.of(APIService).watch(({ type, current }) => {
      const stored = type === 'deleted' ? undefined : current.object
      if (stored) this.metrics.observe(current.name, availableOf(stored))
      else this.metrics.forget(current.name)
      if (!stored?.spec.service || stored.spec.group === this.#own) return this.#remove(current.name)
      this.#put(stored)
      if (isFirst) onFirst()
      isFirst = false
    }, signal)
  }

  named(name: string): Registration | undefined {
    return this.#byName.get(name)?.registration
  }

  find(group: string, version: string): Registration | undefined {
    return this.#byVersion.size === 0 ? undefined : this.#byVersion.get(`${group}/${version}`)
  }

  at({ path, resource }: Attributes): Registration | undefined {
    if (this.#byVersion.size === 0) return undefined
    if (resource) return this.find(resource.group, resource.version)
    const [, root, ...rest] = path.split('/')
    if (root === 'apis') return rest[1] ? this.find(rest[0]!, rest[1]) : undefined
    const [v3, apis, group = '', version = ''] = rest
    if (root !== 'openapi' || v3 !== 'v3' || apis !== 'apis') return undefined
    const found = this.find(group, version)
    return found?.described?.openApiV3?.has(`apis/${group}/${version}`) ? found : undefined
  }

  all(): Iterable<Registration> {
    return this.#byVersion.values()
  }

  /** Stores the description of a server, if it is still the registered one. */
  describe(registration: Registration, described: Described): void {
    if (this.named(registration.name) !== registration) return
    const before = registration.described
    registration.described = described
    const isSame =
      before && (['discovery', 'openApiV2', 'openApiV3', 'convertedV3'] as const).every(part => before[part] === described[part])
    if (!isSame) this.#changed()
  }

  #put(stored: APIService): void {
    const name = stored.metadata.name!
    const before = this.#byName.get(name)
    const spec = stored.spec as Json
    const isAvailable = availableOf(stored)?.status === 'True'
    if (before && deepEqual(before.spec, spec)) {
      if (before.registration.isAvailable === isAvailable) return
      before.registration.isAvailable = isAvailable
      this.#tellListeners()
      return
    }
    before?.registration.backend[Symbol.dispose]()
    const registration = new Registration(stored, this.#parts)
    registration.isAvailable = isAvailable
    // Until the new server has answered, the description of the old one is used.
    registration.described = before?.registration.described
    this.#byName.set(name, { registration, spec })
    this.#byVersion.set(`${registration.group}/${registration.version}`, registration)
    this.#changed()
  }

  #remove(name: string): void {
    const found = this.#byName.get(name)?.registration
    if (!found) return
    found.backend[Symbol.dispose]()
    this.#byName.delete(name)
    this.#byVersion.delete(`${found.group}/${found.version}`)
    this.#changed()
  }

  /** Documents that were derived from the servers are no longer true. */
  #changed(): void {
    this.#version++
    this.#tellListeners()
  }

  #tellListeners(): void {
    for (const listener of this.#listeners) listener()
  }

  #end(): void {
    for (const { backend } of this.#byVersion.values()) backend[Symbol.dispose]()
  }
}
