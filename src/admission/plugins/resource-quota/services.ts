/** Services: their number, and the node ports and load balancers that they will have. */
import { quantityOf } from '../../../lib/quantity.ts'
import type { Evaluator } from './evaluator.ts'
import { ONE, ZERO } from './resource-list.ts'

type Spec = {
  readonly type?: string
  readonly ports?: readonly { readonly nodePort?: number }[]
  readonly allocateLoadBalancerNodePorts?: boolean
}

const NAMES: ReadonlySet<string> = new Set(['count/services', 'services', 'services.nodeports', 'services.loadbalancers'])

export const services: Evaluator = {
  // The type of a service can change.
  handles: ({ operation, subresource }) => subresource === '' && (operation === 'CREATE' || operation === 'UPDATE'),
  limits: name => NAMES.has(name),
  usage(service) {
    const spec = (service['spec'] ?? {}) as Spec
    return new Map([
      ['count/services', ONE],
      ['services', ONE],
      ['services.nodeports', quantityOf(BigInt(nodePorts(spec)))],
      ['services.loadbalancers', spec.type === 'LoadBalancer' ? ONE : ZERO],
    ])
  },
}

/** Ports that have a node port, or will get one. */
function nodePorts({ type, ports = [], allocateLoadBalancerNodePorts }: Spec): number {
  if (type === 'LoadBalancer' && allocateLoadBalancerNodePorts === false) return ports.filter(port => port.nodePort).length
  return type === 'NodePort' || type === 'LoadBalancer' ? ports.length : 0
}
