/** Opens the port of a server: endpoints, request handling and metrics, over HTTPS with certificates that are renewed. */
import type { Auditor } from '../../audit/auditor.ts'
import type { Authorizer } from '../../authz/authorizer.ts'
import type { Binding } from '../../authz/role-index.ts'
import type { Faults } from '../../faults/faults.ts'
import type { Aggregated } from '../../http/aggregated.ts'
import { Cors } from '../../http/cors.ts'
import { documentEndpoints } from '../../http/documents/documents.ts'
import { openIdEndpoints } from '../../http/documents/openid.ts'
import { ownApiEndpoint } from '../../http/documents/own-api.ts'
import { versionEndpoint, versionInfo } from '../../http/documents/version.ts'
import { type EndpointRule, Endpoints } from '../../http/endpoints.ts'
import { FlowControl } from '../../http/flow-control/flow-control.ts'
import type { Freshness } from '../../http/fresh.ts'
import { type ListenOptions, listen, type Port } from '../../http/listener/listen.ts'
import { Health, type HealthCheck } from '../../http/observability/health.ts'
import type { Log } from '../../http/observability/log.ts'
import { Metrics, metricsEndpoint } from '../../http/observability/metrics.ts'
import { OpenStreams } from '../../http/observability/open-streams.ts'
import { RequestLog } from '../../http/observability/request-log.ts'
import { SlowRequests } from '../../http/observability/slow-requests.ts'
import { type ZPagesParts, zPages } from '../../http/observability/z-pages.ts'
import type { Peers } from '../../http/peers.ts'
import { requestsEndpoints } from '../../http/requests-endpoint.ts'
import { createServe, type Surroundings } from '../../http/serve.ts'
import type { Tracer } from '../../http/tracing/tracer.ts'
import { writesEndpoint } from '../../http/write-authors.ts'
import type { Clock } from '../../lib/clock.ts'
import { chance, processBeganMs } from '../../lib/environment.ts'
import type { Family } from '../../lib/exposition.ts'
import { LIMITS } from '../../lib/limits.ts'
import { readTlsSettings } from '../../lib/tls-settings.ts'
import type { Registry } from '../../registry/api.ts'
import type { Writers } from '../../registry/writers.ts'
import type { Attributes } from '../../schema/access.ts'
import type { AnyObject } from '../../schema/object-meta.ts'
import type { Resource } from '../../schema/resource.ts'
import { VERSION } from '../../version.ts'
import type { Authentication } from '../access/authentication.ts'
import { type Config, ConfigError } from '../config.ts'
import type { ServerContext } from '../context.ts'
import type { Pki } from '../credentials/pki.ts'
import { cacheFamilies } from '../data/cache-metrics.ts'
import type { Data } from '../data/open-data.ts'
import type { OwnFiles } from '../files/own-files.ts'
import type { StartHooks } from '../start-hooks.ts'
import { accessEndpoint } from './access-endpoint.ts'
import type { allProcesses, MetricsTopic } from './all-processes.ts'
import { doctorEndpoint } from './doctor-endpoint.ts'
import type { faultInjection } from './fault-injection.ts'
import { watchFileDescriptors } from './file-descriptors.ts'
import { followFlowControl } from './flow-configuration.ts'
import { ConsoleOfServer } from './open-console.ts'
import { otherProcesses } from './other-processes.ts'
import { serverFamilies } from './server-metrics.ts'
import { snapshotEndpoint } from './snapshot-endpoint.ts'
import { keepTlsFresh, reachableHost, type Trusted, tlsMaterial } from './tls.ts'

/** The server as a function. */
export type Serve = ListenOptions['serve']

/** The parts of a server for those who handle requests before it does. */
export type FrontParts = {
  readonly log: Log
  readonly clock: Clock
  readonly auditor: Auditor | undefined
  readonly authority: string
  /** `https://HOST:PORT`, once the port is open. */
  readonly url: () => string
  /** Aborts when the server begins to end. */
  readonly signal: AbortSignal
  readonly onClose: PortParts['onClose']
}

