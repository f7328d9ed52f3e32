/** The composition root: `assemble` shows, from top to bottom, how a server is put together. */

import { createHmac } from 'node:crypto'
import { setMaxListeners } from 'node:events'
import type { Authorizer } from '../authz/authorizer.ts'
import { ADMIN, serverIdentity } from '../client/identity.ts'
import { queueFamilies } from '../client/queue-metrics.ts'
import { WorkerTranscoder } from '../codec/worker-transcoder.ts'
import type { Port } from '../http/listener/listen.ts'
import { failureText } from '../http/observability/failure-text.ts'
import { ConfigMap } from '../kinds/core/configmap.ts'
import { availableMemory } from '../lib/available-memory.ts'
import { monotonicMs, newUuid, nextIteration } from '../lib/environment.ts'
import { LateBound } from '../lib/late-bound.ts'
import { randomSuffix } from '../lib/safe-text.ts'
import type { Registry } from '../registry/api.ts'
import { Catalog } from '../registry/catalog.ts'
import { createRegistry } from '../registry/registry.ts'
import { Writers } from '../registry/writers.ts'
import { SchedulerMetrics } from '../scheduler/scheduler-metrics.ts'
import { AccessMetrics } from './access/access-metrics.ts'
import { openAuthentication } from './access/authentication.ts'
import { openAuthorization } from './access/authorization.ts'
import { noteTokenUse } from './access/token-use.ts'
import { openAdmission } from './admission/open-admission.ts'
import { quotaParts } from './admission/quota.ts'
import { apiServiceController, ensureApiServices } from './bootstrap-objects/api-services.ts'
import { publishedProxies, trustPublisher } from './bootstrap-objects/authentication-trust.ts'
import { ensureFlowControl } from './bootstrap-objects/flow-control.ts'
import { type IdentityLease, identityLease } from './bootstrap-objects/identity-lease.ts'
import { legacyTokenTracking } from './bootstrap-objects/legacy-token-tracking.ts'
import { ensureNamespacesAndPriorityClasses } from './bootstrap-objects/namespaces-and-priority-classes.ts'
import { apiAccess } from './clients/api-access.ts'
import { createClients } from './clients/client-backend.ts'
import { ClientMetrics } from './clients/client-metrics.ts'
import { objectReader } from './clients/object-reader.ts'
import { type Config, checkConfig } from './config.ts'
import type { ServerContext } from './context.ts'
import { controllerRunner } from './controllers/controller-runner.ts'
import { createDuties } from './controllers/duties.ts'
import { DutyRunner } from './controllers/duty-runner.ts'
import {
  componentAuthorizer as authorizerOfComponents,
  kubeletParts,
  nodeCommands,
  nodeConnections,
  nodeSources,
} from './controllers/simulated-nodes.ts'
import { writeKubeconfig } from './credentials/kubeconfig.ts'
import { OwnCertificates } from './credentials/own-certificates.ts'
import { pageAge } from './data/history-window.ts'
import { openData } from './data/open-data.ts'
import { localHost, openDestinations } from './destinations.ts'
import { aggregatedApis } from './extensions/aggregation.ts'
import { type RunningCustomKinds, startCustomKinds } from './extensions/custom-kinds.ts'
import { openPeers } from './extensions/peers.ts'
import { prepareDataFolder } from './files/trusted-files.ts'
import type { ServiceNetwork } from './network/service-network.ts'
import { flowSchemaConditions } from './port/flow-configuration.ts'
import { openPort } from './port/open-port.ts'
import { certificateNames, reachableHost, tlsMaterial } from './port/tls.ts'
import { type Configured, readConfiguration } from './read-configuration.ts'
import { adminCredentials, RunningServer, type Server } from './running-server.ts'
import { AGGREGATION_HOOKS, PEER_HOOKS, StartHooks } from './start-hooks.ts'
import type { Assembly, Close, StartParts, Threads } from './start-parts.ts'
import { WorkerValidator } from './validation/worker-validator.ts'

/** Opens the store, loads it, creates the bootstrap objects, and listens. */
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

