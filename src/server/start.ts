/** The composition root: builds the parts, wires them, opens the port, and takes it all down again. */

import { createHmac, randomUUID } from 'node:crypto'
import { setMaxListeners } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from '../client/client.ts'
import { ADMIN, serverIdentity } from '../client/identity.ts'
import { queueFamilies } from '../client/queue-metrics.ts'
import { WorkerTranscoder } from '../codec/worker-transcoder.ts'
import type { Controller } from '../controllers/controller.ts'
import { failureText } from '../http/observability/failure-text.ts'
import { createLog } from '../http/observability/log.ts'
import { builtinKinds } from '../kinds/all.ts'
import { availableMemory } from '../lib/available-memory.ts'
import { type Clock, systemClock } from '../lib/clock.ts'
import { randomSuffix } from '../lib/safe-text.ts'
import type { KeyPair } from '../lib/x509/issue.ts'
import type { Registry } from '../registry/api.ts'
import { Catalog } from '../registry/catalog.ts'
import { createRegistry } from '../registry/registry.ts'
import { Writers } from '../registry/writers.ts'
import { SchedulerMetrics } from '../scheduler/scheduler-metrics.ts'
import type { Kind } from '../schema/kind.ts'
import { resourcesOf } from '../schema/resource.ts'
import type { Store } from '../storage/store.ts'
import { VERSION } from '../version.ts'
import { AccessMetrics } from './access/access-metrics.ts'
import { openAuthentication } from './access/authentication.ts'
import { openAuthorization } from './access/authorization.ts'
import { noteTokenUse } from './access/token-use.ts'
import { readSettings } from './admission/admission-plugins.ts'
import { openAdmission } from './admission/open-admission.ts'
import { quotaParts } from './admission/quota.ts'
import { apiAccess } from './clients/api-access.ts'
import { createClients } from './clients/client-backend.ts'
import { ClientMetrics } from './clients/client-metrics.ts'
import { objectReader } from './clients/object-reader.ts'
import { type Config, changedSettings, checkConfig } from './config.ts'
import type { ServerContext } from './context.ts'
import { controllerRunner } from './controllers/controller-runner.ts'
import { createDuties } from './controllers/duties.ts'
import type { Leadership } from './controllers/leadership.ts'
import {
  componentAuthorizer,
  kindsOfNodes,
  kubeletParts,
  nodeCommands,
  nodeConnections,
  nodeSources,
} from './controllers/simulated-nodes.ts'
import { kubeconfigText, writeKubeconfig } from './credentials/kubeconfig.ts'
import { certify, loadPki, type Pki } from './credentials/pki.ts'
import { openSharedKeys } from './credentials/shared-keys.ts'
import { openData } from './data/open-data.ts'
import { type DestinationsParts, openDestinations } from './destinations.ts'
import { aggregatedApis } from './extensions/aggregation.ts'
import { startCustomKinds } from './extensions/custom-kinds.ts'
import { readFeatureGates } from './feature-gates.ts'
import { lookAtFiles } from './files/follow-file.ts'
import { readOwnFiles } from './files/own-files.ts'
import { prepareDataFolder, warnOfNamedFiles } from './files/trusted-files.ts'
import { nodeRanges } from './network/node-cidrs.ts'
import { openServiceNetwork } from './network/service-network.ts'
import { apiServiceController, ensureApiServices } from './own-objects/api-services.ts'
import { publishedProxies, trustPublisher } from './own-objects/authentication-trust.ts'
import { bootstrap } from './own-objects/bootstrap.ts'
import { ensureFlowControl } from './own-objects/flow-control.ts'
import { identityLease } from './own-objects/identity-lease.ts'
import { legacyTokenTracking } from './own-objects/legacy-token-tracking.ts'
import { flowSchemaConditions } from './port/flow-configuration.ts'
import { openPort, type PortParts } from './port/open-port.ts'
import { certificateNames, reachableHost, tlsMaterial } from './port/tls.ts'
import { AGGREGATION_HOOKS, StartHooks } from './start-hooks.ts'
import { WorkerValidator } from './validation/worker-validator.ts'

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
  /** Looks at once whether files that the configuration names have changed. The log has the reason. */
  readFilesAgain(reason: string): void
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
  /** Bytes of memory that there are, by which the store and what is held of it are bounded. */
  readonly memory?: number
  /** What tests put around the handling of requests. */
  readonly surroundings?: PortParts['surroundings']
  /** Resolves the names of nodes and endpoints, instead of the system. */
  readonly resolveName?: DestinationsParts['resolve']
  /** What is to go wrong. */
  readonly faults?: PortParts['faults']
}

