/** The workspaces of a server: isolated servers in one process, each below a path of the port. */
import { WorkerTranscoder } from '../codec/worker-transcoder.ts'
import { statusResponse } from '../http/error.ts'
import type { Request, Response } from '../http/message.ts'
import type { Family } from '../lib/exposition.ts'
import { LIMITS } from '../lib/limits.ts'
import type { MaybePromise } from '../lib/maybe-promise.ts'
import { randomSuffix } from '../lib/safe-text.ts'
import { type SavedState, saveState } from '../library/state.ts'
import { alreadyExists, badRequest, StatusError, unavailable } from '../schema/status-error.ts'
import { type Config, ConfigError, DEFAULTS, simulatedNodes } from '../server/config.ts'
import { tokenKubeconfig } from '../server/credentials/kubeconfig.ts'
import { OwnCertificates } from '../server/credentials/own-certificates.ts'
import type { FrontParts, Serve } from '../server/port/open-port.ts'
import { readReleases } from '../server/releases.ts'
import type { Server } from '../server/running-server.ts'
import type { ServerResources } from '../server/start-parts.ts'
import { WorkerValidator } from '../server/validation/worker-validator.ts'
import { MemoryStore } from '../storage/memory.ts'
import { isWorkspaceName, RequestBelow, workspaceIn } from './request-below.ts'
import { Turn, Turns } from './turns.ts'
import { type OpenedWorkspace, openWorkspace, type ShortLived } from './workspace.ts'

/** The wishes for a new workspace. */
export type WorkspaceOptions = {
  /** A DNS label; without it, one is made up. */
  readonly name?: string | undefined
  /** The state to begin with: a snapshot that the server keeps, or another workspace as it is now. */
  readonly from?: { readonly snapshot: string } | { readonly workspace: string } | { readonly state: SavedState } | undefined
  /** Its controllers, as `--controllers` takes them; default: none. */
  readonly controllers?: readonly string[] | undefined
  /** Its simulated nodes; default: none. */
  readonly nodes?: number | undefined
  /** Its built-in kinds, as `--api` takes them; default: those of the server. */
  readonly api?: Config['api'] | undefined
}

/** A workspace, as others see it. */
export type WorkspaceInfo = {
  readonly name: string
  readonly url: string
  readonly created: string
  readonly objects: number
  readonly bytes: number
  readonly requests: number
}

/** The same with the access of its administrator. */
export type WorkspaceAccess = WorkspaceInfo & { readonly token: string; readonly ca: string; readonly kubeconfig: string }

type Entry = OpenedWorkspace & { readonly name: string; readonly created: string; readonly turn: Turn; requests: number }

/** The state of a new server, and the resources whose objects last for a time only. */
type Template = { readonly state: SavedState; readonly shortLived: readonly ShortLived[] }

type Shared = {
  readonly certificates: OwnCertificates
  readonly threads: { readonly transcoder: WorkerTranscoder; readonly validator: WorkerValidator }
}

export class Workspaces {
  readonly #config: Config
  readonly #snapshot: (name: string) => SavedState
  readonly #turns = new Turns(LIMITS.workspaces)
  readonly #all = new Map<string, Entry>()
  /** Names that are being made. */
  readonly #pending = new Set<string>()
  readonly #templates = new Map<string, Promise<Template>>()
  readonly #resources = new Map<string, Promise<ServerResources>>()
  #shared: Promise<Shared> | undefined
  #host: FrontParts | undefined
  #closing: Promise<void> | undefined

  /** `snapshot` is a state that the server keeps by name; it throws StatusError where there is none. */
  constructor(config: Config, snapshot: (name: string) => SavedState) {
    this.#config = config
    this.#snapshot = snapshot
  }

  /** Request handling with the workspaces in front of the server's own. */
  readonly front = (next: Serve, host: FrontParts): Serve => {
    this.#host = host
    // Watches must end before the port waits for the last connection.
    host.signal.addEventListener('abort', () => void this.close(), { once: true })
    host.onClose(() => this.close())
    return request => this.#serve(request, next)
  }

  has(name: string): boolean {
    return this.#all.has(name)
  }

