/** The service `kubernetes`, by which programs in a cluster find this server, and its endpoints. */
import { networkInterfaces } from 'node:os'
import type { Client } from '../../client/client.ts'
import { serverIdentity } from '../../client/identity.ts'
import { type Named, queueKey } from '../../client/object-revision.ts'
import { defineController, watch } from '../../controllers/controller.ts'
import { Endpoints } from '../../kinds/core/endpoints.ts'
import { Service } from '../../kinds/core/service/service.ts'
import { EndpointSlice } from '../../kinds/discovery/endpointslice.ts'
import { addressAt, formatIP, isLinkLocalUnicast, isLoopback, isUnspecified, parseCIDR, parseIPSloppy } from '../../lib/ip.ts'
import { deepEqual } from '../../lib/json-value.ts'
import { RENEW_EVERY_MS, type ReplicaAddresses } from './replica-addresses.ts'

const NAMED = { namespace: 'default', name: 'kubernetes' }
const KEY = queueKey(NAMED)

export type OwnService = {
  readonly ranges: readonly string[]
  /** Where others reach the server, if that was configured. */
  readonly advertiseAddress: string | undefined
  /** Where the server listens. */
  readonly address: string
  readonly port: number
  /** The servers over the same store, where there are others. */
  readonly replicas?: ReplicaAddresses
}

/** Creates the service when it is not there, and keeps its endpoints those of this server, or of all that are alive. */
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
    // Another server has the address for the same service, which it is about to create.
    if (!replicas) throw error
  })
}

/** Says that this server is alive, where there are others, and writes where all of them are. */
async function announce(client: Client, own: OwnService): Promise<void> {
  const ip = advertised(own)
  if (!ip) return
  await own.replicas?.renew(ip)
  await publish(client, own, own.replicas ? await own.replicas.list() : [ip])
}

/** This server is about to end: it is taken out of the endpoints. */
export async function retire(client: Client, own: OwnService): Promise<void> {
  const ip = advertised(own)
  if (!ip || !own.replicas) return
  await own.replicas.remove(ip)
  await publish(client, own, await own.replicas.list())
}

async function publish(client: Client, own: OwnService, ips: readonly string[]): Promise<void> {
  await Promise.all([ensureEndpoints(client, own, ips), ensureSlice(client, own, ips)])
}

async function ensureEndpoints(client: Client, { port, replicas }: OwnService, ips: readonly string[]): Promise<void> {
  const endpoints = client.of(Endpoints)
  const stored = endpoints.get(NAMED)
  const [first, ...others] = stored?.subsets ?? []
  // Where there are several servers, they are all behind the same port: none insists on its own.
  const kept = replicas && others.length === 0 && first?.ports?.length ? first.ports : undefined
  const ports = kept ?? [{ name: 'https', port, protocol: 'TCP' }]
  const subsets = ips.length === 0 ? [] : [{ addresses: ips.map(ip => ({ ip })), ports }]
  // Its slice is written here as well, so nobody needs to mirror it.
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
  const wanted = {
    addressType,
    endpoints: ips.filter(isOfType).map(ip => ({ addresses: [ip], conditions: { ready: true } })),
    ports: replicas && stored?.ports?.length ? stored.ports : [{ name: 'https', port, protocol: 'TCP' }],
  }
  if (!stored) await slices.create({ metadata: { ...NAMED, labels }, ...wanted })
  else if (!deepEqual({ addressType: stored.addressType, endpoints: stored.endpoints ?? [], ports: stored.ports ?? [] }, wanted))
    await slices.patch(NAMED, { metadata: { labels }, ...wanted })
}

/** An address at which others can reach this machine: the configured one, the one listened on, or else the first of its own of the services' family. */
function advertised({ advertiseAddress, address, ranges }: OwnService): string | undefined {
  const isReachable = (text: string) => {
    const ip = parseIPSloppy(text)
    return ip !== undefined && !isLoopback(ip) && !isUnspecified(ip) && !isLinkLocalUnicast(ip)
  }
  for (const given of [advertiseAddress, address]) if (given !== undefined && isReachable(given)) return given
  const family = `IPv${parseCIDR(ranges[0]!)!.network.family}`
  const own = Object.values(networkInterfaces()).flatMap(all => all ?? [])
  return own.find(({ internal, family: has, address: ip }) => !internal && has === family && isReachable(ip))?.address
}
