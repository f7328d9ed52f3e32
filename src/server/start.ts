/** The composition root: builds the parts, wires them, opens the port, and takes it all down again. */

import { createHmac, randomInt, randomUUID } from 'node:crypto'
import { setMaxListeners } from 'node:events'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pluginChain } from '../admission/plugin.ts'
import type { Authorizer } from '../authz/authorizer.ts'
import { Caches } from '../cache/caches.ts'
import { DEFAULT_HISTORY } from '../cache/resource-cache.ts'
import type { Client } from '../client/client.ts'
import { ADMIN, serverIdentity } from '../client/identity.ts'
import { queueFamilies } from '../client/queue-metrics.ts'
import { WorkerTranscoder } from '../codec/worker-transcoder.ts'
import type { Controller } from '../controllers/controller.ts'
import type { Signing } from '../controllers/csrsigning/controller.ts'
import type { Aggregated } from '../http/aggregated.ts'
import { documentEndpoints } from '../http/documents/documents.ts'
import { openIdEndpoints } from '../http/documents/openid.ts'
import { versionEndpoint } from '../http/documents/version.ts'
import { Endpoints } from '../http/endpoints.ts'
import { FlowControl } from '../http/flow-control/flow-control.ts'
import type { Freshness } from '../http/fresh.ts'
import { type Listener, listen } from '../http/listener/listen.ts'
import type { Family } from '../http/observability/exposition.ts'
import { type Checks, Health } from '../http/observability/health.ts'
import { createLog, type Log } from '../http/observability/log.ts'
import { Metrics, metricsEndpoint } from '../http/observability/metrics.ts'
import { createServe, type Surroundings } from '../http/serve.ts'
import { builtinKinds } from '../kinds/all.ts'
import { Namespace } from '../kinds/core/namespace.ts'
import { type Clock, systemClock } from '../lib/clock.ts'
import { makeFolders } from '../lib/folders.ts'
import { parseCIDR } from '../lib/ip.ts'
import { LIMITS } from '../lib/limits.ts'
import { WebhookTransport } from '../lib/webhook-transport.ts'
import type { KeyPair } from '../lib/x509/issue.ts'
import type { Registry } from '../registry/api.ts'
import { Catalog } from '../registry/catalog.ts'
import { createRegistry } from '../registry/registry.ts'
import type { Kind } from '../schema/kind.ts'
import type { AnyObject } from '../schema/object-meta.ts'
import { resourcesOf } from '../schema/resource.ts'
import { startCompaction } from '../storage/compaction.ts'
import { openEmbeddedStore } from '../storage/embedded/embedded.ts'
import { MemoryStore } from '../storage/memory.ts'
import type { Store } from '../storage/store.ts'
import { VERSION } from '../version.ts'
import { AccessMetrics } from './access-metrics.ts'
import { dynamicAdmission } from './admission.ts'
import { AdmissionMetrics } from './admission-metrics.ts'
import { type AdmissionSettings, admissionPlugins, checkSettings, chosenPlugins, isPlugin } from './admission-plugins.ts'
import { aggregatedApis } from './aggregation.ts'
import { apiAccess } from './api-access.ts'
import { apiServiceController, ensureApiServices } from './api-services.ts'
import { publishedProxies, trustPublisher } from './authentication-trust.ts'
import { openAuthorization } from './authorization.ts'
import { bootstrap } from './bootstrap.ts'
import { createClients } from './client-backend.ts'
import { autoscalerSettings, type Config, ConfigError, changedSettings, checkConfig, runsAnyController, simulatedNodes } from './config.ts'
import type { ServerContext } from './context.ts'
import { type ControllerRunner, controllerRunner, startControllers } from './controllers.ts'
import { startCustomKinds } from './custom-kinds.ts'
import { claimData } from './data-identity.ts'
import { readFeatureGates } from './feature-gates.ts'
import { flowSchemaConditions, followFlowControl } from './flow-configuration.ts'
import { ensureFlowControl } from './flow-control.ts'
import { type Identity, openIdentity } from './identity.ts'
import { identityLease } from './identity-lease.ts'
import { type Access, kubeconfigText, writeKubeconfig } from './kubeconfig.ts'
import type { Leadership } from './leadership.ts'
import { legacyTokenTracking } from './legacy-token-tracking.ts'
import { nodeRanges } from './node-cidrs.ts'
import { objectReader } from './object-reader.ts'
import { ObservedStore } from './observed-store.ts'
import { type OwnFiles, readOwnFiles } from './own-files.ts'
import { certify, loadPki, type Pki } from './pki.ts'
import { quotaParts } from './quota.ts'
import { openServiceNetwork } from './service-network.ts'
import { openSharedKeys } from './shared-keys.ts'
import { componentAuthorizer, kindsOfNodes, kubeletParts, nodeConnections, nodeSources, startSimulatedNodes } from './simulated-nodes.ts'
import { StartHooks } from './start-hooks.ts'
import { certificateNames, keepTlsFresh, reachableHost, tlsMaterial } from './tls.ts'
import { noteTokenUse } from './token-use.ts'

