/** Where the Service of an APIService is reached: at one of its endpoints that are ready, or by its external name. */
import type { Client } from '../client/client.ts'
import { Service } from '../kinds/core/service/service.ts'
import { EndpointSlice } from '../kinds/discovery/endpointslice.ts'
import { isLinkLocalUnicast, isLoopback, isMulticast, isUnspecified, parseIPSloppy } from '../lib/ip.ts'
import type { ObjectOf } from '../schema/kind.ts'

export type ServiceReference = { readonly namespace: string; readonly name: string; readonly port: number }
export type Slice = ObjectOf<typeof EndpointSlice>

/** The slices of a Service. */
export const slicesOf = (client: Client, { namespace, name }: ServiceReference): Slice[] => [
  ...client.of(EndpointSlice).list({ namespace, labels: [{ key: SERVICE_NAME, operator: '=', values: [name] }] }),
]
export const SERVICE_NAME = 'kubernetes.io/service-name'

/** One of the places where a Service is reached; undefined when there is none. `random` says which, from 0 to 1. */
export function endpointOf(client: Client, to: ServiceReference, random: () => number): { host: string; port: number } | undefined {
  const service = client.of(Service).get(to)
  if (!service) return undefined
  const { type, externalName = '', ports = [] } = service.spec
  if (type === 'ExternalName') return isAllowed(externalName) ? { host: externalName, port: to.port } : undefined
  const served = ports.find(each => each.port === to.port)
  if (!served) return undefined
  const all = slicesOf(client, to).flatMap(slice => addressesIn(slice, served.name ?? ''))
  return all[Math.floor(random() * all.length)]
}

function addressesIn({ ports, endpoints }: Slice, portName: string): { host: string; port: number }[] {
  const port = ports?.find(each => (each.name ?? '') === portName)?.port
  if (port === undefined) return []
  const ready = (endpoints ?? []).filter(({ conditions }) => conditions?.ready !== false)
  return ready.flatMap(({ addresses }) => (addresses?.[0] !== undefined && isAllowed(addresses[0]) ? [{ host: addresses[0], port }] : []))
}

/** Whoever may write a Service must not reach through it what only this machine can reach. Names are for the resolver to judge. */
function isAllowed(host: string): boolean {
  if (host === '' || host === 'localhost' || host.endsWith('.localhost')) return false
  const ip = parseIPSloppy(host)
  return !ip || (!isUnspecified(ip) && !isLoopback(ip) && !isLinkLocalUnicast(ip) && !isMulticast(ip))
}
