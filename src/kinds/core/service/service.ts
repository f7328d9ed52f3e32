/** Service gives a set of pods one address and name. */
import { addressedBy } from '../../../lib/addressed-name.ts'
import { goQuote } from '../../../lib/go-text.ts'
import { warningsForCIDR, warningsForIP } from '../../../lib/ip.ts'
import { isDNS1035Label, nameIsDNSLabel } from '../../../lib/names.ts'
import { age, formatLabels } from '../../../schema/columns.ts'
import { defineKind, type ObjectOf } from '../../../schema/kind.ts'
import { invalidEach } from '../../../schema/refs.ts'
import { unavailable } from '../../../schema/status-error.ts'
import { string } from '../../../schema/types.ts'
import { addressRules } from '../../rules/address-rules.ts'
import { serviceClaims } from './allocations.ts'
import { defaultService, dropInternalPolicy, dropTypeDependent, keepAllocated, listClusterIP } from './preparation.ts'
import { TOPOLOGY_HINTS, validateService, validateServiceChange, validateServiceStatus } from './rules.ts'
import { isHeadless, type LoadBalancerStatus, type ServicePort, ServiceSpec, ServiceStatus } from './shapes.ts'

export const Service = defineKind({
  group: '',
  version: 'v1',
  kind: 'Service',
  scope: 'Namespaced',
  names: { plural: 'services', short: ['svc'], categories: ['all'] },
  keptUnder: 'services/specs',
  doc: 'One address and name for a set of pods.',
  spec: ServiceSpec,
  status: ServiceStatus,
  name: nameIsDNSLabel,
  allowCreateOnUpdate: true,

  defaults: defaultService,
  claims: serviceClaims,
  prepareForCreate({ spec }) {
    listClusterIP(spec)
    dropInternalPolicy(spec)
  },
  prepareForUpdate(o, old) {
    keepAllocated(o.spec, old.spec)
    dropTypeDependent(o.spec, old.spec)
    dropInternalPolicy(o.spec)
    if (o.spec.type !== 'LoadBalancer') o.status = { ...o.status, loadBalancer: {} }
  },
  *validate(o, at, { old, gate }) {
    const { name = '' } = o.metadata
    // A name that is no label at all is refused for that.
    if (!old && !gate('RelaxedServiceNameValidation') && nameIsDNSLabel(name).length === 0)
      yield* invalidEach(at.metadata.name, isDNS1035Label(name))
    yield* validateService(o, at, { old, rules: addressRules(gate) })
  },
  validateUpdate: (o, old, { spec: at }) => validateServiceChange(o.spec, old.spec, at),
  *warn({ metadata, spec }) {
    if (Object.hasOwn(metadata.annotations ?? {}, TOPOLOGY_HINTS))
      yield `annotation ${TOPOLOGY_HINTS} is deprecated, please use service.kubernetes.io/topology-mode instead`
    yield* warnAboutSpec(spec)
  },

  deletion: { returns: 'object' },
  subresources: {
    status: {
      validate: ({ spec, status }, { status: at }, { old, gate }) =>
        validateServiceStatus(spec, status.loadBalancer, at.loadBalancer, { old: old?.status.loadBalancer, rules: addressRules(gate) }),
      *validateUpdate() {},
      *warn({ status: { loadBalancer } }) {
        for (const [i, { ip = '' }] of (loadBalancer?.ingress ?? []).entries())
          yield* warningsForIP(() => `status.loadBalancer.ingress[${i}]`, ip)
      },
    },
    connect: {
      proxy: {
        kind: 'ServiceProxyOptions',
        verbs: ['create', 'delete', 'get', 'patch', 'update'],
        options: { path: [1, string, 'The path that is asked for.'] },
        isAddressed: true,
        // Only a numbered port is looked up in the Service; otherwise its endpoints are searched.
        absent: asked =>
          /^\d+$/.test(addressedBy(asked)?.port ?? '') ? undefined : unavailable(`no endpoints available for service ${goQuote(asked)}`),
      },
    },
  },

  selectable: { 'spec.clusterIP': o => o.spec.clusterIP, 'spec.type': o => o.spec.type },

  columns: {
    Type: [
      'string',
      o => o.spec.type,
      'type determines how the Service is exposed. Defaults to ClusterIP. Valid options are ExternalName, ClusterIP, NodePort, and LoadBalancer. "ClusterIP" allocates a cluster-internal IP address for load-balancing to endpoints. Endpoints are determined by the selector or if that is not specified, by manual construction of an Endpoints object or EndpointSlice objects. If clusterIP is "None", no virtual IP is allocated and the endpoints are published as a set of endpoints rather than a virtual IP. "NodePort" builds on ClusterIP and allocates a port on every node which routes to the same endpoints as the clusterIP. "LoadBalancer" builds on NodePort and creates an external load-balancer (if supported in the current cloud) which routes to the same endpoints as the clusterIP. "ExternalName" aliases this service to the specified externalName. Several other fields do not apply to ExternalName services. More info: https://kubernetes.io/docs/concepts/services-networking/service/#publishing-services-service-types',
    ],
    'Cluster-IP': [
      'string',
      o => o.spec.clusterIPs?.[0] ?? '<none>',
      'clusterIP is the IP address of the service and is usually assigned randomly. If an address is specified manually, is in-range (as per system configuration), and is not in use, it will be allocated to the service; otherwise creation of the service will fail. This field may not be changed through updates unless the type field is also being changed to ExternalName (which requires this field to be blank) or the type field is being changed from ExternalName (in which case this field may optionally be specified, as describe above).  Valid values are "None", empty string (""), or a valid IP address. Setting this to "None" makes a "headless service" (no virtual IP), which is useful when direct endpoint connections are preferred and proxying is not required.  Only applies to types ClusterIP, NodePort, and LoadBalancer. If this field is specified when creating a Service of type ExternalName, creation will fail. This field will be wiped when updating a Service to type ExternalName. More info: https://kubernetes.io/docs/concepts/services-networking/service/#virtual-ips-and-service-proxies',
    ],
    'External-IP': [
      'string',
      o => formatExternal(o.spec, o.status.loadBalancer),
      'externalIPs is a list of IP addresses for which nodes in the cluster will also accept traffic for this service.  These IPs are not managed by Kubernetes.  The user is responsible for ensuring that traffic arrives at a node with this IP.  A common example is external load-balancers that are not part of the Kubernetes system.',
    ],
    'Port(s)': [
      'string',
      o => formatPorts(o.spec.ports ?? []),
      'The list of ports that are exposed by this service. More info: https://kubernetes.io/docs/concepts/services-networking/service/#virtual-ips-and-service-proxies',
    ],
    Age: age,
    Selector: [
      'string',
      o => formatLabels(o.spec.selector),
      'Route service traffic to pods with label keys and values matching this selector. If empty or not present, the service is assumed to have an external process managing its endpoints, which Kubernetes will not modify. Only applies to types ClusterIP, NodePort, and LoadBalancer. Ignored if type is ExternalName. More info: https://kubernetes.io/docs/concepts/services-networking/service/',
      'wide',
    ],
  },
})

