/** The types of Services. */
import { atomic, bool, int32, intOrString, keyed, mapOf, message, type Static, string } from '../../../schema/types.ts'
import { Condition } from '../../rules/meta.ts'

const ServicePort = message(
  'ServicePort',
  {
    name: [1, string, 'Name of the port, a DNS label; required when there are several.'],
    protocol: [2, string.listed('SCTP', 'TCP', 'UDP').publishedDefault('TCP'), 'TCP, UDP or SCTP.'],
    appProtocol: [6, string.optional(), 'The protocol of the application, as a hint.'],
    port: [3, int32.always(), 'The port on which the service is reached.'],
    targetPort: [4, intOrString.always().omittable(), 'The port of the pods, by number or name; the same number when absent.'],
    nodePort: [5, int32, 'The port of every node, for services of type NodePort and LoadBalancer.'],
  },
  {
    defaults(port) {
      if (port.targetPort === 0 || port.targetPort === '') port.targetPort = port.port
    },
  },
)
export type ServicePort = Static<typeof ServicePort>

const ClientIPConfig = message('ClientIPConfig', {
  timeoutSeconds: [1, int32.optional(), 'Seconds after which a client may get another pod, at most a day.'],
})

const SessionAffinityConfig = message('SessionAffinityConfig', {
  clientIP: [1, ClientIPConfig, 'Configuration of session affinity by client IP.'],
})

export const ServiceSpec = message('ServiceSpec', {
  ports: [1, keyed(ServicePort, 'port', 'protocol').mergedBy('port'), 'The ports of the service.'],
  selector: [2, mapOf(string).atomic(), 'Which pods serve, by their labels; without any, endpoints are made by others.'],
  clusterIP: [3, string, 'The address of the service, None for none; the first of clusterIPs.'],
  clusterIPs: [18, atomic(string), 'The addresses of the service, at most one of each family.'],
  type: [
    4,
    string.listed('ClusterIP', 'ExternalName', 'LoadBalancer', 'NodePort').default('ClusterIP'),
    'How far the service reaches: ClusterIP, NodePort, LoadBalancer or ExternalName.',
  ],
  externalIPs: [5, atomic(string), 'Further addresses that nodes accept traffic for.'],
  sessionAffinity: [7, string.listed('ClientIP', 'None').default('None'), 'Whether a client keeps its pod: None or ClientIP.'],
  loadBalancerIP: [8, string, 'Deprecated; the address wanted of a load balancer.'],
  loadBalancerSourceRanges: [9, atomic(string), 'Blocks of addresses that may use the load balancer.'],
  externalName: [10, string, 'The DNS name that the service is an alias for; only with type ExternalName.'],
  externalTrafficPolicy: [
    11,
    string.listed('Cluster', 'Local'),
    'Where external traffic is routed: Cluster for all pods, Local for those of the same node.',
  ],
  healthCheckNodePort: [12, int32, 'The port of the health check by which load balancers find nodes with local pods.'],
  publishNotReadyAddresses: [13, bool, 'Whether pods serve before they are ready.'],
  sessionAffinityConfig: [14, SessionAffinityConfig, 'Settings of the session affinity.'],
  ipFamilies: [19, atomic(string.listed('', 'IPv4', 'IPv6')), 'Families of the addresses: IPv4, IPv6.'],
  ipFamilyPolicy: [
    17,
    string.listed('PreferDualStack', 'RequireDualStack', 'SingleStack').optional(),
    'SingleStack, PreferDualStack or RequireDualStack.',
  ],
  allocateLoadBalancerNodePorts: [20, bool.optional(), 'Whether a load balancer gets node ports.'],
  loadBalancerClass: [21, string.optional(), 'Which implementation makes the load balancer. Cannot change once set.'],
  internalTrafficPolicy: [22, string.listed('Cluster', 'Local').optional(), 'Where internal traffic is routed: Cluster or Local.'],
  trafficDistribution: [23, string.optional(), 'Which pods are preferred, such as PreferSameZone.'],
})
export type ServiceSpec = Static<typeof ServiceSpec>

const PortStatus = message('PortStatus', {
  port: [1, int32.always(), 'Number of the port.'],
  protocol: [2, string.listed('SCTP', 'TCP', 'UDP').always(), 'Its protocol.'],
  error: [3, string.optional(), 'The error of the port, if there is one.'],
})

const LoadBalancerIngress = message('LoadBalancerIngress', {
  ip: [1, string, 'The address, where the load balancer has one.'],
  hostname: [2, string, 'The host name, where it has one.'],
  ipMode: [3, string.optional(), 'How the address behaves: VIP or Proxy.'],
  ports: [4, atomic(PortStatus), 'The ports it serves.'],
})

const LoadBalancerStatus = message('LoadBalancerStatus', {
  ingress: [1, atomic(LoadBalancerIngress), 'Points at which the load balancer can be reached.'],
})
export type LoadBalancerStatus = Static<typeof LoadBalancerStatus>

export const ServiceStatus = message('ServiceStatus', {
  loadBalancer: [1, LoadBalancerStatus.orEmpty(), 'The load balancer, if there is one.'],
  conditions: [2, keyed(Condition, 'type').mergedBy('type'), 'Latest observations.'],
})
export type ServiceStatus = Static<typeof ServiceStatus>

/** Whether the type has cluster IPs at all. */
export const hasAddresses = ({ type }: ServiceSpec): boolean => type === 'ClusterIP' || type === 'NodePort' || type === 'LoadBalancer'
export const isHeadless = ({ clusterIPs }: ServiceSpec): boolean => clusterIPs?.length === 1 && clusterIPs[0] === 'None'
/** Whether traffic from outside the cluster can reach the service. */
export const isExternal = ({ type, externalIPs }: ServiceSpec): boolean =>
  type === 'LoadBalancer' || type === 'NodePort' || (type === 'ClusterIP' && (externalIPs?.length ?? 0) > 0)
/** Whether the server allocates node ports for the service. */
export const allocatesNodePorts = ({ type, allocateLoadBalancerNodePorts }: ServiceSpec): boolean =>
  type === 'NodePort' || (type === 'LoadBalancer' && allocateLoadBalancerNodePorts !== false)
export const needsNodePort = ({ type }: ServiceSpec): boolean => type === 'NodePort' || type === 'LoadBalancer'
/** Whether load balancers need a health check port for nodes with local pods. */
export const needsHealthCheck = ({ type, externalTrafficPolicy }: ServiceSpec): boolean =>
  type === 'LoadBalancer' && externalTrafficPolicy === 'Local'
