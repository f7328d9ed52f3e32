/** What an Ingress is made of: rules, paths, backends and where it can be reached. */
import { atomic, inlined, int32, message, type Static, string } from '../../schema/types.ts'
import { TypedLocalObjectReference } from '../shapes/references.ts'

const ServiceBackendPort = message('ServiceBackendPort', {
  name: [1, string, 'Name of the port; either this or the number.'],
  number: [2, int32, 'Number of the port.'],
}).atomic()

const IngressServiceBackend = message('IngressServiceBackend', {
  name: [1, string.always(), 'Name of the service, in the same namespace.'],
  port: [2, ServiceBackendPort.orEmpty(), 'Port of the service.'],
})

export const IngressBackend = message('IngressBackend', {
  service: [4, IngressServiceBackend, 'A service; either this or a resource.'],
  resource: [3, TypedLocalObjectReference, 'Another object in the same namespace that answers.'],
})
export type IngressBackend = Static<typeof IngressBackend>

const IngressTLS = message('IngressTLS', {
  hosts: [1, atomic(string), 'The hosts of the certificate.'],
  secretName: [2, string, 'The secret with certificate and key.'],
})
export type IngressTLS = Static<typeof IngressTLS>

const HTTPIngressPath = message('HTTPIngressPath', {
  path: [1, string, 'The path of requests, beginning with a slash.'],
  pathType: [3, string.always().telling(), 'How paths are compared: Exact, Prefix or ImplementationSpecific.'],
  backend: [2, IngressBackend.orEmpty().expected(), 'Where such requests go.'],
})
export type HTTPIngressPath = Static<typeof HTTPIngressPath>

const HTTPIngressRuleValue = message('HTTPIngressRuleValue', {
  paths: [1, atomic(HTTPIngressPath).always(), 'Paths and their backends.'],
})

const IngressRule = message('IngressRule', {
  host: [1, string, 'The host of requests, or `*.` and a domain; any when absent.'],
  ...inlined(2, { http: [1, HTTPIngressRuleValue, 'What happens to requests for the host.'] }),
})
export type IngressRule = Static<typeof IngressRule>

export const IngressSpec = message('IngressSpec', {
  ingressClassName: [4, string.optional(), 'The IngressClass whose controller serves this.'],
  defaultBackend: [1, IngressBackend, 'Where requests go that match no rule.'],
  tls: [2, atomic(IngressTLS), 'Certificates by host.'],
  rules: [3, atomic(IngressRule), 'Hosts and paths; without any, everything goes to the default backend.'],
})
export type IngressSpec = Static<typeof IngressSpec>

const IngressPortStatus = message('IngressPortStatus', {
  port: [1, int32.always(), 'Number of the port.'],
  protocol: [2, string.always(), 'Its protocol: TCP, UDP or SCTP.'],
  error: [3, string.optional(), 'What is wrong with it.'],
})

const IngressLoadBalancerIngress = message('IngressLoadBalancerIngress', {
  ip: [1, string, 'The address, where the load balancer has one.'],
  hostname: [2, string, 'The host name, where it has one.'],
  ports: [4, atomic(IngressPortStatus), 'The ports it serves.'],
})

const IngressLoadBalancerStatus = message('IngressLoadBalancerStatus', {
  ingress: [1, atomic(IngressLoadBalancerIngress), 'Points at which the load balancer can be reached.'],
})
export type IngressLoadBalancerStatus = Static<typeof IngressLoadBalancerStatus>

export const IngressStatus = message('IngressStatus', {
  loadBalancer: [1, IngressLoadBalancerStatus.orEmpty(), 'Where the Ingress can be reached.'],
})
