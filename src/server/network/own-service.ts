/** The service `kubernetes`, by which programs in a cluster find this server, and its endpoints. */
import { type Named, queueKey } from '../../client/change.ts'
import type { Client } from '../../client/client.ts'
import { serverIdentity } from '../../client/identity.ts'
import { defineController, watch } from '../../controllers/controller.ts'
import { Endpoints } from '../../kinds/core/endpoints.ts'
import { Service } from '../../kinds/core/service/service.ts'
import { EndpointSlice } from '../../kinds/discovery/endpointslice.ts'
import { addressAt, formatIP, parseCIDR } from '../../lib/ip.ts'
import { deepEqual } from '../../lib/json-value.ts'
import { advertisedAddress } from './advertised-address.ts'
import type { ServerRecords } from './server-records.ts'

const NAMED = { namespace: 'default', name: 'kubernetes' }
const KEY = queueKey(NAMED)
const RENEW_EVERY_MS = 5_000

export type OwnService = {
  readonly ranges: readonly string[]
  /** The configured address at which others reach the server. */
  readonly advertiseAddress: string | undefined
  /** The address on which the server listens. */
  readonly address: string
  readonly port: number
  /** The servers over the same store by their addresses, if it is shared. */
  readonly replicas?: ServerRecords
}

/** Creates the service if it does not exist, and keeps its endpoints: this server, or all servers that are alive. */
export const ownServiceController = (own: OwnService) =>
  defineController({
    name: 'kubernetes-service-controller',
    identity: serverIdentity(),
    create({ client, enqueue, signal }) {
      const onChange = ({ current }: { readonly current: Named }) => (queueKey(current) === KEY ? KEY : undefined)
      enqueue(KEY)
      return {
        watches: [watch(Service, onChange), watch(Endpoints, onChange), watch(EndpointSlice, onChange)],
        async reconcile() {
          if (signal.aborted) return undefined
          await Promise.all([ensureService(client, own), announce(client, own)])
          return own.replicas && RENEW_EVERY_MS
        },
      }
    },
  })

async function ensureService(client: Client, { ranges, port: targetPort, replicas }: OwnService): Promise<void> {
  const services = client.of(Service)
  const first = addressAt(parseCIDR(ranges[0]!)!, 1n)
  if (!first || services.exists(NAMED)) return
  const labels = { component: 'apiserver', provider: 'kubernetes' }
  const ports = [{ name: 'https', protocol: 'TCP', port: 443, targetPort }]
  const spec = { type: 'ClusterIP', clusterIP: formatIP(first), ipFamilyPolicy: 'SingleStack', sessionAffinity: 'None', ports }
  await services.create({ metadata: { ...NAMED, labels }, spec }).catch(error => {
    // Another server has allocated the address for the same service, and is about to create it.
    if (!replicas) throw error
  })
}

/** Announces this server where the store is shared, and writes the endpoints of all servers. */
async function announce(client: Client, own: OwnService): Promise<void> {
  const ip = advertisedAddress(own)
  if (!ip) return
  await own.replicas?.renew(ip, { ip })
  await publish(client, own, own.replicas ? await own.replicas.names() : [ip])
}

/** Removes this server from the endpoints before it ends. */
export async function retire(client: Client, own: OwnService): Promise<void> {
  const ip = advertisedAddress(own)
  if (!ip || !own.replicas) return
  await own.replicas.remove(ip)
  await publish(client, own, await own.replicas.names())
}

async function publish(client: Client, own: OwnService, ips: readonly string[]): Promise<void> {
  await Promise.all([ensureEndpoints(client, own, ips), ensureSlice(client, own, ips)])
}

async function ensureEndpoints(client: Client, { port, replicas }: OwnService, ips: readonly string[]): Promise<void> {
  const endpoints = client.of(Endpoints)
  const stored = endpoints.get(NAMED)
  const [first, ...others] = stored?.subsets ?? []
  // Several servers are behind the same port: none insists on its own.
  const kept = replicas && others.length === 0 && first?.ports?.length ? first.ports : undefined
  const ports = kept ?? [{ name: 'https', port, protocol: 'TCP' }]
  const subsets = ips.length === 0 ? [] : [{ addresses: ips.map(ip => ({ ip })), ports }]
  // The slice is written here as well, so that no mirroring is needed.
  const labels = { 'endpointslice.kubernetes.io/skip-mirror': 'true' }
  if (!stored) await endpoints.create({ metadata: { ...NAMED, labels }, subsets })
  else if (!deepEqual(stored.subsets ?? [], subsets)) await endpoints.patch(NAMED, { metadata: { labels }, subsets })
}

async function ensureSlice(client: Client, { port, replicas }: OwnService, ips: readonly string[]): Promise<void> {
  const slices = client.of(EndpointSlice)
  const labels = { 'kubernetes.io/service-name': NAMED.name }
  const stored = slices.get(NAMED)
  const addressType = stored?.addressType ?? (ips[0]?.includes(':') ? 'IPv6' : 'IPv4')
  const isOfType = (ip: string) => ip.includes(':') === (addressType === 'IPv6')
  const desired = {
    addressType,
    endpoints: ips.filter(isOfType).map(ip => ({ addresses: [ip], conditions: { ready: true } })),
    ports: replicas && stored?.ports?.length ? stored.ports : [{ name: 'https', port, protocol: 'TCP' }],
  }
  if (!stored) await slices.create({ metadata: { ...NAMED, labels }, ...desired })
  else if (!deepEqual({ addressType: stored.addressType, endpoints: stored.endpoints ?? [], ports: stored.ports ?? [] }, desired))
    await slices.patch(NAMED, { metadata: { labels }, ...desired })
}
