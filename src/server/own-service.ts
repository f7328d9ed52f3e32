/** The service `kubernetes`, by which programs in a cluster find this server, and where it leads. */
import { networkInterfaces } from 'node:os'
import { addressAt, formatIP, isLinkLocalUnicast, isLoopback, isUnspecified, parseCIDR, parseIPSloppy } from '../lib/ip.ts'
import { deepEqual } from '../lib/json-value.ts'
import type { Catalog } from '../registry/catalog.ts'
import type { LocalClient } from '../registry/local-client.ts'

const NAMED = { namespace: 'default', name: 'kubernetes' }
const MERGE = { type: 'application/merge-patch+json' }

export type OwnService = {
  readonly client: LocalClient
  readonly catalog: Catalog
  readonly groupDomain: string
  readonly ranges: readonly string[]
  /** Where others reach the server, if that was configured. */
  readonly advertiseAddress: string | undefined
  /** Where the server listens. */
  readonly address: string
  readonly port: number
}

/** Creates the service if it is not there, and makes its endpoints lead to this server. */
export async function ensureOwnService(own: OwnService): Promise<void> {
  await Promise.all([ensureService(own), ensureEndpoints(own), ensureSlice(own)])
}

async function ensureService({ client, catalog, ranges, port: targetPort }: OwnService): Promise<void> {
  const resource = catalog.find('', 'v1', 'services')
  const first = addressAt(parseCIDR(ranges[0]!)!, 1n)
  if (!resource || !first || client.get(resource, NAMED)) return
  const labels = { component: 'apiserver', provider: 'kubernetes' }
  const ports = [{ name: 'https', protocol: 'TCP', port: 443, targetPort }]
  const spec = { type: 'ClusterIP', clusterIP: formatIP(first), ipFamilyPolicy: 'SingleStack', sessionAffinity: 'None', ports }
  await client.create(resource, { metadata: { ...NAMED, labels }, spec }, NAMED.namespace)
}

async function ensureEndpoints(own: OwnService): Promise<void> {
  const ip = advertised(own)
  const subsets = ip && [{ addresses: [{ ip }], ports: [{ name: 'https', port: own.port, protocol: 'TCP' }] }]
  // Its slice is written here as well, so nobody else needs to make one of this.
  const labels = { 'endpointslice.kubernetes.io/skip-mirror': 'true' }
  if (subsets) await ensure(own, ['', 'endpoints'], { metadata: { ...NAMED, labels }, subsets })
}

async function ensureSlice(own: OwnService): Promise<void> {
  const ip = advertised(own)
  if (!ip) return
  await ensure(own, [`discovery.${own.groupDomain}`, 'endpointslices'], {
    metadata: { ...NAMED, labels: { 'kubernetes.io/service-name': NAMED.name } },
    addressType: ip.includes(':') ? 'IPv6' : 'IPv4',
    endpoints: [{ addresses: [ip], conditions: { ready: true } }],
    ports: [{ name: 'https', port: own.port, protocol: 'TCP' }],
  })
}

async function ensure(
  { client, catalog }: OwnService,
  [group, plural]: [string, string],
  object: { metadata: { labels: object }; [field: string]: unknown },
): Promise<void> {
  const resource = catalog.find(group, 'v1', plural)
  if (!resource) return
  const stored = client.get(resource, NAMED)
  const { metadata, ...wanted } = object
  if (!stored) await client.create(resource, object, NAMED.namespace)
  else if (!Object.entries(wanted).every(([field, value]) => deepEqual(stored[field], value)))
    await client.patch(resource, NAMED, { metadata: { labels: metadata.labels }, ...wanted }, MERGE)
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