/** A running server. */
export interface Server extends AsyncDisposable {
  /** `https://HOST:PORT`. */
  readonly url: string
  /** The admin's kubeconfig, as text. */
  readonly kubeconfig: string
  /** Certificates for clients that take them apart from a kubeconfig; PEM. */
  readonly credentials: { readonly ca: string; readonly cert: string; readonly key: string }
  /** The API in the name of the admin, without HTTP. */
  readonly client: Client
  /** What it keeps its data in. */
  readonly store: Store
  /** The certificate of a user, as this server's own authority issues it. */
  certify(user: string, groups: readonly string[]): KeyPair
  /** Resolves when controllers have nothing to do but to wait for a time to pass. */
  settled(): Promise<void>
  /** Resolves with the reason when the server can no longer work. */
  readonly failed: Promise<unknown>
  /** Turns readiness off, ends watches, lets requests finish, closes the store. The log has the reason. */
  close(reason?: string): Promise<void>
}

export type StartParts = {
  /** Kinds beside those that are built in. */
  readonly kinds?: readonly Kind<any>[]
  /** Controllers beside those that are built in; they always run. */
  readonly controllers?: readonly Controller[]
  /** What tells requests the time, and when certificates are to be looked at. */
  readonly clock?: Clock
  /** The store to use, instead of the one that the configuration names. It is not closed: others may use it, too. */
  readonly store?: Store
  /** What tests put around the handling of requests, and around the registry that clients reach. */
  readonly surroundings?: Surroundings & { readonly registry?: (inner: Registry, revision: () => number) => Registry }
}

/** Opens the store, reads what is there, creates what a fresh server has, and listens. */
export async function startServer(
  given: Config,
  { kinds = [], controllers = [], clock = systemClock, store, surroundings = {} }: StartParts = {},
): Promise<Server> {
  const config = checkConfig(given)
  const gate = readFeatureGates(config.featureGates)
  const log = createLog(config.logLevel)
  const open: (() => Promise<void>)[] = []
  const closeAll = async () => {
    for (const close of open.splice(0).reverse()) await close()
  }
  try {
    return await assemble(config, {
      gate,
      log,
      kinds: [...builtinKinds, ...kindsOfNodes(config), ...kinds],
      added: controllers,
      clock,
      given: store,
      surroundings,
      open,
      closeAll,
    })
  } catch (error) {
    await closeAll()
    throw error
  }
}