export type PortParts = {
  readonly data: Pick<Data, 'observed' | 'problem' | 'store' | 'holds' | 'encryption'>
  readonly hooks: StartHooks
  readonly registry: Registry
  readonly writers: Writers
  readonly namespace: (name: string) => AnyObject | undefined
  readonly authentication: Authentication
  readonly authorizer: Authorizer
  /** The role bindings that permit a request. */
  readonly permittedBy: (attributes: Attributes) => Promise<readonly Binding[]>
  readonly auditor: Auditor | undefined
  readonly tracer?: Tracer | undefined
  readonly aggregated: Aggregated
  readonly peers: Peers | undefined
  /** Undefined where no other server writes to the store. */
  readonly freshness: Freshness | undefined
  readonly files: OwnFiles
  readonly pki: Pki
  /** Loads or issues the certificates that are needed at a time. */
  readonly loadPki: (now: Date) => Promise<Pki>
  /** Called with every renewal of certificates that begins. */
  readonly onRenewal: (done: Promise<void>) => void
  /** Called when the authorities of clients or proxies have changed. */
  readonly onTrusted: (trusted: Trusted) => void
  readonly onRenewed: (pki: Pki) => void
  /** Wrappers of request handling, for tests. */
  readonly surroundings: Omit<Surroundings, 'disturb'>
  /** Opens the port, where it is none of this machine. */
  readonly listen?: ((options: ListenOptions) => Promise<Port>) | undefined
  /** Handles requests before the server does. */
  readonly front?: ((next: Serve, host: FrontParts) => Serve) | undefined
  /** The authority by which clients verify the port; PEM. */
  readonly authority: string
  /** Whether the server renews certificates and reads changed ones from files. */
  readonly keepsCertificates: boolean
  /** The faults to inject. */
  readonly faults: Faults | undefined
  /** The recording of requests to use: where tests forget it. */
  readonly requestLog: RequestLog | undefined
  /** Wraps the registry that clients reach, for tests; it is outside of the faults. */
  readonly around?: ((inner: Registry, revision: () => number) => Registry) | undefined
  /** Further endpoints, of a server for tests. */
  readonly endpoints: readonly EndpointRule[]
  /** Flags with their values, for `/flagz`. */
  readonly flags?: Readonly<Record<string, string>> | undefined
  /** Metrics of controllers, admission and access. */
  readonly counted: () => readonly Family[]
  readonly clock: Clock
  /** Whether the server has begun to shut down. */
  readonly isLeaving: () => boolean
  readonly onClose: (close: () => Promise<void>) => void
}

/** Opens the port. Throws ConfigError when that fails. */
export async function openPort(context: ServerContext, parts: PortParts): Promise<Port> {
  const { config, siblings, caches, catalog, gate, log, signal } = context
  const { aggregated, files, pki, onClose, clock, auditor, authority } = parts
  const injection =
    parts.faults || config.enableFaultInjection ? (await import('./fault-injection.ts')).faultInjection(config, parts.faults) : undefined
  const all = siblings && (await import('./all-processes.ts')).allProcesses(siblings)
  const state = { address: '', pki }
  const requestLog = parts.requestLog ?? new RequestLog(clock)
  if (config.testEndpoints) requestLog.recordAlways()
  const observed = { slowRequests: new SlowRequests(), requestLog, openStreams: new OpenStreams() }
  const health = new Health(healthChecks(context, parts), log, all?.results)
  const metricsNow = () => metrics.families()
  const endpoints = ownEndpoints(context, parts, { ...observed, state, health, metrics: metricsNow, all, injection })
  endpoints.push(ownApiEndpoint(() => endpoints))
  if (config.profiling) endpoints.push(...(await import('../../http/observability/profile.ts')).profileEndpoints())
  endpoints.push(...ownPages(context, { flags: parts.flags, paths: () => served.paths() }))
  const flowControl = await openFlowControl(context, parts)
  const descriptors = parts.listen ? undefined : watchFileDescriptors(log)
  onClose(async () => descriptors?.stop())
  const counted = () => [...flowControl.families(), ...(descriptors?.families() ?? []), ...serverFamilies(gate), handshakeErrors(listener)]
  const metrics: Metrics = portMetrics(context, parts, { endpoints, waiting: () => flowControl.waiting, counted })
  const served: Endpoints = new Endpoints(catalog, endpoints, aggregated)
  all?.answer({ metrics, health, writers: parts.writers })
  siblings?.onShare(share => flowControl.useShare(share))
  const serveApi = createApi(context, parts, { ...observed, endpoints: served, metrics, flowControl, injection })
  const { authenticator } = parts.authentication
  const presented = () => listener.presented
  const console = config.console ? new ConsoleOfServer({ serve: serveApi, authenticator, presented, clock, log }, siblings) : undefined
  const own = console?.serve ?? serveApi
  const serve = parts.front?.(own, { log, clock, auditor, authority, url: () => `https://${state.address}`, signal, onClose }) ?? own
  const { host, port } = config
  const source = siblings?.connections
  const { listen: open = listen } = parts
  const listener: Port = await open({ host, port, source, tls: tlsMaterial(files, pki, config), serve, log }).catch(explainFailure(config))
  warnOfCiphers(context)
  injection?.attach({ listener, caches, signal })
  onClose(() => listener.drain(0))
  onClose(async () => console?.close())
  onClose(async () => flowControl[Symbol.dispose]())
  state.address = `${reachableHost(listener.address.address, config)}:${listener.address.port}`
  if (parts.keepsCertificates) renewCertificates(context, parts, { state, listener, onTrusted: () => console?.authoritiesChanged() })
  return listener
}

