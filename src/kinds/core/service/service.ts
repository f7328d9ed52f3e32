/** Service gives a set of pods one address and name. */
import { warningsForCIDR, warningsForIP } from '../../../lib/ip.ts'
import { nameIsDNSLabel } from '../../../lib/names.ts'
import { age, formatLabels } from '../../../schema/columns.ts'
import { defineKind } from '../../../schema/kind.ts'
import { string } from '../../../schema/types.ts'
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
  validate: (o, at, { old }) => validateService(o, at, old),
  validateUpdate: (o, old, { spec: at }) => validateServiceChange(o.spec, old.spec, at),
  *warn({ metadata, spec }) {
    if (Object.hasOwn(metadata.annotations ?? {}, TOPOLOGY_HINTS))
      yield `annotation ${TOPOLOGY_HINTS} is deprecated, please use service.kubernetes.io/topology-mode instead`
    yield* warnAboutSpec(spec)
  },

  deletion: { returns: 'object' },
  subresources: {
    status: {
      validate: ({ spec, status }, { status: at }, { old }) =>
        validateServiceStatus(spec, status.loadBalancer, at.loadBalancer, old?.status.loadBalancer),
      *validateUpdate() {},
    },
    connect: {
      proxy: {
        kind: 'ServiceProxyOptions',
        verbs: ['create', 'delete', 'get', 'patch', 'update'],
        options: { path: [1, string] },
        isAddressed: true,
      },
    },
  },

  selectable: { 'spec.clusterIP': o => o.spec.clusterIP, 'spec.type': o => o.spec.type },

  columns: {
    Type: ['string', o => o.spec.type, 'How far the service reaches.'],
    'Cluster-IP': ['string', o => o.spec.clusterIPs?.[0] ?? '<none>', 'The address of the service.'],
    'External-IP': ['string', o => formatExternal(o.spec, o.status.loadBalancer), 'Where it is reached from outside.'],
    'Port(s)': ['string', o => formatPorts(o.spec.ports ?? []), 'The ports of the service.'],
    Age: age,
    Selector: ['string', o => formatLabels(o.spec.selector), 'Which pods serve.', 'wide'],
  },
})

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