type Assembly = {
  readonly gate: (name: string) => boolean
  readonly log: Log
  readonly kinds: readonly Kind<any>[]
  /** Controllers beside those that are built in. */
  readonly added: readonly Controller[]
  readonly clock: Clock
  /** The store to use, if not the configured one. */
  readonly given: Store | undefined
  readonly surroundings: NonNullable<StartParts['surroundings']>
  /** What to undo, in the order it was done. */
  readonly open: (() => Promise<void>)[]
  readonly closeAll: () => Promise<void>
}

async function assemble(
  config: Config,
  { gate, log, kinds, added, clock, given, surroundings, open, closeAll }: Assembly,
): Promise<Server> {
  const began = performance.now()
  const now = () => new Date(clock.now())
  log.info(
    {
      version: VERSION,
      node: process.version,
      pid: process.pid,
      address: `${config.host}:${config.port}`,
      data: { memory: 'in memory', embedded: config.dataDir, etcd: config.etcdServers.join(',') }[config.store],
      settings: changedSettings(config),
    },
    'starting',
  )
  const warn = (message: string) => log.warn({}, message)
  const files = readOwnFiles(config)
  const ranges = config.allocateNodeCidrs ? nodeRanges(config) : undefined
  const settings = await readSettings(config, gate, warn)
  const catalog = new Catalog(resourcesOf(kinds, config.groupDomain))
  const { observed, compactBy } = given ? usingStore(given, log) : await openStore(config, { files, catalog, log, clock })
  const { store } = observed
  if (!given) open.push(() => store.close())
  const { claimed } = await claimData(store, config)
  let fail: (reason: unknown) => void = () => {}
  const failed = new Promise<unknown>(resolve => (fail = resolve))
  let problem: string | undefined
  failed.then(reason => (problem = String(reason)))
  const { historyMs, bookmarkMs } = config
  const history = { ...DEFAULT_HISTORY, ageMs: historyMs }
  const caches = await Caches.open({ store, resources: catalog, onFailure: fail, history, bookmarkMs, onLoaded: loadingLog(log) })
  open.push(() => caches[Symbol.asyncDispose]())
  const compaction = compactBy(config, error => log.warn({ error: String(error) }, 'compaction failed; it will be tried again'))
  open.push(async () => compaction[Symbol.asyncDispose]())

  const directory = config.store === 'memory' ? undefined : config.dataDir
  const sharedKeys = store.isShared ? await openSharedKeys(store, now()) : undefined
  const pki = loadPki({ directory, shared: sharedKeys, names: certificateNames(config), now: now() })
  const reloadPki = async (at: Date) => {
    const shared = store.isShared ? await openSharedKeys(store, at) : undefined
    return loadPki({ directory, shared, names: certificateNames(config), now: at })
  }
  const ending = new AbortController()
  const { signal } = ending
  // Every component that runs beside requests listens for the end.
  setMaxListeners(0, signal)
  const { groupDomain } = config
  const { clientFor, backgroundClientFor, guardedClientFor } = createClients({
    caches,
    catalog,
    groupDomain,
    gate,
    now,
    registry: () => registry,
    authorizer: () => components,
    onError: error => log.error({ error: String(error) }, 'a component could not take in a change'),
    signal,
  })
  const controllers = controllerRunner({ clientFor: backgroundClientFor, groupDomain, log, clock, signal })
  open.push(async () => {
    ending.abort()
    await controllers.idle()
  })
  const context: ServerContext = { config, store, caches, catalog, clientFor, run: controllers.run, gate, now, log, signal }
  const client = clientFor(serverIdentity())
  const reader = objectReader(catalog, client)
  const namespace = (name: string) => reader.get(NAMESPACES, name)
  const accessMetrics = new AccessMetrics()
  const identity = await openIdentity(config, {
    files,
    sharedKeys,
    reader,
    log,
    onLegacyUse: noteTokenUse(context),
    metrics: accessMetrics,
    now: () => clock.now(),
    signal,
  })
  const network = await openServiceNetwork(context)
  const authorization = await openAuthorization(context, accessMetrics)
  const { authorizer } = authorization
  const components = componentAuthorizer(authorizer, { groupDomain, gate })
  const resourceOf = (apiVersion: string, kind: string) => catalog.findKind(apiVersion, kind)
  const admissionMetrics = new AdmissionMetrics(log)
  const transport = new WebhookTransport()
  signal.addEventListener('abort', () => transport[Symbol.dispose](), { once: true })
  const createNamespace = (name: string) => client.of(Namespace).create({ metadata: { name } })
  const admissionParts = { settings, transport, namespace }
  const manifests = settings.manifestFolders
    ? new (await import('./static-manifests.ts')).StaticManifests(settings.manifestFolders, {
        ...context,
        groupDomain,
        metrics: admissionMetrics,
      })
    : undefined
  const dynamic = dynamicAdmission({
    ...admissionParts,
    manifests,
    client,
    catalog,
    authorizer,
    observer: admissionMetrics,
    newUid: randomUUID,
    signal,
  })
  const notes = store.isShared ? (await import('./quota-notes.ts')).quotaNotes(store, caches) : undefined
  const quota = quotaParts({ client, reader, groupDomain, gate, now, notes })
  const transcoder = new WorkerTranscoder()
  open.push(() => transcoder[Symbol.asyncDispose]())
  const registry: Registry = createRegistry({
    store,
    caches,
    allocations: network.allocations,
    admission: pluginChain(
      admissionPlugins(config, {
        ...admissionParts,
        createNamespace,
        reader,
        groupDomain,
        randomSuffix,
        resourceOf,
        dynamic,
        quota,
        warn,
        ...authorization,
      }),
      admissionMetrics,
    ),
    connect: nodeConnections(client, kubeletParts(config, files, pki), signal),
    transcoder,
    newUid: randomUUID,
    randomSuffix,
    find: (group, version, plural) => catalog.find(group, version, plural),
    parts: () => [{ name: 'store', problem }],
    sources: nodeSources(client),
    access: { ...identity.access, ...authorizer },
    tokenKey: createHmac('sha256', pki.authority.key).update('continue tokens').digest(),
  })
  const hooks = new StartHooks(HOOKS)
  let { authority } = pki
  let signing: Promise<Signing> | undefined
  const openSigning = async () => (await import('./signing.ts')).openSigning(config, { own: () => authority, log, signal })
  const trust = trustPublisher({ clientCa: tlsMaterial(files, pki).clientCa, ...publishedProxies(config, files, pki) })
  let proxyClient = files.proxyClient ?? pki.proxyClient
  const aggregation = aggregatedApis({ ...context, certificate: () => proxyClient })
  const [customKinds] = await Promise.all([
    hooks.track(['crd-informer-synced'], startCustomKinds(context)),
    claimed,
    pki.saved,
    identity.saved,
    hooks.track(['start-service-ip-repair-controllers'], network.prepare()),
    authorization.prepare(),
    aggregation.followed,
    hooks.track(['start-system-namespaces-controller', 'scheduling/bootstrap-system-priority-classes'], bootstrap(client)),
  ])
  // What another server was first to create is relied on from here on.
  await caches.fresh()
  let leadership: Leadership | undefined
  const listener = await openPort(config, {
    observed,
    hooks,
    checks: { live: [observed.check, ...hooks.checks()], ready: [{ name: 'informer-sync', check: () => problem }] },
    context,
    catalog,
    registry,
    caches,
    namespace,
    identity,
    authorizer,
    pki,
    reloadPki,
    files,
    aggregated: aggregation.registrations,
    onClientCa: clientCa => trust.take({ clientCa }),
    onRenewed(renewed) {
      authority = renewed.authority
      proxyClient = files.proxyClient ?? renewed.proxyClient
      trust.take(publishedProxies(config, files, renewed))
    },
    ...(store.isShared && { freshness: { now: () => caches.fresh(), served: customKinds.served } }),
    surroundings,
    log,
    gate,
    now,
    clock,
    ending,
    open,
    counted: () => [
      ...queueFamilies([...controllers.queues, ...(leadership?.queues() ?? [])]),
      ...admissionMetrics.families(),
      ...accessMetrics.families(),
    ],
  })
  const credentials = { ca: files.server?.cert ?? pki.authority.cert, cert: pki.admin.cert, key: pki.admin.key }
  const { address, port } = listener.address
  const url = `https://${reachableHost(address, config)}:${port}`
  const access = { server: url, ...credentials }
  const api = apiAccess({ ...context, registry, authorizer: components, registrations: aggregation.registrations, groupDomain })
  const startSingle = (runner: Pick<ControllerRunner, 'run'>, until: AbortSignal) =>
    startControllers(
      config,
      {
        ...quota,
        gate,
        served: catalog,
        authority: credentials.ca,
        sign: (account, secret) => identity.accounts.issueLegacy(account, secret),
        grace: { monitorMs: config.nodeMonitorGraceMs, startupMs: config.nodeStartupGraceMs },
        signing: () => (signing ??= openSigning()),
        ipam: ranges && { ranges, services: config.serviceClusterIpRange.flatMap(range => parseCIDR(range) ?? []) },
        api,
        autoscaling: autoscalerSettings(config),
      },
      { run: runner.run, gate, signal: until },
    )
  /** What one server does for all, after the controllers that the first clients rely on. */
  const startOthersOf = async (single: { startOthers(): Promise<void> }, { run }: Pick<ControllerRunner, 'run'>, until: AbortSignal) => {
    for (const controller of added) run(controller)
    await startSimulatedNodes({ ...context, run, signal: until })
    await single.startOthers()
  }
  const [single] = await Promise.all([
    store.isShared ? undefined : startSingle(controllers, signal),
    hooks.track(['bootstrap-controller'], network.start(listener.address)),
    hooks.track(['rbac/bootstrap-roles'], authorization.start()),
    hooks.track(['priority-and-fairness-config-producer'], ensureFlowControl({ caches, client, groupDomain })),
    hooks.track(['kube-apiserver-autoregistration'], ensureApiServices({ catalog, caches, client, groupDomain })),
    controllers.run(legacyTokenTracking).idle(),
    hooks.track(['start-cluster-authentication-info-controller'], controllers.run(trust.controller).idle()),
    saveKubeconfig(config, access),
  ])
  const identityLeases = store.isShared ? [identityLease(`${address} ${port}`)] : []
  for (const { controller } of identityLeases) controllers.run(controller)
  /** Others learn that this server goes, if they can be told soon. */
  const leave = async () => {
    const told = Promise.allSettled([network.retire(), ...identityLeases.map(lease => lease.remove(client))])
    await Promise.race([told, sleep(LEAVE_MS, undefined, { ref: false })])
  }
  // Whoever waits for the server is told first that it is ready.
  const startRest = async () => {
    if (signal.aborted) return
    for (const controller of [customKinds.cleanup, apiServiceController(catalog), flowSchemaConditions]) controllers.run(controller)
    await aggregation.start(api)
    if (single) await startOthersOf(single, controllers, signal)
  }
  const rest = new Promise(setImmediate).then(startRest).catch(fail)
  open.push(() => rest)
  if (store.isShared && (runsAnyController(config) || simulatedNodes(config) > 0 || added.length > 0)) {
    const { runWhileLeading } = await import('./leadership.ts')
    leadership = runWhileLeading({
      client,
      clientFor: guardedClientFor,
      groupDomain,
      log,
      clock,
      signal,
      start: async (runner, until) => startOthersOf(await startSingle(runner, until), runner, until),
    })
    const { ended } = leadership
    open.push(() => ended)
  }

  const settled = async () => {
    await rest
    for (let revision = -1; revision !== caches.revision; ) {
      revision = caches.revision
      await controllers.idle()
      await new Promise(setImmediate)
    }
  }

  let closing: Promise<void> | undefined
  const close = (reason = 'asked to') =>
    (closing ??= (async () => {
      log.info({ reason }, 'shutting down')
      ending.abort()
      caches.endWatches()
      if (store.isShared) await leave()
      await listener.drain(config.drainMs)
      await closeAll()
      log.info({}, 'stopped')
    })())
  log.info({ address: url, startedInMs: Math.round(performance.now() - began) }, 'ready')
  return {
    url,
    kubeconfig: kubeconfigText(access),
    credentials,
    client: clientFor(ADMIN),
    store,
    certify: (user, groups) => certify(pki, { commonName: user, organizations: groups }, now()),
    settled,
    failed,
    close,
    [Symbol.asyncDispose]: () => close(),
  }
}