/** How a server is composed, from the configuration up to the port and the controllers. */
async function assemble(config: Config, assembly: Assembly): Promise<Server> {
  const began = monotonicMs()
  const configured = await readConfiguration(config, assembly)
  const stored = await openStorage(configured)
  const core = await openComponents(stored)
  const access = await openAccess(core)
  const api = await openApi(core, access)
  const customKinds = await prepareObjects(core, access, api)
  const duties = openDuties(core, access, api)
  const opened = { core, access, api, duties, customKinds, lifecycle: { isLeaving: false } }
  const listener = await openListener(opened)
  const url = `https://${reachableHost(listener.address.address, config)}:${listener.address.port}`
  const identityLeases = await startComponents({ ...opened, listener, url })
  await duties.runner.takePart()
  assembly.onClose(() => duties.runner.ended())
  const started = startOthers({ ...opened, listener })
  const { data, client, clientFor, ending, log } = core
  log.info({ address: url, startedInMs: Math.round(monotonicMs() - began) }, 'ready')
  return new RunningServer({
    ...core,
    url,
    client: clientFor(ADMIN),
    listener,
    failed: data.failed,
    started,
    onLeaving() {
      opened.lifecycle.isLeaving = true
    },
    endComponents: () => ending.abort(),
    tellOthers: () =>
      Promise.allSettled([api.network?.retire(), api.peers?.retire(), ...identityLeases.map(lease => lease.remove(client))]),
    closeAll: assembly.closeAll,
  })
}

/** The network of Services: a server without them does not load its code. */
async function networkOf(context: ServerContext, options: { readonly repairs: boolean }): Promise<ServiceNetwork> {
  return (await import('./network/service-network.ts')).openServiceNetwork(context, options)
}

/** Opens the store with its caches, and the keys and certificates of the server. */
async function openStorage(configured: Configured) {
  const { config, assembly, clock, now, gate, log, warn, files, egress } = configured
  const { store: given, machine, kmsTimes, memory = availableMemory(), siblings, onClose } = assembly
  const catalog = new Catalog(configured.resources.served, configured.resources.unserved)
  const directory = config.store === 'memory' || machine ? undefined : config.dataDir
  if (config.store === 'embedded' && directory !== undefined && !given) prepareDataFolder(directory, warn)
  const { onCompaction } = assembly.workspace ?? {}
  const data = await openData(config, {
    given,
    siblings,
    machine: machine?.store,
    files,
    egress,
    catalog,
    log,
    clock,
    gate,
    kmsTimes,
    memory,
    onCompaction,
    onClose,
  })
  const { store, caches } = data
  const hasReplicas = Boolean(store.isShared) && (config.store !== 'embedded' || !siblings)
  const names = certificateNames(config)
  const certificates =
    assembly.workspace?.certificates ??
    (await OwnCertificates.open({ directory, store, hasReplicas, siblings, names }, now(), machine?.keys))
  return { ...configured, catalog, data, directory, store, hasReplicas, siblings, caches, certificates }
}
type Stored = Awaited<ReturnType<typeof openStorage>>

/** Creates the clients of the server's own components and the runner of its controllers. */
async function openComponents(stored: Stored) {
  const { config, assembly, clock, now, gate, log, egress, catalog, store, hasReplicas, siblings, caches } = stored
  const { groupDomain } = config
  const ending = new AbortController()
  const { signal } = ending
  const answered = new AbortController()
  // Every component that runs beside requests listens for the end.
  setMaxListeners(0, signal, answered.signal)
  const registry = new LateBound<Registry>('the registry')
  const componentAuthorizer = new LateBound<Authorizer>('the authorizer of components')
  const listening = new LateBound<Listening>('the address of the server')
  const clientMetrics = new ClientMetrics(() => {
    const { address, port } = listening.get()
    return `${reachableHost(address, config)}:${port}`
  })
  const { clientFor, backgroundClientFor, guardedClientFor } = createClients({
    caches,
    catalog,
    groupDomain,
    gate,
    now,
    registry: () => registry.get(),
    authorizer: () => componentAuthorizer.get(),
    onError: error => log.error({ error: failureText(error) }, 'a component could not take in a change'),
    metrics: clientMetrics,
    signal: answered.signal,
  })
  const controllers = controllerRunner({ clientFor: backgroundClientFor, groupDomain, gate, log, clock, signal })
  assembly.onClose(async () => {
    ending.abort()
    await controllers.idle()
    answered.abort()
  })
  const client = clientFor(serverIdentity())
  const destinations = await openDestinations(config, {
    client,
    dial: egress.cluster,
    listening: () => listening.peek(),
    resolve: assembly.resolveName,
  })
  const context: ServerContext = {
    config,
    store,
    hasReplicas,
    siblings,
    caches,
    catalog,
    clientFor,
    run: controllers.run,
    destinations,
    egress,
    gate,
    releases: stored.releases,
    now,
    log,
    signal,
    answered: answered.signal,
  }
  const reader = objectReader(catalog, client)
  return {
    ...stored,
    context,
    ending,
    signal,
    clientFor,
    guardedClientFor,
    client,
    clientMetrics,
    controllers,
    reader,
    namespace: (name: string) => reader.get(NAMESPACES, name),
    registry,
    componentAuthorizer,
    listening,
  }
}
type Core = Awaited<ReturnType<typeof openComponents>>
type Listening = { readonly address: string; readonly port: number }