/** The address of the port, empty until it is open, and the current certificates. */
type PortState = { address: string; pki: Pki }
/** Observers of requests. */
type Observed = { readonly slowRequests: SlowRequests; readonly requestLog: RequestLog; readonly openStreams: OpenStreams }
type Injection = ReturnType<typeof faultInjection> | undefined

type EndpointParts = Observed & {
  readonly state: PortState
  readonly health: Health
  readonly metrics: () => readonly Family[]
  /** The other processes of the server, if it has several. */
  readonly all: ReturnType<typeof allProcesses> | undefined
  readonly injection: Injection
}

/** The endpoints that are no resources. */
function ownEndpoints(context: ServerContext, parts: PortParts, own: EndpointParts): EndpointRule[] {
  const { config, siblings, catalog, gate, now, signal } = context
  const { data, authentication, aggregated, peers, files } = parts
  const { state, health, all, slowRequests, requestLog, openStreams } = own
  const together = (topic: MetricsTopic, families: readonly Family[]) => all?.families(topic, families) ?? families
  return [
    ...health.endpoints(),
    versionEndpoint(VERSION, context.releases),
    metricsEndpoint('/metrics', () => together('metrics', own.metrics())),
    metricsEndpoint('/metrics/slis', () => together('slis', health.families())),
    ...openIdEndpoints({ ...authentication, address: () => state.address }),
    ...documentEndpoints({ catalog, serverAddress: () => state.address, now, aggregated, peers, gate }),
    writesEndpoint(parts.writers, all?.writes),
    ...requestsEndpoints({
      requests: requestLog,
      streams: openStreams,
      process: siblings?.number ?? 1,
      others: siblings && otherProcesses(siblings),
      authorizer: parts.authorizer,
      signal,
    }),
    accessEndpoint({ permittedBy: parts.permittedBy, config }),
    snapshotEndpoint({ source: data.store, holds: data.holds, isInEtcd: config.store === 'etcd', now }),
    doctorEndpoint({ ...data, files, pki: () => state.pki, slowRequests, groupDomain: config.groupDomain, now }),
    ...(own.injection?.endpoints ?? []),
    ...parts.endpoints,
  ]
}

/** Flow control, as the stored objects configure it. */
async function openFlowControl(context: ServerContext, { hooks }: PortParts): Promise<FlowControl> {
  const { config, caches, gate } = context
  const seats = config.maxRequestsInflight + config.maxMutatingRequestsInflight || Number.POSITIVE_INFINITY
  const estimating = { gate, sizeOf: (resource: Resource) => caches.sizeOf(resource) }
  const flowControl = new FlowControl({ seats, waitMs: LIMITS.waitMs, estimating })
  await hooks.track(['priority-and-fairness-config-consumer'], followFlowControl(flowControl, context))
  return flowControl
}

type MetricsParts = {
  readonly endpoints: readonly EndpointRule[]
  readonly waiting: () => FlowControl['waiting']
  /** Metrics of the port itself. */
  readonly counted: () => readonly Family[]
}

/** The metrics of requests and of all parts of the server. */
function portMetrics({ caches, catalog }: ServerContext, parts: PortParts, { endpoints, waiting, counted }: MetricsParts): Metrics {
  const { data, auditor, tracer } = parts
  return new Metrics({
    paths: endpoints.map(({ path }) => path),
    waiting,
    components: () => [
      ...parts.counted(),
      ...(auditor?.families() ?? []),
      ...(tracer?.families() ?? []),
      ...data.observed.families(),
      ...(data.encryption?.families() ?? []),
      ...cacheFamilies(caches),
      ...caches.assertions.families(),
      ...counted(),
    ],
    *objects() {
      for (const resource of catalog.storedResources()) yield [resource, caches.of(resource).count]
    },
  })
}

const handshakeErrors = ({ handshakeErrors: count }: Port): Family => ({
  name: 'apiserver_tls_handshake_errors_total',
  type: 'counter',
  help: 'TLS handshakes that failed.',
  samples: [[{}, count]],
})