async function saveKubeconfig({ kubeconfig: file }: Config, access: Access): Promise<void> {
  if (file === undefined) return
  makeFolders(dirname(file))
  await writeKubeconfig(file, access)
}

/** What admission plugins are told. The file is read before anything is opened: a mistake in it leaves no trace. */
async function readSettings(config: Config, gate: Assembly['gate'], warn: (message: string) => void): Promise<AdmissionSettings> {
  const isOn = chosenPlugins(config)
  const { admissionControlConfigFile: file } = config
  const settings =
    file === undefined
      ? {}
      : (await import('./admission-configuration.ts')).readAdmissionSettings(file, config, { isOn, isKnown: isPlugin, gate, warn })
  checkSettings(settings, isOn)
  return settings
}

/** Says now and then how far reading the objects has got, where that takes long. */
function loadingLog(log: Log): (objects: number) => void {
  let [objects, said] = [0, performance.now()]
  return more => {
    objects += more
    if (performance.now() - said < LOADING_LOG_MS) return
    said = performance.now()
    log.info({ objects }, 'reading objects')
  }
}

const LOADING_LOG_MS = 1_000

type OpenedStore = {
  readonly observed: ObservedStore
  /** Compacts from time to time until disposed of. */
  readonly compactBy: (config: Config, onError: (error: unknown) => void) => AsyncDisposable
}