  list(): WorkspaceInfo[] {
    return Array.from(this.#all.values(), each => this.#infoOf(each))
  }

  /** Throws StatusError where there is none. */
  get(name: string): WorkspaceAccess {
    return this.#accessOf(this.#entry(name))
  }

  /** The server behind a workspace. Throws StatusError where there is none. */
  serverOf(name: string): Server {
    return this.#entry(name).server
  }

  /** Throws StatusError. */
  async create(options: WorkspaceOptions = {}): Promise<WorkspaceAccess> {
    const name = options.name ?? `workspace-${randomSuffix()}`
    if (!isWorkspaceName(name))
      throw badRequest('name must be a DNS label of 63 characters at most: lower case letters, digits and dashes, such as "pull-12"')
    if (this.#all.has(name) || this.#pending.has(name)) throw alreadyExists({ plural: 'workspaces', group: '', kind: 'workspaces' }, name)
    if (this.#all.size + this.#pending.size >= LIMITS.workspaces.count)
      throw new StatusError(409, 'Conflict', `a server has ${LIMITS.workspaces.count} workspaces at most; delete one first`)
    this.#pending.add(name)
    try {
      const config = this.#configOf(name, options)
      const template = await this.#templateOf(config)
      const state = options.from ? await this.#stateOf(options.from) : template.state
      const opened = await this.#open(name, config, { state, shortLived: template.shortLived })
      if (this.#closing) {
        await opened.close()
        throw unavailable('the server is shutting down')
      }
      const entry = { ...opened, name, created: new Date(this.#parts.clock.now()).toISOString(), turn: new Turn(), requests: 0 }
      this.#all.set(name, entry)
      this.#parts.log.info({ workspace: name }, 'a workspace was created')
      return this.#accessOf(entry)
    } catch (error) {
      throw error instanceof ConfigError ? badRequest(error.message) : error
    } finally {
      this.#pending.delete(name)
    }
  }

  /** From now on no request reaches it. Resolves when its watches and components have ended. Throws StatusError where there is none. */
  async delete(name: string): Promise<WorkspaceInfo> {
    const entry = this.#entry(name)
    const info = this.#infoOf(entry)
    this.#all.delete(name)
    await entry.close()
    this.#parts.log.info({ workspace: name }, 'a workspace was deleted')
    return info
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    const all = [...this.#all.values()]
    this.#all.clear()
    await Promise.all(all.map(each => each.close()))
    const threads = (await this.#shared)?.threads
    await threads?.transcoder[Symbol.asyncDispose]()
    await threads?.validator[Symbol.asyncDispose]()
  }

  readonly families = (): readonly Family[] => {
    const perWorkspace = (value: (entry: Entry) => number) =>
      Array.from(this.#all.values(), entry => [{ workspace: entry.name }, value(entry)] as const)
    return [
      { name: 'keelson_workspaces', type: 'gauge', help: 'Workspaces of this server.', samples: [[{}, this.#all.size]] },
      {
        name: 'keelson_workspace_requests_total',
        type: 'counter',
        help: 'Requests by workspace.',
        samples: perWorkspace(({ requests }) => requests),
      },
      {
        name: 'keelson_workspace_waiting_requests',
        type: 'gauge',
        help: 'Requests that wait for the turn of their workspace.',
        samples: perWorkspace(({ turn }) => turn.waiting.length),
      },
      {
        name: 'keelson_workspace_store_bytes',
        type: 'gauge',
        help: 'Bytes of records and their history by workspace.',
        samples: perWorkspace(({ server }) => server.store.size?.().usedBytes ?? 0),
      },
    ]
  }

  #serve(request: Request, next: Serve): MaybePromise<Response> {
    const below = workspaceIn(request.target)
    // A client learns whether a workspace exists only if the server itself would answer it.
    const entry = below && this.#all.get(below.name)
    if (!entry) return next(request)
    entry.requests++
    entry.compactNow()
    try {
      const inner = new RequestBelow(request, below.target, () => this.#turns.resume(entry.turn))
      return this.#turns.run(entry.turn, () => entry.serve(inner))
    } catch (error) {
      if (error instanceof StatusError) return statusResponse(error, request)
      throw error
    }
  }

  #entry(name: string): Entry {
    const entry = this.#all.get(name)
    if (!entry) throw new StatusError(404, 'NotFound', `there is no workspace ${JSON.stringify(name.slice(0, MAX_SHOWN))}`)
    return entry
  }

  get #parts(): FrontParts {
    if (!this.#host) throw new Error('the server is not started')
    return this.#host
  }

  #infoOf({ name, created, server, requests }: Entry): WorkspaceInfo {
    let objects = 0
    for (const resource of server.client.resources()) objects += server.client.of(resource).count()
    return { name, url: `${this.#parts.url()}/workspaces/${name}`, created, objects, bytes: server.store.size?.().usedBytes ?? 0, requests }
  }

  #accessOf(entry: Entry): WorkspaceAccess {
    const info = this.#infoOf(entry)
    const { authority: ca } = this.#parts
    const { token } = entry
    return { ...info, token, ca, kubeconfig: tokenKubeconfig({ server: info.url, ca, token, name: entry.name }) }
  }

  /** The settings of a workspace: those of the server about its API; users, files and addresses are the server's alone. */
  #configOf(name: string, { controllers = ['none'], nodes = 0, api = this.#config.api }: WorkspaceOptions): Config {
    const own = this.#config
    return {
      ...DEFAULTS,
      groupDomain: own.groupDomain,
      featureGates: own.featureGates,
      runtimeConfig: own.runtimeConfig,
      emulatedVersion: own.emulatedVersion,
      minCompatibilityVersion: own.minCompatibilityVersion,
      emulationForwardCompatible: own.emulationForwardCompatible,
      runtimeConfigEmulationForwardCompatible: own.runtimeConfigEmulationForwardCompatible,
      enableAdmissionPlugins: own.enableAdmissionPlugins,
      disableAdmissionPlugins: own.disableAdmissionPlugins,
      proxyAllowedNetworks: own.proxyAllowedNetworks,
      egressSelectorConfigFile: own.egressSelectorConfigFile,
      historyMs: own.historyMs,
      bookmarkMs: own.bookmarkMs,
      logLevel: own.logLevel,
      drainMs: 0,
      store: 'memory',
      console: false,
      api,
      controllers,
      nodes,
      contextName: name,
      // Tokens of one workspace are nothing to another, even if both began with the same state.
      serviceAccountIssuers: [`${this.#parts.url()}/workspaces/${name}`],
    }
  }

  /** The state of a new server with this configuration, which only the first workspace waits for. */
  #templateOf(config: Config): Promise<Template> {
    const known = this.#templates.get(config.api) ?? this.#makeTemplate({ ...config, controllers: ['none'], nodes: 0 })
    this.#templates.set(config.api, known)
    known.catch(() => this.#templates.delete(config.api))
    return known
  }

  async #makeTemplate(config: Config): Promise<Template> {
    const opened = await this.#open('', config, { state: undefined, shortLived: [] })
    const { server } = opened
    await server.settled()
    const resources = [...server.client.resources()]
    const shortLived = resources.flatMap(({ prefix, def }) =>
      def.ttlSeconds === undefined ? [] : [{ prefix, ttlSeconds: def.ttlSeconds }],
    )
    const state = await saveState(server.store)
    await opened.close()
    return { state, shortLived }
  }

  async #open(name: string, config: Config, begin: { state: SavedState | undefined; shortLived: readonly ShortLived[] }) {
    this.#shared ??= this.#makeShared()
    const { certificates, threads } = await this.#shared
    // Simulated nodes have kinds of their own.
    const key = `${config.api} ${simulatedNodes(config) > 0}`
    const resources = (make: () => Promise<ServerResources>) => {
      const known = this.#resources.get(key) ?? make()
      this.#resources.set(key, known)
      known.catch(() => this.#resources.delete(key))
      return known
    }
    return openWorkspace({ name, config, host: this.#parts, shared: { resources, certificates, threads }, ...begin })
  }

  async #makeShared(): Promise<Shared> {
    const { groupDomain, featureGates } = this.#config
    const now = new Date(this.#parts.clock.now())
    const nowhere = { directory: undefined, store: new MemoryStore(), hasReplicas: false, names: [] }
    return {
      certificates: await OwnCertificates.open(nowhere, now),
      threads: {
        transcoder: new WorkerTranscoder(),
        validator: new WorkerValidator({ groupDomain, featureGates, releases: readReleases(this.#config) }),
      },
    }
  }

  #stateOf(from: NonNullable<WorkspaceOptions['from']>): Promise<SavedState> | SavedState {
    if ('state' in from) return from.state
    return 'snapshot' in from ? this.#snapshot(from.snapshot) : saveState(this.#entry(from.workspace).server.store)
  }
}

const MAX_SHOWN = 100
