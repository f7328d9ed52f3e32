import { type EveryNamespace, startEveryNamespace } from '../controllers/every-namespace/controller.ts'
import { nextStep as nextForAuthority, ROOT_CA } from '../controllers/root-ca-cert-publisher/reconcile.ts'
import { DEFAULT_ACCOUNT, nextStep as nextForAccount } from '../controllers/serviceaccount/reconcile.ts'
import { startTokenController, type TokenController } from '../controllers/serviceaccount-token/controller.ts'
import type { AnyObject } from '../schema/object-meta.ts'
import type { Resource } from '../schema/resource.ts'
import { type Config, runsController } from './config.ts'
import { CONTROLLER, clientFor, type Inner, SERVER } from './inner.ts'

export type AccountControllersParts = Inner & {
  /** By which clients know this server; PEM. */
  readonly authority: string
  /** Signs the token that a secret is to hold. */
  readonly sign: TokenController['sign']
}

/** Starts those that are to run; settles when the namespaces there are have what they need. */
export async function startAccountControllers(config: Config, parts: AccountControllersParts): Promise<void> {
  const { catalog, authority, sign, log, signal } = parts
  const { groupDomain } = config
  // What clients see as the owner of these objects in every cluster.
  const manager = 'kube-controller-manager'
  const client = clientFor(parts, { user: CONTROLLER, manager, groupDomain })
  const complain = (what: string) => (error: unknown) => {
    if (!signal.aborted) log.warn({ error: String(error) }, `${what} could not be written; it will be tried again`)
  }
  const [namespaces, accounts, maps, secrets] = ['namespaces', 'serviceaccounts', 'configmaps', 'secrets'].map(plural =>
    catalog.find('', 'v1', plural),
  )
  const everywhere = async (resource: Resource | undefined, more: Pick<EveryNamespace, 'name' | 'nextStep'>) => {
    if (!namespaces || !resource) return
    const onError = complain(`${resource.plural}/${more.name}`)
    await startEveryNamespace({ api: client, namespaces, resource, onError, signal, ...more })
  }
  const inSecrets = async () => {
    if (!accounts || !secrets) return
    await startTokenController({ api: client, accounts, secrets, authority, sign, onError: complain('the token of a secret'), signal })
  }
  await Promise.all([
    runsController(config, 'serviceaccount-controller') && everywhere(accounts, { name: DEFAULT_ACCOUNT, nextStep: nextForAccount }),
    runsController(config, 'root-ca-certificate-publisher-controller') &&
      everywhere(maps, { name: ROOT_CA, nextStep: stored => nextForAuthority(authority, stored) }),
    runsController(config, 'serviceaccount-token-controller') && inSecrets(),
  ])
}

const LAST_USED = 'kubernetes.io/legacy-token-last-used'

/** Notes in a secret the day on which its token was last used, once a day. */
export function noteTokenUse(parts: Omit<Inner, 'signal'>, groupDomain: string): (secret: AnyObject) => void {
  const { catalog, now, log } = parts
  let noting: string | undefined
  return ({ metadata: { namespace = '', name = '', uid, labels = {} } }) => {
    const day = (ms: number) => new Date(ms).toISOString().slice(0, 10)
    const today = day(now().getTime())
    const key = `${uid} ${today}`
    const secrets = catalog.find('', 'v1', 'secrets')
    if (!secrets || noting === key || [today, day(now().getTime() + 24 * 3600_000)].includes(labels[LAST_USED] ?? '')) return
    noting = key
    const client = clientFor(parts, { user: SERVER, manager: 'keelson', groupDomain })
    client
      .patch(secrets, { namespace, name }, { metadata: { uid, labels: { [LAST_USED]: today } } }, { type: 'application/merge-patch+json' })
      .catch(error => log.warn({ error: String(error) }, 'the last use of a token could not be noted'))
      .finally(() => (noting = undefined))
  }
}