type StoreParts = Pick<Assembly, 'log' | 'clock'> & { readonly files: OwnFiles; readonly catalog: Catalog }

async function openStore(config: Config, { files, catalog, log, clock }: StoreParts): Promise<OpenedStore> {
  if (config.store === 'memory') return usingStore(new MemoryStore({ clock }), log)
  if (config.store === 'etcd') {
    const { openEtcd, compactEtcd } = await import('./etcd.ts')
    const store = await openEtcd(config, { files, catalog, log, clock })
    return { observed: new ObservedStore(store, { log }), compactBy: (config, onError) => compactEtcd(store, config, onError) }
  }
  const store = await openEmbeddedStore({ dir: join(config.dataDir, 'store'), clock, onCommit: ms => observed.committed(ms) })
  const observed = new ObservedStore(store, { log, size: () => store.size() })
  return { observed, compactBy: compactAlone(observed) }
}

function usingStore(store: Store, log: Log): OpenedStore {
  const observed = new ObservedStore(store, { log })
  return { observed, compactBy: compactAlone(observed) }
}

const compactAlone =
  ({ store }: ObservedStore): OpenedStore['compactBy'] =>
  ({ historyMs }, onError) =>
    startCompaction(store, { maxAgeMs: historyMs, onError })

/** What kube-apiserver calls the steps of a start that there are here. */
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
]