type ApiParts = Observed & {
  readonly endpoints: Endpoints
  readonly metrics: Metrics
  readonly flowControl: FlowControl
  readonly injection: Injection
}

/** The handling of requests, over the registry with its faults. */
function createApi(context: ServerContext, parts: PortParts, { injection, ...own }: ApiParts): Serve {
  const { config, caches, catalog, gate, now, log } = context
  const { registry, authentication, authorizer, auditor, tracer, aggregated, peers, surroundings, namespace, freshness } = parts
  const disturbed = injection?.around(registry, () => caches.revision) ?? registry
  return createServe({
    ...own,
    catalog,
    registry: parts.around?.(disturbed, () => caches.revision) ?? disturbed,
    surroundings: { ...surroundings, ...(injection && { disturb: injection.disturb }) },
    authenticator: authentication.authenticator,
    authorizer,
    auditor,
    tracer,
    cors: config.corsAllowedOrigins.length > 0 ? new Cors(config.corsAllowedOrigins) : undefined,
    aggregated,
    peers,
    log,
    groupDomain: config.groupDomain,
    gate,
    namespace,
    now,
    ...(freshness && { freshness }),
  })
}

function warnOfCiphers({ config: { tlsMinVersion: minVersion, tlsCipherSuites: cipherSuites }, log }: ServerContext): void {
  for (const suite of readTlsSettings({ minVersion, cipherSuites }).insecure)
    log.warn({ suite }, `Use of insecure cipher '${suite}' detected.`)
}

type RenewalParts = { readonly state: PortState; readonly listener: Port; readonly onTrusted: () => void }

/** Renews certificates, and reads changed ones from files, until the server ends. */
function renewCertificates({ config, log }: ServerContext, parts: PortParts, { state, listener, onTrusted }: RenewalParts): void {
  const { pki, loadPki: load, files, onRenewal, clock } = parts
  const url = `https://${state.address}`
  const stop = keepTlsFresh(config, {
    ...{ pki, load, files, listener, onRenewal, url, log, clock },
    onTrusted(trusted) {
      parts.onTrusted(trusted)
      onTrusted()
    },
    onRenewed(renewed) {
      state.pki = renewed
      parts.onRenewed(renewed)
    },
  })
  parts.onClose(async () => stop())
}

/** `/statusz` and `/flagz`. */
function ownPages(
  { config, gate, releases, now }: ServerContext,
  parts: Pick<ZPagesParts, 'paths'> & Pick<PortParts, 'flags'>,
): EndpointRule[] {
  const { goVersion, gitVersion, emulationMajor, emulationMinor } = versionInfo(VERSION, releases)
  return zPages({
    ...parts,
    groupDomain: config.groupDomain,
    gate,
    now,
    startedAt: new Date(processBeganMs()),
    binaryVersion: gitVersion!.slice(1),
    emulationVersion: `${emulationMajor}.${emulationMinor}`,
    runtimeVersion: goVersion!,
    random: chance,
  })
}

/** The checks of /livez and /readyz. */
function healthChecks({ log }: ServerContext, { data, hooks, isLeaving }: Pick<PortParts, 'data' | 'hooks' | 'isLeaving'>) {
  const live: HealthCheck[] = [
    { name: 'log', check: () => log.problem?.() },
    data.observed.check,
    ...hooks.checks(),
    ...(data.encryption?.hooks ?? []).map(hook => ({ name: `poststarthook/${hook}`, check: () => undefined })),
  ]
  const ready: HealthCheck[] = [
    data.observed.quotaCheck,
    { name: 'informer-sync', check: () => data.problem() },
    { name: 'shutdown', check: () => (isLeaving() ? 'the server is shutting down' : undefined) },
  ]
  return { live, healthy: data.encryption?.checks ?? [], ready }
}

const explainFailure =
  ({ host, port }: Config) =>
  (error: NodeJS.ErrnoException): never => {
    if (error.code === 'EADDRINUSE')
      throw new ConfigError(
        `port ${port} on ${host} is in use; stop what uses it, or choose another with --secure-port (0 picks a free one)`,
      )
    if (error.code === 'EACCES')
      throw new ConfigError(`port ${port} on ${host} may not be used by this user; choose one above 1023 with --secure-port`)
    if (error.code === 'EADDRNOTAVAIL' || error.code === 'ENOTFOUND')
      throw new ConfigError(`this machine has no address ${host}; --bind-address takes one of its own, 127.0.0.1 or 0.0.0.0`)
    throw error
  }
