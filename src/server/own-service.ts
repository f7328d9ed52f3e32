/** The service `kubernetes`, by which programs in a cluster find this server, and its endpoints. */
import { networkInterfaces } from 'node:os'
import type { Client } from '../client/client.ts'
import { serverIdentity } from '../client/identity.ts'
import { type Named, queueKey } from '../client/object-revision.ts'
import { defineController, watch } from '../controllers/controller.ts'
import { Endpoints } from '../kinds/core/endpoints.ts'
import { Service } from '../kinds/core/service/service.ts'
import { EndpointSlice } from '../kinds/discovery/endpointslice.ts'
import { addressAt, formatIP, isLinkLocalUnicast, isLoopback, isUnspecified, parseCIDR, parseIPSloppy } from '../lib/ip.ts'
import { deepEqual } from '../lib/json-value.ts'

const NAMED = { namespace: 'default', name: 'kubernetes' }
const KEY = queueKey(NAMED)

export type OwnService = {
  readonly ranges: readonly string[]
  /** Where others reach the server, if that was configured. */
  readonly advertiseAddress: string | undefined
  /** Where the server listens. */
  readonly address: string
  readonly port: number
}

/** Creates the service when it is not there, and keeps its endpoints those of this server. */
export const ownServiceController = (own: OwnService) =>
  defineController({
    name: 'kubernetes-service-controller',
    identity: serverIdentity(),
    create({ client, enqueue }) {
      const onChange = ({ current }: { readonly current: Named }) => (queueKey(current) === KEY ? KEY : undefined)
      enqueue(KEY)
      return {
        watches: [watch(Service, onChange), watch(Endpoints, onChange), watch(EndpointSlice, onChange)],
        async reconcile() {
          await Promise.all([ensureService(client, own), ensureEndpoints(client, own), ensureSlice(client, own)])
        },
      }
    },
  })

async function ensureService(client: Client, { ranges, port: targetPort }: OwnService): Promise<void> {
  const services = client.of(Service)
  const first = addressAt(parseCIDR(ranges[0]!)!, 1n)
  if (!first || services.exists(NAMED)) return
  const labels = { component: 'apiserver', provider: 'kubernetes' }
  const ports = [{ name: 'https', protocol: 'TCP', port: 443, targetPort }]
  const spec = { type: 'ClusterIP', clusterIP: formatIP(first), ipFamilyPolicy: 'SingleStack', sessionAffinity: 'None', ports }
  await services.create({ metadata: { ...NAMED, labels }, spec })
}

async function ensureEndpoints(client: Client, own: OwnService): Promise<void> {
  const ip = advertised(own)
  if (!ip) return
  const endpoints = client.of(Endpoints)
  const subsets = [{ addresses: [{ ip }], ports: [{ name: 'https', port: own.port, protocol: 'TCP' }] }]
  // Its slice is written here as well, so nobody needs to mirror it.
  const labels = { 'endpointslice.kubernetes.io/skip-mirror': 'true' }
  const stored = endpoints.get(NAMED)
  if (!stored) await endpoints.create({ metadata: { ...NAMED, labels }, subsets })
  else if (!deepEqual(stored.subsets, subsets)) await endpoints.patch(NAMED, { metadata: { labels }, subsets })
}

async function ensureSlice(client: Client, own: OwnService): Promise<void> {
  const ip = advertised(own)
  if (!ip) return
  const slices = client.of(EndpointSlice)
  const labels = { 'kubernetes.io/service-name': NAMED.name }
  const wanted = {
    addressType: ip.includes(':') ? 'IPv6' : 'IPv4',
    endpoints: [{ addresses: [ip], conditions: { ready: true } }],
    ports: [{ name: 'https', port: own.port, protocol: 'TCP' }],
  }
  const stored = slices.get(NAMED)
  if (!stored) await slices.create({ metadata: { ...NAMED, labels }, ...wanted })
  else if (!deepEqual({ addressType: stored.addressType, endpoints: stored.endpoints, ports: stored.ports }, wanted))
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
