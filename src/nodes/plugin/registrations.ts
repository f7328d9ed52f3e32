/**
 * The plugins whose sockets are in a directory, as the plugin watcher of a kubelet registers them: sockets are looked for every second,
 * a new one is asked who it is, and one that is gone is forgotten. A socket in a folder with the name of a node belongs to that node,
 * every other one to all nodes.
 */
import { readdir, stat } from 'node:fs/promises'
import { basename, join, relative, sep } from 'node:path'
import { sleep, wallMs } from '../../lib/environment.ts'
import { messageOf } from '../../lib/error-message.ts'
import type { DriverNode, PluginCalls, PluginInfo } from './plugin-calls.ts'

/** A CSI driver that has told about its node. */
export type RegisteredDriver = DriverNode & { readonly name: string; readonly socket: string }

export type RegistrationsParts = {
  readonly directory: string
  readonly calls: PluginCalls
  /** Writes what follows from the drivers to the nodes. Rejects when that is not possible. */
  readonly apply: () => Promise<void>
  readonly onError: (error: unknown) => void
  readonly signal: AbortSignal
}

const LOOK_MS = 1_000
/** Delay before a registration that failed is tried again, doubled each time. */
const RETRY_MS = { first: 500, last: 122_000 }

type Known = {
  /** Changes when the socket is made anew. */
  readonly stamp: string
  state: 'registering' | 'registered' | 'failed'
  driver: RegisteredDriver | undefined
  failures: number
  retryAt: number
}

export class Registrations {
  readonly #parts: RegistrationsParts
  readonly #known = new Map<string, Known>()

  constructor(parts: RegistrationsParts) {
    this.#parts = parts
    void this.#run()
  }

  /** The drivers of a node. */
  driversOf(node: string, isNode: (name: string) => boolean): RegisteredDriver[] {
    const { directory } = this.#parts
    return [...this.#known.values()].flatMap(({ driver }) => {
      if (!driver) return []
      const [folder = ''] = relative(directory, driver.socket).split(sep)
      return folder === basename(driver.socket) || !isNode(folder) || folder === node ? [driver] : []
    })
  }

  async #run(): Promise<void> {
    const { signal, onError } = this.#parts
    while (!signal.aborted) {
      await this.#look().catch(onError)
      // Rejects when the signal aborts.
      await sleep(LOOK_MS, { signal, ref: false }).catch(() => {})
    }
  }

  async #look(): Promise<void> {
    const found = await socketsIn(this.#parts.directory)
    let hasChanged = false
    for (const [socket, { stamp }] of this.#known)
      if (found.get(socket) !== stamp) {
        hasChanged ||= this.#known.get(socket)?.driver !== undefined
        this.#known.delete(socket)
      }
    if (hasChanged) await this.#parts.apply().catch(this.#parts.onError)
    for (const [socket, stamp] of found) {
      const known = this.#known.get(socket)
      if (known && (known.state !== 'failed' || known.retryAt > wallMs())) continue
      const entry: Known = { stamp, state: 'registering', driver: undefined, failures: known?.failures ?? 0, retryAt: 0 }
      this.#known.set(socket, entry)
      void this.#register(socket, entry)
    }
  }

  async #register(socket: string, entry: Known): Promise<void> {
    const { calls, onError, apply } = this.#parts
    try {
      const info = await calls.info(socket)
      try {
        entry.driver = await this.#accepted(info, socket)
        if (entry.driver) await apply().catch(cannotInstall)
      } catch (error) {
        const message = messageOf(error)
        await calls.notify(socket, message).catch(onError)
        throw error
      }
      await calls.notify(socket, '')
      entry.state = 'registered'
    } catch (error) {
      const wasDriver = entry.driver !== undefined
      entry.driver = undefined
      entry.state = 'failed'
      entry.retryAt = wallMs() + Math.min(RETRY_MS.first * 2 ** entry.failures++, RETRY_MS.last)
      if (wasDriver) await apply().catch(onError)
      onError(error)
    }
  }

  /** The driver that a plugin is, if it is one that nodes are told about. Throws for a plugin that a kubelet refuses. */
  async #accepted({ type, name, endpoint, versions }: PluginInfo, socket: string): Promise<RegisteredDriver | undefined> {
    if (type === 'DRAPlugin') {
      if (!versions.some(version => DRA_VERSIONS.includes(version)))
        throw refused(
          `validation failed for DRA plugin ${name} at endpoint ${endpoint || socket}: none of the versions [${versions.join(' ')}] are supported`,
        )
      return undefined
    }
    if (type !== 'CSIPlugin') throw new Error(`RegisterPlugin error -- no handler registered for plugin type: ${type} at socket ${socket}`)
    checkVersions(name, endpoint || socket, versions)
    const other = [...this.#known.values()].find(({ driver }) => driver?.name === name)
    if (other)
      throw refused(
        `validation failed for CSI Driver ${name} at endpoint ${endpoint || socket}: another driver with the same name is already registered`,
      )
    try {
      const node = await this.#parts.calls.nodeInfo(endpoint || socket)
      if (node.nodeID === '') throw new Error('error adding CSI driver node info: driverNodeID must not be empty')
      return { ...node, name, socket }
    } catch (error) {
      throw new Error(`RegisterPlugin error -- plugin registration failed with err: ${messageOf(error)}`)
    }
  }
}

function cannotInstall(error: unknown): never {
  throw new Error(
    `RegisterPlugin error -- plugin registration failed with err: error updating Node object with CSI driver node info: ${messageOf(error)}`,
  )
}

const DRA_VERSIONS = ['v1.DRAPlugin', 'v1beta1.DRAPlugin', '1.0.0', 'v1beta1', 'v1']

const refused = (why: string): Error => new Error(`RegisterPlugin error -- plugin validation failed with err: ${why}`)

/** Version 1 of CSI is the only one that kubelets support. */
function checkVersions(name: string, endpoint: string, versions: readonly string[]): void {
  const about = `validation failed for CSI Driver ${name} at endpoint ${endpoint}: kubernetes.io/csi: ValidatePlugin for CSI driver "${name}" failed.`
  if (versions.length === 0) throw refused(`${about} Plugin returned an empty list for supported versions`)
  if (!versions.some(version => /^v?1(\.\d+){1,2}/.test(version)))
    throw refused(`${about} None of the versions specified ["${versions.join('" "')}"] are supported. err=no supported versions`)
}

/** Sockets in a directory and below, with a stamp each; names that begin with a dot are left out. */
async function socketsIn(directory: string): Promise<Map<string, string>> {
  const found = new Map<string, string>()
  const entries = await readdir(directory, { recursive: true, withFileTypes: true }).catch((error: NodeJS.ErrnoException) => {
    // It may be created later.
    if (error.code === 'ENOENT') return []
    throw error
  })
  for (const entry of entries) {
    if (!entry.isSocket() || entry.name.startsWith('.')) continue
    const path = join(entry.parentPath ?? entry.path, entry.name)
    const status = await stat(path).catch(() => undefined)
    if (status) found.set(path, `${status.ino} ${status.ctimeMs}`)
  }
  return found
}
