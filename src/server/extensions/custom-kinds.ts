/** Custom kinds of a server: what they need of the rest, and where services are that convert their objects. */
import { randomUUID } from 'node:crypto'
import type { Client } from '../../client/client.ts'
import { serverIdentity } from '../../client/identity.ts'
import type { Controller } from '../../controllers/controller.ts'
import { customKindControllers } from '../../custom/custom-kinds.ts'
import { poster } from '../../custom/https-post.ts'
import { type ServiceReference, webhookConverter } from '../../custom/webhook-converter.ts'
import { Service } from '../../kinds/core/service/service.ts'
import { EndpointSlice } from '../../kinds/discovery/endpointslice.ts'
import { WebhookTransport } from '../../lib/webhook-transport.ts'
import type { ObjectOf } from '../../schema/kind.ts'
import type { ServerContext } from '../context.ts'

/** A write that another server is about to store is here after a fraction of this. */
const LATE_MS = 1_000

/** `served` resolves when the kinds are served that are defined then; `cleanup` deletes the objects of those that go. */
export type RunningCustomKinds = { readonly cleanup: Controller; served(): Promise<void> }

/** Serves the kinds that are defined and follows the definitions. Resolves when those that are there are served. */
export async function startCustomKinds({
  config,
  store,
  catalog,
  caches,
  clientFor,
  run,
  signal,
}: ServerContext): Promise<RunningCustomKinds> {
  const { groupDomain } = config
  const transport = new WebhookTransport()
  signal.addEventListener('abort', () => transport[Symbol.dispose](), { once: true })
  const webhook = { post: poster(transport), newUid: randomUUID, groupDomain, resolve: serviceResolver(clientFor(serverIdentity())) }
  const [serving, cleanup] = customKindControllers({
    catalog,
    caches,
    converter: definition => webhookConverter(definition, webhook),
    ...(store.isShared && { lateMs: LATE_MS }),
  })
  const running = run(serving)
  await running.idle()
  return { cleanup, served: () => running.idle() }
}

/** Where a service can be reached from here: by its external name, at one of its endpoints, or at its own address. */
export const serviceResolver =
  (client: Client) =>
  ({ namespace, name, port }: ServiceReference): { host: string; port: number } | undefined => {
    const service = client.of(Service).get({ namespace, name })
    if (!service) return undefined
    const { type, externalName, clusterIP, ports = [] } = service.spec
    if (type === 'ExternalName') return externalName ? { host: externalName, port } : undefined
    const portName = ports.find(each => each.port === port)?.name ?? ''
    for (const slice of client.of(EndpointSlice).list({ namespace, labels: [{ key: SERVICE_NAME, operator: '=', values: [name] }] })) {
      const found = endpointOf(slice, portName)
      if (found) return found
    }
    return clusterIP && clusterIP !== 'None' ? { host: clusterIP, port } : undefined
  }

const SERVICE_NAME = 'kubernetes.io/service-name'

function endpointOf(
  { ports = [], endpoints = [] }: ObjectOf<typeof EndpointSlice>,
  portName: string,
): { host: string; port: number } | undefined {
  const port = ports?.find(each => (each.name ?? '') === portName)?.port
  const host = endpoints?.find(each => each.conditions?.ready !== false)?.addresses?.[0]
  return port !== undefined && host !== undefined ? { host, port } : undefined
}
