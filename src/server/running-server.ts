/** A server that runs: how to reach it, and how it ends. */
import type { Caches } from '../cache/caches.ts'
import type { Client } from '../client/client.ts'
import type { Port } from '../http/listener/listen.ts'
import type { Log } from '../http/observability/log.ts'
import { nextIteration, sleep } from '../lib/environment.ts'
import type { KeyPair } from '../lib/x509/issue.ts'
import type { Store } from '../storage/store.ts'
import type { Config } from './config.ts'
import type { ControllerRunner } from './controllers/controller-runner.ts'
import { kubeconfigText } from './credentials/kubeconfig.ts'
import type { OwnCertificates } from './credentials/own-certificates.ts'
import { certify } from './credentials/pki.ts'
import { lookAtFiles } from './files/follow-file.ts'
import type { OwnFiles } from './files/own-files.ts'
import type { Siblings } from './processes/siblings.ts'

export interface Server extends AsyncDisposable {
  /** `https://HOST:PORT`. */
  readonly url: string
  /** The admin's kubeconfig, as text. */
  readonly kubeconfig: string
  /** Certificates for clients that take them apart from a kubeconfig; PEM. */
  readonly credentials: Credentials
  /** The API in the name of the admin, without HTTP. */
  readonly client: Client
  readonly store: Store
  /** Issues the certificate of a user, signed by this server's own authority. */
  certify(user: string, groups: readonly string[]): KeyPair
  /** Resolves when controllers have nothing to do but to wait for a time to pass. */
  settled(): Promise<void>
  /** Resolves with the reason when the server can no longer work. */
  readonly failed: Promise<unknown>
  /** Looks at once whether files that the configuration names have changed. The log has the reason. */
  readFilesAgain(reason: string): void
  /** Lets the process end although the server is not closed. */
  unref(): void
  /** Turns readiness off, ends watches, lets requests finish, closes the store. The log has the reason. */
  close(reason?: string): Promise<void>
}

export type Credentials = { readonly ca: string; readonly cert: string; readonly key: string }

/** The certificates of the admin, and the authority by which clients know the server. */
export function adminCredentials(files: Pick<OwnFiles, 'server'>, { current }: OwnCertificates): Credentials {
  const { authority, admin } = current
  return { ca: files.server?.cert ?? authority.cert, cert: admin.cert, key: admin.key }
}

export type RunningServerParts = {
  readonly config: Config
  readonly url: string
  readonly client: Client
  readonly store: Store
  readonly caches: Caches
  readonly files: OwnFiles
  readonly certificates: OwnCertificates
  readonly controllers: ControllerRunner
  readonly listener: Port
  readonly log: Log
  readonly now: () => Date
  readonly failed: Promise<unknown>
  /** Resolves when all components are started. */
  readonly started: Promise<void>
  /** Called once when the server begins to end. */
  readonly onLeaving: () => void
  /** Ends all that runs beside requests. */
  readonly endComponents: () => void
  /** Tells other servers over the store that this one ends. */
  readonly tellOthers: () => Promise<unknown>
  /** The other processes of this server, if there are any. */
  readonly siblings: Siblings | undefined
  /** Closes all parts, the last one first. */
  readonly closeAll: () => Promise<void>
}

/** Time for a server that ends to tell others so; a store that takes longer is out of reach. */
const LEAVE_MS = 2_000

export class RunningServer implements Server {
  readonly #parts: RunningServerParts
  #closing: Promise<void> | undefined

  constructor(parts: RunningServerParts) {
    this.#parts = parts
  }

  get url(): string {
    return this.#parts.url
  }

  get client(): Client {
    return this.#parts.client
  }

  get store(): Store {
    return this.#parts.store
  }

  get failed(): Promise<unknown> {
    return this.#parts.failed
  }

  get kubeconfig(): string {
    return kubeconfigText({ server: this.url, ...this.credentials, name: this.#parts.config.contextName })
  }

  get credentials(): Credentials {
    return adminCredentials(this.#parts.files, this.#parts.certificates)
  }

  certify(user: string, groups: readonly string[]): KeyPair {
    const { certificates, now } = this.#parts
    return certify(certificates.current, { commonName: user, organizations: groups }, now())
  }

  async settled(): Promise<void> {
    const { started, caches, controllers, certificates } = this.#parts
    await started
    for (let revision = -1; revision !== caches.revision; ) {
      revision = caches.revision
      await Promise.all([controllers.idle(), certificates.renewal])
      await new Promise<void>(nextIteration)
    }
  }

  readFilesAgain(reason: string): void {
    this.#parts.log.info({ reason }, 'reading changed files again')
    // Each follower of a file reports its own failures.
    void lookAtFiles()
  }

  unref(): void {
    this.#parts.listener.unref()
  }

  close(reason = 'asked to'): Promise<void> {
    this.#closing ??= this.#close(reason)
    return this.#closing
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async #close(reason: string): Promise<void> {
    const { config, log, listener, caches, store, siblings, onLeaving, endComponents, closeAll } = this.#parts
    log.info({ reason }, 'shutting down')
    onLeaving()
    if (config.shutdownDelayMs > 0) {
      listener.sendAway()
      await sleep(config.shutdownDelayMs)
    }
    endComponents()
    caches.endWatches()
    if (store.isShared) await this.#leave()
    await listener.drain(config.drainMs)
    // The store that one process owns must stay open for requests of the others.
    await siblings?.drained()
    await closeAll()
    log.info({}, 'stopped')
  }

  /** Tells other servers that this one ends. Nothing waits any more for a store that is out of reach. */
  async #leave(): Promise<void> {
    const { store, tellOthers } = this.#parts
    if (!(await Promise.race([tellOthers(), sleep(LEAVE_MS, { ref: false })]))) store.abandon?.()
  }
}
