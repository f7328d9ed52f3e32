/** Addresses of simulated load balancers, from blocks that are not routed (RFC 2544 for IPv4). */
import type { Service } from '../../kinds/core/service/service.ts'
import type { Ingress } from '../../kinds/networking/ingress.ts'
import type { IngressClass } from '../../kinds/networking/ingressclass.ts'
import { addressAt, formatIP, parseCIDR, parseIP } from '../../lib/ip.ts'

/** The simulated load balancer class, and the controller name of simulated ingress classes. */
export const SIMULATED_CLASS = 'keelson.dev/simulated'
/** The IngressClass that a server with simulated nodes creates. */
export const INGRESS_CLASS = 'simulated'

const NETWORKS: Readonly<Record<string, string>> = { IPv4: '198.18.0.0/15', IPv6: 'fd00:198:18::/64' }
/** Ingresses share one address, as behind one ingress controller: the last of the block, which services never get. */
const INGRESS_ADDRESS = '198.19.255.254'
const MAX_ADDRESSES = 1n << 16n

/** Whether this controller gives a service its address: as a cloud's, it handles type LoadBalancer without a class. */
export const isBalanced = ({ spec, metadata }: Service): boolean =>
  spec.type === 'LoadBalancer' && (spec.loadBalancerClass ?? SIMULATED_CLASS) === SIMULATED_CLASS && !metadata.deletionTimestamp

/** The addresses that a service has. */
export const addressesOf = ({ status }: Service): string[] => (status?.loadBalancer?.ingress ?? []).flatMap(({ ip }) => ip ?? [])

/** Addresses for a service without any: one per family, the requested one if it is free. */
export function newAddresses({ spec }: Service, taken: ReadonlySet<string>): string[] {
  const { loadBalancerIP } = spec
  const requested = loadBalancerIP ? parseIP(loadBalancerIP) : undefined
  return (spec.ipFamilies ?? ['IPv4']).flatMap(family => {
    if (requested && `IPv${requested.family}` === family && !taken.has(formatIP(requested))) return [formatIP(requested)]
    const network = parseCIDR(NETWORKS[family] ?? '')
    if (!network) return []
    for (let offset = 1n; offset < MAX_ADDRESSES; offset++) {
      const address = formatIP(addressAt(network, offset)!)
      if (!taken.has(address)) return [address]
    }
    return []
  })
}

/** The class of an ingress, from its field or the older annotation. */
export const classOf = ({ spec, metadata }: Ingress): string | undefined =>
  spec.ingressClassName ?? metadata.annotations?.['kubernetes.io/ingress.class']

/** The new status of an ingress; undefined when it does not change. */
export function ingressStatus(ingress: Ingress, ingressClass: IngressClass | undefined): Ingress['status'] | undefined {
  const isOurs = ingressClass?.spec.controller === SIMULATED_CLASS
  const has = ingress.status?.loadBalancer?.ingress?.some(({ ip }) => ip === INGRESS_ADDRESS) ?? false
  if (isOurs === has) return undefined
  return { loadBalancer: isOurs ? { ingress: [{ ip: INGRESS_ADDRESS }] } : {} }
}