/** Opens authentication and authorization. */
async function openAccess(core: Core) {
  const { config, context, directory, files, certificates, reader, clock, gate, log, signal } = core
  const metrics = new AccessMetrics()
  const authentication = await openAuthentication(config, {
    directory,
    files,
    sharedKeys: certificates.sharedKeys,
    reader,
    log,
    onLegacyUse: noteTokenUse(context),
    metrics,
    egress: context.egress,
    gate,
    now: () => clock.now(),
    signal,
  })
  const authorization = await openAuthorization(context, metrics)
  core.componentAuthorizer.set(authorizerOfComponents(authorization.authorizer, { groupDomain: config.groupDomain, gate }))
  return { metrics, authentication, authorization }
}
type AccessParts = Awaited<ReturnType<typeof openAccess>>

/** Opens the parts of a write and the registry over all of them. */
async function openApi(core: Core, { authentication, authorization }: AccessParts) {
  const { config, assembly, context, catalog, store, caches, certificates, files, data, client, reader, gate, now, signal } = core
  const { groupDomain } = config
  const network = client.findNamed('', 'v1', 'services') ? await networkOf(context, { repairs: !assembly.workspace }) : undefined
  const notes = store.isShared ? (await import('./admission/quota-notes.ts')).quotaNotes(store, caches) : undefined
  const quota = quotaParts({ client, reader, groupDomain, gate, now, notes })
  const admission = await openAdmission(context, {
    settings: core.admissionSettings,
    reader,
    namespace: core.namespace,
    authorization,
    quota,
  })
  const threads = assembly.workspace?.threads ?? (assembly.machine ? undefined : openThreads(core))
  const server = () => {
    const { address, port } = core.listening.get()
    return { host: localHost(address), port }
  }
  const commands = nodeCommands({ ...context, client, server })
  assembly.onClose(() => commands.close())
  const writers = new Writers()
  const registry = createRegistry({
    store,
    caches,
    writers,
    ...(network && { allocations: network.allocations }),
    admission: admission.chain,
    connect: nodeConnections({
      client,
      kubelets: kubeletParts(context, files, () => certificates.current),
      local: context.destinations.local,
      commands,
      signal,
    }),
    ...threads,
    newUid: newUuid,
    randomSuffix,
    find: (group, version, plural) => catalog.find(group, version, plural),
    findKind: (apiVersion, kind) => catalog.findKind(apiVersion, kind),
    parts: () => [{ name: 'store', problem: data.problem() }],
    sources: nodeSources(client),
    access: { ...authentication.access, ...authorization.authorizer },
    tokenKey: createHmac('sha256', certificates.current.authority.key).update('continue tokens').digest(),
    tokenMs: pageAge(config),
  })
  core.registry.set(registry)
  const certificate = () => files.proxyClient ?? certificates.current.proxyClient
  const peers = await openPeers(context, { ca: files.peerCa, certificate, listening: () => core.listening.get() })
  const aggregation = aggregatedApis({ ...context, certificate })
  const { clientCa } = tlsMaterial(files, certificates.current, config)
  const trust = trustPublisher({ clientCa, ...publishedProxies(config, files, { pki: certificates.current, gate: context.gate }) })
  const components = apiAccess({
    ...context,
    registry,
    authorizer: core.componentAuthorizer.get(),
    registrations: aggregation.registrations,
    groupDomain,
  })
  const hooks = new StartHooks(peers ? [PEER_HOOKS.announced, ...(peers.peers ? PEER_HOOKS.passingOn : [])] : [])
  return { network, quota, admission, commands, writers, registry, aggregation, peers, trust, components, hooks }
}
type Api = Awaited<ReturnType<typeof openApi>>

function openThreads({ config, assembly, releases }: Core): Threads {
  const { groupDomain, featureGates } = config
  const transcoder = new WorkerTranscoder()
  assembly.onClose(() => transcoder[Symbol.asyncDispose]())
  const validator = new WorkerValidator({ groupDomain, featureGates, releases })
  assembly.onClose(() => validator[Symbol.asyncDispose]())
  return { transcoder, validator }
}