/** Opens the store, reads what is there, creates what a fresh server has, and listens. */
export async function startServer(given: Config, parts: StartParts = {}): Promise<Server> {
  const config = checkConfig(given)
  const closers: Close[] = []
  const closeAll = async () => {
    for (const close of closers.splice(0).reverse()) await close()
  }
  try {
    return await assemble(config, { ...parts, onClose: close => closers.push(close), closeAll })
  } catch (error) {
    await closeAll()
    throw error
  }
}

type Close = () => Promise<void>

type Assembly = StartParts & {
  /** Registers what closes a part again. */
  readonly onClose: (close: Close) => void
  /** Closes all parts, the last one first. */
  readonly closeAll: Close
}

async function assemble(config: Config, assembly: Assembly): Promise<Server> {
  const { kinds = [], controllers: added = [], clock = systemClock, store: given, surroundings = {}, onClose, closeAll } = assembly
  const began = performance.now()
  const now = () => new Date(clock.now())
  const { groupDomain } = config

  // Whatever the configuration can have wrong is found before anything is opened.
  const gate = readFeatureGates(config.featureGates)
  const log = createLog(config.logLevel, config.loggingFormat ?? (process.stderr.isTTY ? 'text' : 'json'))
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
  const distrust = (message: string) => log.warn({}, message)
  warnOfNamedFiles(config, distrust)
  const files = readOwnFiles(config)
  const ranges = config.allocateNodeCidrs ? nodeRanges(config) : undefined
  const settings = await readSettings(config, gate, message => log.warn({}, message))

  // The data, and the keys that are kept with it.
  const catalog = new Catalog(resourcesOf([...builtinKinds, ...kindsOfNodes(config), ...kinds], groupDomain))
  if (config.store === 'embedded' && !given) prepareDataFolder(config.dataDir, distrust)
  const data = await openData(config, { given, files, catalog, log, clock, memory: assembly.memory ?? availableMemory(), onClose })
  const { store, caches } = data
  const keysFor = async (at: Date) => (store.isShared ? openSharedKeys(store, at) : undefined)
  const directory = config.store === 'memory' ? undefined : config.dataDir
  const memory = new Map<string, KeyPair>()
  const pkiFor = (shared: SharedKeys, at: Date) => loadPki({ directory, memory, shared, names: certificateNames(config), now: at })
  const sharedKeys = await keysFor(now())
  let pki: Pki = pkiFor(sharedKeys, now())
  let renewal: Promise<void> = Promise.resolve()

  // Clients and controllers of the server's own components.
  const ending = new AbortController()
  const { signal } = ending
  // Every component that runs beside requests listens for the end.
  setMaxListeners(0, signal)
  const schedulerMetrics = new SchedulerMetrics()
  const clientMetrics = new ClientMetrics(() => `${reachableHost(listener.address.address, config)}:${listener.address.port}`)
  const { clientFor, backgroundClientFor, guardedClientFor } = createClients({
    caches,
    catalog,
    groupDomain,
    gate,
    now,
    registry: () => registry,
    authorizer: () => components,
    onError: error => log.error({ error: failureText(error) }, 'a component could not take in a change'),
    metrics: clientMetrics,
    signal,
  })
  const controllers = controllerRunner({ clientFor: backgroundClientFor, groupDomain, log, clock, signal })
  onClose(async () => {
    ending.abort()
    await controllers.idle()
  })
  const client = clientFor(serverIdentity())
  let listening: { readonly address: string; readonly port: number } | undefined
  const destinations = openDestinations(config, { client, listening: () => listening, resolve: assembly.resolveName })
  const context: ServerContext = { config, store, caches, catalog, clientFor, run: controllers.run, destinations, gate, now, log, signal }
  const reader = objectReader(catalog, client)
  const namespace = (name: string) => reader.get(NAMESPACES, name)

  // Who may do what, what becomes of writes, and the registry over all that.
  const accessMetrics = new AccessMetrics()
  const authentication = await openAuthentication(config, {
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
  const notes = store.isShared ? (await import('./admission/quota-notes.ts')).quotaNotes(store, caches) : undefined
  const quota = quotaParts({ client, reader, groupDomain, gate, now, notes })
  const admission = await openAdmission(context, { settings, reader, namespace, authorization, quota })
  const transcoder = new WorkerTranscoder()
  onClose(() => transcoder[Symbol.asyncDispose]())
  const validator = new WorkerValidator({ groupDomain, featureGates: config.featureGates })
  onClose(() => validator[Symbol.asyncDispose]())
  const commands = nodeCommands(client, log)
  onClose(() => commands.close())
  const writers = new Writers()
  const registry: Registry = createRegistry({
    store,
    caches,
    writers,
    allocations: network.allocations,
    admission: admission.chain,
    connect: nodeConnections({ client, kubelets: kubeletParts(context, files, () => pki), commands, signal }),
    transcoder,
    validator,
    newUid: randomUUID,
    randomSuffix,
    find: (group, version, plural) => catalog.find(group, version, plural),
    findKind: (apiVersion, kind) => catalog.findKind(apiVersion, kind),
    parts: () => [{ name: 'store', problem: data.problem() }],
    sources: nodeSources(client),
    access: { ...authentication.access, ...authorizer },
    tokenKey: createHmac('sha256', pki.authority.key).update('continue tokens').digest(),
    tokenMs: config.historyMs,
  })

  // What has to be there before a request is answered.
  const hooks = new StartHooks()
  const trust = trustPublisher({ clientCa: tlsMaterial(files, pki).clientCa, ...publishedProxies(config, files, pki) })
  const aggregation = aggregatedApis({ ...context, certificate: () => files.proxyClient ?? pki.proxyClient })
  const [customKinds] = await Promise.all([
    hooks.track(['start-apiextensions-informers', 'start-apiextensions-controllers', 'crd-informer-synced'], startCustomKinds(context)),
    data.claimed,
    pki.saved,
    authentication.saved,
    hooks.track(['start-service-ip-repair-controllers'], network.prepare()),
    authorization.prepare(),
    hooks.track(AGGREGATION_HOOKS, aggregation.followed),
    hooks.track(['start-system-namespaces-controller', 'scheduling/bootstrap-system-priority-classes'], bootstrap(client)),
  ])
  // What another server was first to create is relied on from here on.
  await hooks.track(['generic-apiserver-start-informers', 'start-apiserver-admission-initializer', 'storage-readiness'], caches.fresh())
  let leadership: Leadership | undefined
  let isLeaving = false
  const listener = await openPort(context, {
    data,
    hooks,
    registry,
    writers,
    namespace,
    authentication,
    authorizer,
    aggregated: aggregation.registrations,
    freshness: store.isShared ? { caches, served: customKinds.served } : undefined,
    files,
    pki,
    loadPki: async at => pkiFor(await keysFor(at), at),
    onRenewal(done) {
      renewal = done
    },
    onTrusted: trust.take,
    onRenewed(renewed) {
      pki = renewed
      trust.take(publishedProxies(config, files, renewed))
    },
    surroundings,
    faults: assembly.faults,
    isLeaving: () => isLeaving,
    counted: () => [
      ...queueFamilies([...controllers.queues, ...(leadership?.queues() ?? [])]),
      ...admission.metrics.families(),
      ...accessMetrics.families(),
      ...schedulerMetrics.families(),
      ...clientMetrics.families(),
      ...aggregation.registrations.metrics.families(),
    ],
    clock,
    onClose,
  })
  const credentials = () => ({ ca: files.server?.cert ?? pki.authority.cert, cert: pki.admin.cert, key: pki.admin.key })
  const { address, port } = listener.address
  listening = { address, port }
  const url = `https://${reachableHost(address, config)}:${port}`
  const access = () => ({ server: url, ...credentials(), name: config.contextName })

  // What the first clients rely on.
  const api = apiAccess({ ...context, registry, authorizer: components, registrations: aggregation.registrations, groupDomain })
  const duties = createDuties(context, {
    quota,
    added,
    authority: credentials().ca,
    signer: () => pki.authority,
    accounts: authentication.accounts,
    api,
    commands,
    nodeRanges: ranges,
    schedulerMetrics,
  })
  const [ownDuties] = await Promise.all([
    store.isShared ? undefined : duties.start(controllers, signal),
    hooks.track(['bootstrap-controller', 'start-kubernetes-service-cidr-controller'], network.start(listener.address)),
    hooks.track(['rbac/bootstrap-roles'], authorization.start()),
    hooks.track(['priority-and-fairness-config-producer'], ensureFlowControl({ caches, client, groupDomain })),
    hooks.track(
      ['kube-apiserver-autoregistration', 'autoregister-completion'],
      ensureApiServices({ catalog, caches, client, groupDomain }),
    ),
    hooks.track(['start-legacy-token-tracking-controller'], controllers.run(legacyTokenTracking).idle()),
    hooks.track(['start-cluster-authentication-info-controller'], controllers.run(trust.controller).idle()),
    config.kubeconfig === undefined ? undefined : writeKubeconfig(config.kubeconfig, access()),
  ])
  const identityLeases = store.isShared ? [identityLease(`${address} ${port}`)] : []
  for (const { controller } of identityLeases) controllers.run(controller)

  // Everything else is started after the server has been reported as ready.
  const startRest = async () => {
    if (signal.aborted) return
    listener.readAuthorities()
    for (const controller of [customKinds.cleanup, apiServiceController(catalog), flowSchemaConditions]) controllers.run(controller)
    await aggregation.start(api)
    await ownDuties?.startOthers()
  }
  const rest = new Promise(setImmediate).then(startRest).catch(data.fail)
  onClose(() => rest)
  if (store.isShared && duties.any) {
    const { runWhileLeading } = await import('./controllers/leadership.ts')
    const start = async (...term: Parameters<typeof duties.start>) => (await duties.start(...term)).startOthers()
    leadership = runWhileLeading({ client, store, catalog, clientFor: guardedClientFor, groupDomain, log, clock, signal, start })
    const { ended } = leadership
    onClose(() => ended)
  }

  const settled = async () => {
    await rest
    for (let revision = -1; revision !== caches.revision; ) {
      revision = caches.revision
      await Promise.all([controllers.idle(), renewal])
      await new Promise(setImmediate)
    }
  }
  /** Tells other servers that this one ends. A store that does not take it soon is out of reach: nothing waits for it any more. */
  const leave = async () => {
    const told = Promise.allSettled([network.retire(), ...identityLeases.map(lease => lease.remove(client))])
    if (!(await Promise.race([told, sleep(LEAVE_MS, undefined, { ref: false })]))) store.abandon?.()
  }
  let closing: Promise<void> | undefined
  const close = (reason = 'asked to') =>
    (closing ??= (async () => {
      log.info({ reason }, 'shutting down')
      isLeaving = true
      if (config.shutdownDelayMs > 0) {
        listener.sendAway()
        await sleep(config.shutdownDelayMs)
      }
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
    get kubeconfig() {
      return kubeconfigText(access())
    },
    get credentials() {
      return credentials()
    },
    client: clientFor(ADMIN),
    store,
    certify: (user, groups) => certify(pki, { commonName: user, organizations: groups }, now()),
    settled,
    failed: data.failed,
    readFilesAgain(reason) {
      log.info({ reason }, 'reading changed files again')
      // Whatever goes wrong is told where each file is followed.
      void lookAtFiles()
    },
    close,
    [Symbol.asyncDispose]: () => close(),
  }
}

type SharedKeys = ReadonlyMap<string, string> | undefined

/** How long a server that ends waits until the store has taken what it tells others. */
const LEAVE_MS = 2_000
const NAMESPACES = { group: '', version: 'v1', plural: 'namespaces' }