/** An object of the kind Service. */
export type Service = ObjectOf<typeof Service>

function* warnAboutSpec(spec: ServiceSpec): Iterable<string> {
  const { type, clusterIPs = [], externalIPs = [], loadBalancerIP = '', externalName } = spec
  const headless = isHeadless(spec)
  if (!headless && type !== 'ExternalName')
    for (const [i, ip] of clusterIPs.entries()) yield* warningsForIP(() => `spec.clusterIPs[${i}]`, ip)
  if (headless && loadBalancerIP) yield 'spec.loadBalancerIP is ignored for headless services'
  if (headless && externalIPs.length > 0) yield 'spec.externalIPs is ignored for headless services'
  if (headless && spec.sessionAffinity !== 'None') yield 'spec.SessionAffinity is ignored for headless services'
  for (const [i, ip] of externalIPs.entries()) yield* warningsForIP(() => `spec.externalIPs[${i}]`, ip)
  if (externalIPs.length > 0 && !headless && type !== 'ExternalName')
    yield 'spec.externalIPs is deprecated and may no longer be implemented in some clusters'
  if (loadBalancerIP) yield* warningsForIP(() => 'spec.loadBalancerIP', loadBalancerIP)
  for (const [i, range] of (spec.loadBalancerSourceRanges ?? []).entries())
    yield* warningsForCIDR(() => `spec.loadBalancerSourceRanges[${i}]`, range)
  if (type === 'ExternalName' && externalIPs.length > 0) yield 'spec.externalIPs is ignored when spec.type is "ExternalName"'
  if (type !== 'ExternalName' && externalName) yield 'spec.externalName is ignored when spec.type is not "ExternalName"'
  if (spec.trafficDistribution === 'PreferClose') yield 'spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"'
}

function formatExternal({ type, externalIPs = [], externalName }: ServiceSpec, { ingress = [] }: LoadBalancerStatus): string {
  switch (type) {
    case 'ClusterIP':
    case 'NodePort':
      return externalIPs.join(',') || '<none>'
    case 'LoadBalancer': {
      const points = new Set(ingress.flatMap(({ ip, hostname }) => ip || hostname || []))
      return [...[...points].sort(), ...externalIPs].join(',') || '<pending>'
    }
    case 'ExternalName':
      return externalName ?? ''
    default:
      return '<unknown>'
  }
}

function formatPorts(ports: readonly ServicePort[]): string {
  return ports.map(({ port, nodePort, protocol }) => `${port}${nodePort ? `:${nodePort}` : ''}/${protocol}`).join(',') || '<none>'
}