/** Creates and loads the objects that must exist before a request is answered. */
async function prepareObjects(core: Core, { authentication, authorization }: AccessParts, { network, aggregation, hooks }: Api) {
  const { assembly, context, caches, certificates, client, data } = core
  const isPrepared = assembly.workspace?.isPrepared ?? false
  const [customKinds] = await Promise.all([
    hooks.track(['start-apiextensions-informers', 'start-apiextensions-controllers', 'crd-informer-synced'], startCustomKinds(context)),
    data.claimed,
    certificates.current.saved,
    authentication.saved,
    hooks.track(['start-service-ip-repair-controllers'], network?.prepare()),
    authorization.synced,
    isPrepared ? undefined : onceForAll(core, 'cluster roles', () => authorization.prepare()),
    hooks.track(AGGREGATION_HOOKS, aggregation.followed),
    hooks.track(
      ['start-system-namespaces-controller', 'scheduling/bootstrap-system-priority-classes'],
      isPrepared ? undefined : onceForAll(core, 'namespaces', () => ensureNamespacesAndPriorityClasses(client)),
    ),
  ])
  // From here on the server relies on objects that another server was first to create.
  await hooks.track(['generic-apiserver-start-informers', 'start-apiserver-admission-initializer', 'storage-readiness'], caches.fresh())
  return customKinds
}

/** Does something that one process of a server does for all. */
const onceForAll = ({ siblings }: Pick<Core, 'siblings'>, name: string, work: () => Promise<void>): Promise<void> =>
  siblings ? siblings.once(name, work) : work()

/** Puts together the controllers, the scheduler and simulated nodes. */
function openDuties(core: Core, { authentication }: AccessParts, { quota, commands, components }: Api) {
  const { config, assembly, context, catalog, store, files, certificates, client, controllers, clock, log, signal } = core
  const schedulerMetrics = new SchedulerMetrics()
  const duties = createDuties(context, {
    quota,
    added: assembly.controllers ?? [],
    authority: adminCredentials(files, certificates).ca,
    signer: () => certificates.current.authority,
    accounts: authentication.accounts,
    api: components,
    commands,
    nodeRanges: core.podRanges,
    schedulerMetrics,
    schedulerSettings: core.schedulerSettings,
  })
  const { groupDomain } = config
  const clientFor = core.guardedClientFor
  const { hasReplicas, siblings } = core
  const runner = new DutyRunner({
    duties,
    controllers,
    client,
    store,
    hasReplicas,
    siblings,
    catalog,
    clientFor,
    groupDomain,
    gate: context.gate,
    log,
    clock,
    signal,
  })
  return { runner, schedulerMetrics }
}

type Opened = {
  readonly core: Core
  readonly access: AccessParts
  readonly api: Api
  readonly duties: ReturnType<typeof openDuties>
  readonly customKinds: RunningCustomKinds
  readonly lifecycle: { readonly isLeaving: boolean }
}

/** Opens the port: from here on requests are answered. */
async function openListener({ core, access, api, duties, customKinds, lifecycle }: Opened): Promise<Port> {
  const { config, assembly, files, certificates, controllers, data, store, caches, clock } = core
  const { aggregation, trust } = api
  const listener = await openPort(core.context, {
    data,
    hooks: api.hooks,
    registry: api.registry,
    writers: api.writers,
    namespace: core.namespace,
    authentication: access.authentication,
    authorizer: access.authorization.authorizer,
    permittedBy: access.authorization.permittedBy,
    auditor: core.auditor,
    tracer: core.tracer,
    aggregated: aggregation.registrations,
    peers: api.peers?.peers,
    freshness: store.isShared ? { caches, served: customKinds.served } : undefined,
    files,
    pki: certificates.current,
    loadPki: at => certificates.load(at),
    onRenewal: done => certificates.noteRenewal(done),
    onTrusted: trust.take,
    onRenewed(renewed) {
      certificates.replace(renewed)
      trust.take(publishedProxies(config, files, { pki: renewed, gate: core.context.gate }))
    },
    surroundings: assembly.surroundings ?? {},
    listen: assembly.machine?.listen,
    front: assembly.front,
    authority: adminCredentials(files, certificates).ca,
    keepsCertificates: !assembly.workspace,
    faults: assembly.faults,
    requestLog: assembly.requestLog,
    around: assembly.around,
    endpoints: assembly.endpoints ?? [],
    flags: assembly.flags,
    isLeaving: () => lifecycle.isLeaving,
    counted: () => [
      ...queueFamilies([...controllers.queues, ...duties.runner.queues()]),
      ...api.admission.metrics.families(),
      ...access.metrics.families(),
      ...duties.schedulerMetrics.families(),
      ...core.clientMetrics.families(),
      ...aggregation.registrations.metrics.families(),
      ...(api.peers?.peers?.metrics.families() ?? []),
      ...(core.egress.metrics?.families() ?? []),
      ...(assembly.families?.() ?? []),
    ],
    clock,
    onClose: assembly.onClose,
  })
  core.listening.set(listener.address)
  return listener
}

