/** A workspace: a whole server without a port, over a store in memory. */
import { parseTokenFile } from '../authn/token-file.ts'
import { shareRecords } from '../cache/cached-revision.ts'
import type { Port } from '../http/listener/listen.ts'
import type { Fields, Log } from '../http/observability/log.ts'
import { randomBytes } from '../lib/environment.ts'
import { LIMITS } from '../lib/limits.ts'
import type { SavedState } from '../library/state.ts'
import type { Config } from '../server/config.ts'
import type { FrontParts, Serve } from '../server/port/open-port.ts'
import type { Server } from '../server/running-server.ts'
import { startServer } from '../server/start.ts'
import type { Threads, WorkspaceParts } from '../server/start-parts.ts'
import { MemoryStore } from '../storage/memory.ts'

/** The name of the user whose token the kubeconfig of a workspace has. */
export const WORKSPACE_ADMIN = 'workspace-admin'

export type OpenedWorkspace = {
  readonly server: Server
  readonly serve: Serve
  /** The token of its administrator. */
  readonly token: string
  /** Compacts its store if that was long ago: a workspace without controllers has no timer for that. */
  compactNow(): void
  /** Ends its watches and components. */
  close(): Promise<void>
}

export type OpenParts = {
  readonly name: string
  readonly config: Config
  readonly host: Pick<FrontParts, 'log' | 'clock' | 'auditor' | 'authority'>
  readonly shared: Pick<WorkspaceParts, 'resources' | 'certificates' | 'threads'>
  /** The state to begin with; without it, the objects of a new server are created. */
  readonly state: SavedState | undefined
  /** The resources whose objects last for a time only. */
  readonly shortLived: readonly ShortLived[]
}

export type ShortLived = { readonly prefix: string; readonly ttlSeconds: number }

/** How long after a check of its history a workspace is checked again. */
const COMPACT_EVERY_MS = 5_000

export async function openWorkspace({ name, config, host, shared, state, shortLived }: OpenParts): Promise<OpenedWorkspace> {
  const { clock } = host
  const store = new MemoryStore({ clock, quotaBytes: LIMITS.workspaces.storeBytes })
  if (state) await fill(store, state, shortLived)
  const token = randomBytes(32).toString('base64url')
  const log = namedLog(host.log, { workspace: name })
  let serve: Serve | undefined
  let compact = () => {}
  let compactedAt = clock.now()
  const isQuiet = config.controllers.includes('none')
  const server = await startServer(config, {
    clock,
    store,
    memory: LIMITS.workspaces.memoryBytes,
    machine: {
      log,
      keys: new Map(),
      async listen(options) {
        serve = options.serve
        return portOf(config)
      },
    },
    workspace: {
      ...shared,
      threads: threadsOf(name, shared.threads),
      authority: host.authority,
      tokens: parseTokenFile(`${token},${WORKSPACE_ADMIN},,"system:masters"`, name),
      auditor: host.auditor?.annotated('keelson.dev/workspace', name),
      isPrepared: state !== undefined,
      ...(isQuiet && { onCompaction: (given: () => void) => void (compact = given) }),
    },
  })
  return {
    server,
    serve: serve!,
    token,
    compactNow() {
      if (clock.now() - compactedAt < COMPACT_EVERY_MS) return
      compactedAt = clock.now()
      compact()
    },
    async close() {
      await server.close('the workspace was deleted')
      // A store that was handed in is left open by the server.
      await store.close()
    },
  }
}

/** Writes the records of a state, whose decoded objects all workspaces that begin with it have in common. */
async function fill(store: MemoryStore, { records }: SavedState, shortLived: readonly ShortLived[]): Promise<void> {
  const values = [...records.values()].map(({ value }) => value)
  shareRecords(values)
  const write = ([key, { value }]: [string, { readonly value: Uint8Array }]) => {
    const lived = shortLived.find(({ prefix }) => key.startsWith(prefix))
    return store.swap(key, { expect: 0, value, ...(lived && { ttlSeconds: lived.ttlSeconds }) })
  }
  await Promise.all([...records].map(write))
  // There was nothing before.
  await store.compact(store.fresh())
}

/** The worker threads that all have in common: users of the same name in other workspaces are others. */
const threadsOf = (workspace: string, { transcoder, validator }: Threads): Threads => ({
  transcoder: { transcode: (job, options) => transcoder.transcode(job, { ...options, workspace }) },
  validator: { validate: (job, options) => validator.validate(job, { ...options, workspace }) },
})

/** A port without sockets: requests come from the server that has one. */
const portOf = ({ host, port }: Config): Port => ({
  address: { address: host, port, family: 'IPv4' },
  handshakeErrors: 0,
  presented: [],
  unref() {},
  readAuthorities() {},
  reload() {},
  renewCertified() {},
  cutAll: () => () => {},
  sendAway() {},
  async drain() {},
})

/** A log whose lines have further fields. */
function namedLog(log: Log, base: Fields): Log {
  return {
    ...log,
    debug: (fields, message) => log.debug({ ...base, ...fields }, message),
    info: (fields, message) => log.info({ ...base, ...fields }, message),
    warn: (fields, message) => log.warn({ ...base, ...fields }, message),
    error: (fields, message) => log.error({ ...base, ...fields }, message),
  }
}