type Port = Pick<Assembly, 'gate' | 'log' | 'clock' | 'surroundings' | 'open'> & {
  readonly observed: ObservedStore
  readonly checks: Checks
  readonly hooks: StartHooks
  readonly context: ServerContext
  readonly catalog: Catalog
  readonly registry: Registry
  readonly caches: Caches
  readonly namespace: (name: string) => AnyObject | undefined
  readonly identity: Identity
  readonly authorizer: Authorizer
  readonly pki: Pki
  readonly reloadPki: (now: Date) => Promise<Pki>
  readonly files: OwnFiles
  readonly aggregated: Aggregated
  readonly freshness?: Freshness
  readonly onClientCa: (clientCa: string) => void
  readonly onRenewed: (pki: Pki) => void
  readonly now: () => Date
  readonly ending: AbortController
  /** What controllers, admission, and webhooks that decide about access count. */
  readonly counted: () => readonly Family[]
}

async function openPort(
  config: Config,
  {
    observed,
    checks,
    hooks,
    context,
    catalog,
    registry,
    caches,
    namespace,
    identity,
    authorizer,
    pki,
    reloadPki,
    files,
    aggregated,
    freshness,
    onClientCa,
    onRenewed,
    surroundings,
    log,
    gate,
    now,
    clock,
    ending,
    open,
    counted,
  }: Port,
): Promise<Listener> {
  let address = ''
  const health = new Health(
    {
      live: [{ name: 'log', check: () => log.problem?.() }, ...checks.live],
      ready: [...checks.ready, { name: 'shutdown', check: () => (ending.signal.aborted ? 'the server is shutting down' : undefined) }],
    },
    log,
  )
  const endpoints = [
    ...health.endpoints(),
    versionEndpoint(VERSION),
    metricsEndpoint('/metrics', () => metrics.families()),
    metricsEndpoint('/metrics/slis', () => health.families()),
    ...openIdEndpoints({ ...identity, address: () => address }),
    ...documentEndpoints({ catalog, serverAddress: () => address, now, aggregated }),
  ]
  const seats = config.maxRequestsInflight + config.maxMutatingRequestsInflight || Number.POSITIVE_INFINITY
  const flowControl = new FlowControl({ seats, waitMs: LIMITS.waitMs })
  await hooks.track(['priority-and-fairness-config-consumer'], followFlowControl(flowControl, context))
  const metrics: Metrics = new Metrics({
    paths: endpoints.map(({ path }) => path),
    waiting: () => flowControl.waiting,
    components: () => [...counted(), ...observed.families(), ...flowControl.families()],
    *objects() {
      for (const resource of catalog.storedResources()) yield [resource, caches.of(resource).count]
    },
  })
  const serve = createServe({
    catalog,
    registry: surroundings.registry?.(registry, () => caches.revision) ?? registry,
    surroundings,
    authenticator: identity.authenticator,
    authorizer,
    endpoints: new Endpoints(catalog, endpoints, aggregated),
    aggregated,
    metrics,
    flowControl,
    log,
    groupDomain: config.groupDomain,
    gate,
    namespace,
    now,
    ...(freshness && { freshness }),
  })
  const listener = await listen({ host: config.host, port: config.port, tls: tlsMaterial(files, pki), serve, log }).catch(
    explainListen(config),
  )
  open.push(
    () => listener.drain(0),
    async () => flowControl[Symbol.dispose](),
  )
  address = `${reachableHost(listener.address.address, config)}:${listener.address.port}`
  const stop = keepTlsFresh(config, { pki, load: reloadPki, files, listener, onClientCa, onRenewed, url: `https://${address}`, log, clock })
  open.push(async () => stop())
  return listener
}

/** How long a server that ends waits until the store has taken what it tells others. */
const LEAVE_MS = 2_000
const NAMESPACES = { group: '', version: 'v1', plural: 'namespaces' }

/** Letters and digits that spell no words and are not mistaken for each other. */
const SUFFIX_ALPHABET = 'bcdfghjklmnpqrstvwxz2456789'
const randomSuffix = () => Array.from({ length: 5 }, () => SUFFIX_ALPHABET[randomInt(SUFFIX_ALPHABET.length)]).join('')

const explainListen =
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
