/** What a fresh server has: the namespaces and priority classes every client counts on, and the range of its services' addresses. */
import { SYSTEM_PRIORITY_CLASSES } from '../kinds/scheduling/priorityclass.ts'
import type { Registry } from '../registry/api.ts'
import type { Catalog } from '../registry/catalog.ts'
import type { RequestContext } from '../schema/kind.ts'
import { StatusError } from '../schema/status-error.ts'

const NAMESPACES = ['default', 'kube-system', 'kube-public', 'kube-node-lease']
const SERVER = { name: 'system:apiserver', groups: ['system:masters'] }

export type Bootstrap = {
  readonly registry: Registry
  readonly catalog: Catalog
  readonly groupDomain: string
  readonly serviceClusterIpRange: readonly string[]
  readonly now: () => Date
  readonly gate: (name: string) => boolean
}

/** Creates what is not there yet; what is there stays as it is. */
export async function bootstrap(setup: Bootstrap): Promise<void> {
  const { groupDomain, serviceClusterIpRange: cidrs } = setup
  await Promise.all([
    ...NAMESPACES.map(name => ensure(setup, ['', 'v1', 'namespaces'], { metadata: { name } })),
    ...SYSTEM_PRIORITY_CLASSES.map(({ name, ...fields }) =>
      ensure(setup, [`scheduling.${groupDomain}`, 'v1', 'priorityclasses'], { metadata: { name }, ...fields }),
    ),
    ensure(setup, [`networking.${groupDomain}`, 'v1', 'servicecidrs'], { metadata: { name: 'kubernetes' }, spec: { cidrs } }),
  ])
}

async function ensure(
  { registry, catalog, now, gate, groupDomain }: Bootstrap,
  [group, version, plural]: [string, string, string],
  object: object,
): Promise<void> {
  const resource = catalog.find(group, version, plural)
  if (!resource) return
  const ctx: RequestContext = { user: SERVER, now: now(), groupDomain, gate }
  const call = { verb: 'create', resource, namespace: '', name: '', subresource: '', query: new URLSearchParams() } as const
  const body = { mediaType: 'application/json', bytes: Buffer.from(JSON.stringify(object)) }
  try {
    await registry.handle(call, { ...ctx, body, userAgent: 'keelson', signal: new AbortController().signal })
  } catch (error) {
    if (!(error instanceof StatusError && error.reason === 'AlreadyExists')) throw error
  }
}
