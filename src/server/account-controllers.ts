/** The controllers that give every namespace what its pods count on: an account, and the authority of this server. */
import type { Caches } from '../cache/caches.ts'
import { type EveryNamespace, startEveryNamespace } from '../controllers/every-namespace/controller.ts'
import { nextStep as nextForAuthority, ROOT_CA } from '../controllers/root-ca-cert-publisher/reconcile.ts'
import { DEFAULT_ACCOUNT, nextStep as nextForAccount } from '../controllers/serviceaccount/reconcile.ts'
import type { Log } from '../http/log.ts'
import type { Registry } from '../registry/api.ts'
import type { Catalog } from '../registry/catalog.ts'
import { LocalClient } from '../registry/local-client.ts'
import { type Config, runsController } from './config.ts'

export type AccountControllersParts = {
  readonly registry: () => Registry
  readonly caches: Caches
  readonly catalog: Catalog
  readonly gate: (name: string) => boolean
  readonly now: () => Date
  /** By which clients know this server; PEM. */
  readonly authority: string
  readonly log: Log
  readonly signal: AbortSignal
}

const CONTROLLER = { name: 'system:kube-controller-manager', groups: ['system:masters'] }

/** Starts those that are to run; settles when the namespaces there are have what they need. */
export async function startAccountControllers(config: Config, parts: AccountControllersParts): Promise<void> {
  const { registry, caches, catalog, gate, now, authority, log, signal } = parts
  const { groupDomain } = config
  // What clients see as the owner of these objects in every cluster.
  const manager = 'kube-controller-manager'
  const client = new LocalClient({ registry: registry(), caches, user: CONTROLLER, manager, groupDomain, gate, now })
  const start = async (plural: string, more: Pick<EveryNamespace, 'name' | 'nextStep'>) => {
    const [namespaces, resource] = ['namespaces', plural].map(each => catalog.find('', 'v1', each))
    if (!namespaces || !resource) return
    const onError = (error: unknown) => {
      if (!signal.aborted) log.warn({ error: String(error) }, `${plural}/${more.name} could not be written; it will be tried again`)
    }
    await startEveryNamespace({ api: client, namespaces, resource, onError, signal, ...more })
  }
  await Promise.all([
    runsController(config, 'serviceaccount-controller') && start('serviceaccounts', { name: DEFAULT_ACCOUNT, nextStep: nextForAccount }),
    runsController(config, 'root-ca-certificate-publisher-controller') &&
      start('configmaps', { name: ROOT_CA, nextStep: stored => nextForAuthority(authority, stored) }),
  ])
}
