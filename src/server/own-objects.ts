/** Objects by which a server tells of itself, written once it serves: how requests share it, and which groups it answers for. */
import type { Caches } from '../cache/caches.ts'
import type { Log } from '../http/log.ts'
import type { Registry } from '../registry/api.ts'
import type { Catalog } from '../registry/catalog.ts'
import { LocalClient } from '../registry/local-client.ts'
import type { Store } from '../storage/store.ts'
import { startApiServices } from './api-services.ts'
import type { Config } from './config.ts'
import { ensureFlowControl } from './flow-control.ts'

export type OwnObjectsParts = {
  readonly store: Store
  readonly caches: Caches
  readonly catalog: Catalog
  readonly registry: () => Registry
  readonly gate: (name: string) => boolean
  readonly now: () => Date
  readonly log: Log
  readonly signal: AbortSignal
}

const SERVER = { name: 'system:apiserver', groups: ['system:masters'] }

/** Writes what is missing and follows what changes; resolves when all is there. */
export async function startOwnObjects({ groupDomain }: Config, parts: OwnObjectsParts): Promise<void> {
  const { registry, caches, gate, now, log, signal } = parts
  const client = new LocalClient({ registry: registry(), caches, user: SERVER, manager: 'kube-apiserver', groupDomain, gate, now })
  const onError = (error: unknown) => {
    if (!signal.aborted) log.warn({ error: String(error) }, 'what the server tells of itself could not be written')
  }
  const setup = { ...parts, client, groupDomain, onError }
  await Promise.all([ensureFlowControl(setup), startApiServices(setup)]).catch(onError)
}