type Listened = Opened & { readonly listener: Port }

/** Starts the components that the first clients rely on, and waits for them. Returns the leases that other servers know this one by. */
async function startComponents({
  core,
  access,
  api,
  duties,
  listener,
  url,
}: Listened & { readonly url: string }): Promise<readonly IdentityLease[]> {
  const { config, assembly, context, catalog, caches, client, controllers, hasReplicas, siblings, files, certificates } = core
  const { groupDomain } = config
  const { hooks } = api
  // The processes of a server have one address and one identity.
  const isKnown = siblings?.isFirst ?? true
  // The objects about the server itself are of no use in a workspace, which has no port, no replicas and no certificates.
  const isPublished = client.find(ConfigMap) !== undefined && !assembly.workspace
  const isPrepared = assembly.workspace?.isPrepared ?? false
  await Promise.all([
    duties.runner.startFirst(),
    hooks.track(
      ['bootstrap-controller', 'start-kubernetes-service-cidr-controller'],
      isPrepared ? undefined : api.network?.start(listener.address),
    ),
    hooks.track(['rbac/bootstrap-roles'], isPrepared ? undefined : onceForAll(core, 'roles', () => access.authorization.start())),
    hooks.track(
      ['priority-and-fairness-config-producer'],
      isPrepared ? undefined : onceForAll(core, 'flow control', () => ensureFlowControl({ caches, client, groupDomain })),
    ),
    hooks.track(
      ['kube-apiserver-autoregistration', 'autoregister-completion'],
      isPrepared ? undefined : onceForAll(core, 'API services', () => ensureApiServices({ catalog, caches, client, groupDomain })),
    ),
    hooks.track(['start-legacy-token-tracking-controller'], isPublished ? controllers.run(legacyTokenTracking).idle() : undefined),
    hooks.track(['start-cluster-authentication-info-controller'], isPublished ? controllers.run(api.trust.controller).idle() : undefined),
    config.kubeconfig === undefined
      ? undefined
      : writeKubeconfig(config.kubeconfig, { server: url, ...adminCredentials(files, certificates), name: config.contextName }),
  ])
  const { gate } = context
  const versions = client.findNamed(`internal.apiserver.${groupDomain}`, 'v1alpha1', 'storageversions')
  const publishesVersions = versions !== undefined && gate('StorageVersionAPI')
  // Nobody asks for the identity of a server that is alone, unless StorageVersions name it.
  const isNamed = isKnown && gate('APIServerIdentity') && (hasReplicas || publishesVersions)
  // A peer asks for the address of a server as soon as it knows its lease.
  await hooks.track([PEER_HOOKS.announced], api.peers?.announce(listener.address))
  const leases = isNamed ? [identityLease(listener.address, { peerAddress: api.peers?.address(listener.address) })] : []
  for (const { controller, name } of leases) {
    const running = controllers.run(controller)
    if (!publishesVersions) continue
    // A server without a lease counts as gone.
    await running.idle()
    const { storageVersionPublisher } = await import('./bootstrap-objects/storage-versions.ts')
    controllers.run(storageVersionPublisher(catalog, name))
  }
  await hooks.track(PEER_HOOKS.passingOn, api.peers?.follow())
  return leases
}

/** Starts everything else, after the server has been reported as ready. Resolves when all of it is started. */
function startOthers({ core, api, customKinds, duties, listener }: Listened): Promise<void> {
  const { assembly, catalog, controllers, data, signal } = core
  const start = async () => {
    if (signal.aborted) return
    listener.readAuthorities()
    for (const controller of [customKinds.cleanup, apiServiceController(catalog), flowSchemaConditions]) controllers.run(controller)
    await api.aggregation.start(api.components)
    await duties.runner.startOthers()
  }
  const started = new Promise<void>(nextIteration).then(start).catch(data.fail)
  assembly.onClose(() => started)
  return started
}

const NAMESPACES = { group: '', version: 'v1', plural: 'namespaces' }
