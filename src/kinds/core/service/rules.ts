/** The rules of Services. */
import { parseIPSloppy } from '../../../lib/ip.ts'
import { isDNS1123Label, isDNS1123Subdomain, isQualifiedName, isValidPortNum } from '../../../lib/names.ts'
import { validateLabels } from '../../../schema/meta-rules.ts'
import type { ObjectMeta } from '../../../schema/object-meta.ts'
import {
  duplicate,
  entry,
  type FieldError,
  forbidden,
  invalid,
  invalidEach,
  type Ref,
  refTo,
  required,
  unsupported,
  withValue,
} from '../../../schema/refs.ts'
import type { AddressRules } from '../../rules/address-rules.ts'
import { validateEndpointIP } from '../../rules/endpoint-ip-rules.ts'
import { validatePortNumOrName } from '../../rules/pod/containers/ports.ts'
import { isExternal, isHeadless, type LoadBalancerStatus, needsHealthCheck, type ServicePort, type ServiceSpec } from './shapes.ts'

type Service = { metadata: ObjectMeta; spec: ServiceSpec }
/** The stored value, and the rules for addresses. */
type Checked<T> = { readonly old: T | undefined; readonly rules: AddressRules }

const TYPES = ['ClusterIP', 'ExternalName', 'LoadBalancer', 'NodePort']
const FAMILY_POLICIES = ['PreferDualStack', 'RequireDualStack', 'SingleStack']
const DISTRIBUTIONS = ['PreferClose', 'PreferSameZone', 'PreferSameNode']
const MAX_AFFINITY_SECONDS = 86400
const TOPOLOGY_MODE = 'service.kubernetes.io/topology-mode'
export const TOPOLOGY_HINTS = 'service.kubernetes.io/topology-aware-hints'
const SOURCE_RANGES = 'service.beta.kubernetes.io/load-balancer-source-ranges'
const ONLY_LOAD_BALANCER = "may only be used when `type` is 'LoadBalancer'"

/** Rules for a whole service; stored addresses may stay as they are. */
export function* validateService(service: Service, at: Ref<Service>, { old, rules }: Checked<Service>): Iterable<FieldError> {
  const {
    metadata: { annotations = {} },
    spec,
  } = service
  const [mode, hints] = [annotations[TOPOLOGY_MODE], annotations[TOPOLOGY_HINTS]]
  if (mode !== undefined && hints !== undefined && mode !== hints)
    yield invalid(entry(at.metadata.annotations, TOPOLOGY_MODE), `must match annotations[${TOPOLOGY_HINTS}] when both are specified`)
  if (!spec.ports?.length && !isHeadless(spec) && spec.type !== 'ExternalName') yield required(at.spec.ports)
  yield* validateType(spec, at.spec)
  yield* validatePorts(spec, at.spec)
  yield* validateLabels(spec.selector, at.spec.selector)
  yield* validateAffinity(spec, at.spec)
  if (spec.type !== 'ExternalName') yield* validateClusterIPs(spec, at.spec, { old: old?.spec, rules })
  const stored = new Set(old?.spec.externalIPs)
  for (const [i, ip] of (spec.externalIPs ?? []).entries())
    yield* validateExternalIP(ip, at.spec.externalIPs[i]!, value => rules.ip(value, stored))
  if (!TYPES.includes(spec.type)) yield unsupported(at.spec.type, ...TYPES)
  yield* validateNodePorts(spec, at.spec)
  yield* validateSourceRanges(service, at, { old, rules })
  yield* validateLoadBalancerFields(spec, at.spec)
  yield* validateTraffic(spec, at.spec)
}

/** Rules for the addresses of a load balancer. */
export function* validateServiceStatus(
  { type }: ServiceSpec,
  { ingress = [] }: LoadBalancerStatus,
  at: Ref<LoadBalancerStatus>,
  { old, rules }: Checked<LoadBalancerStatus>,
): Iterable<FieldError> {
  if (type !== 'LoadBalancer') {
    if (ingress.length > 0) yield forbidden(at.ingress, "may only be used when `spec.type` is 'LoadBalancer'")
    return
  }
  const stored = new Set((old?.ingress ?? []).flatMap(({ ip }) => ip ?? []))
  for (const [i, { ip, ipMode, hostname }] of ingress.entries()) {
    const here = at.ingress[i]!
    if (ip) yield* invalidEach(here.ip, rules.ip(ip, stored))
    if (ipMode === undefined) {
      if (ip) yield required(here.ipMode, 'must be specified when `ip` is set')
    } else if (!ip) yield forbidden(here.ipMode, 'may not be specified when `ip` is not set')
    else if (ipMode !== 'VIP' && ipMode !== 'Proxy') yield unsupported(here.ipMode, 'Proxy', 'VIP')
    if (!hostname) continue
    yield* invalidEach(here.hostname, isDNS1123Subdomain(hostname))
    if (parseIPSloppy(hostname)) yield invalid(here.hostname, 'must be a DNS name, not an IP address')
  }
}

function* validateType(spec: ServiceSpec, at: Ref<ServiceSpec>): Iterable<FieldError> {
  const { type, externalName = '' } = spec
  if ((type === 'LoadBalancer' || type === 'NodePort') && isHeadless(spec))
    yield invalid(at.clusterIPs[0]!, `may not be set to 'None' for ${type} services`)
  if (type !== 'ExternalName') return
  for (const field of ['clusterIPs', 'ipFamilies'] as const)
    if (spec[field]?.length) yield forbidden(at[field], 'may not be set for ExternalName services')
  if (spec.ipFamilyPolicy !== undefined) yield forbidden(at.ipFamilyPolicy, 'may not be set for ExternalName services')
  const name = externalName.replace(/\.$/, '')
  if (name === '') yield required(at.externalName)
  else yield* invalidEach(withValue(at.externalName, name), isDNS1123Subdomain(name))
}

function* validatePorts({ ports = [] }: ServiceSpec, at: Ref<ServiceSpec>): Iterable<FieldError> {
  const names = new Set<string>()
  for (const [i, port] of ports.entries()) {
    const here = at.ports[i]!
    const { name = '' } = port
    if (name !== '') yield* invalidEach(here.name, isDNS1123Label(name))
    else if (ports.length > 1) yield required(here.name)
    if (names.has(name)) yield duplicate(here.name)
    if (name !== '') names.add(name)
    yield* validatePort(port, here)
  }
}

function* validatePort({ port, protocol, targetPort, appProtocol }: ServicePort, at: Ref<ServicePort>): Iterable<FieldError> {
  yield* invalidEach(at.port, isValidPortNum(port))
  if (!['SCTP', 'TCP', 'UDP'].includes(protocol)) yield unsupported(at.protocol, 'SCTP', 'TCP', 'UDP')
  yield* validatePortNumOrName(targetPort, at.targetPort)
  if (appProtocol !== undefined) yield* invalidEach(at.appProtocol, isQualifiedName(appProtocol))
}

/** A pair of protocol and number is used once, as a port and as a node port. */
function* validateNodePorts({ type, ports = [] }: ServiceSpec, at: Ref<ServiceSpec>): Iterable<FieldError> {
  const [ofNodes, own] = [new Set<string>(), new Set<string>()]
  for (const [i, { protocol, nodePort }] of ports.entries()) {
    if (!nodePort) continue
    if (type === 'ClusterIP') yield forbidden(at.ports[i]!.nodePort, "may not be used when `type` is 'ClusterIP'")
    if (ofNodes.has(`${protocol} ${nodePort}`)) yield duplicate(at.ports[i]!.nodePort)
    ofNodes.add(`${protocol} ${nodePort}`)
  }
  for (const [i, { protocol, port }] of ports.entries()) {
    // Errors print the pair as the internal Go type of kube-apiserver.
    const shown = { Name: '', Protocol: protocol, AppProtocol: null, Port: port, TargetPort: 0, NodePort: 0 }
    if (own.has(`${protocol} ${port}`)) yield duplicate(withValue(at.ports[i]!, shown))
    own.add(`${protocol} ${port}`)
  }
}

function* validateAffinity({ sessionAffinity, sessionAffinityConfig }: ServiceSpec, at: Ref<ServiceSpec>): Iterable<FieldError> {
  if (sessionAffinity === 'ClientIP') {
    const seconds = sessionAffinityConfig?.clientIP?.timeoutSeconds ?? 0
    if (seconds <= 0 || seconds > MAX_AFFINITY_SECONDS)
      yield invalid(at.sessionAffinityConfig.clientIP.timeoutSeconds, `must be greater than 0 and less than ${MAX_AFFINITY_SECONDS}`)
  } else if (sessionAffinity !== 'None') yield unsupported(at.sessionAffinity, 'ClientIP', 'None')
}

/** Rules for addresses, families and their policy, alone and in combination. */
export function* validateClusterIPs(spec: ServiceSpec, at: Ref<ServiceSpec>, { old, rules }: Checked<ServiceSpec>): Iterable<FieldError> {
  const { clusterIP, clusterIPs = [], ipFamilies = [], ipFamilyPolicy } = spec
  if (clusterIP && clusterIPs.length === 0) yield required(at.clusterIPs)
  else if (clusterIP && clusterIPs[0] !== clusterIP) yield invalid(at.clusterIPs, 'first value must match `clusterIP`')
  else if (!clusterIP && clusterIPs.length > 0) yield invalid(at.clusterIPs, 'must be empty when `clusterIP` is not specified')
  const seen = new Set<string>()
  for (const [i, family] of ipFamilies.entries()) {
    if (family !== 'IPv4' && family !== 'IPv6') yield unsupported(at.ipFamilies[i]!, 'IPv4', 'IPv6')
    if (seen.has(family)) yield duplicate(at.ipFamilies[i]!)
    seen.add(family)
  }
  if (ipFamilyPolicy !== undefined && !FAMILY_POLICIES.includes(ipFamilyPolicy)) yield unsupported(at.ipFamilyPolicy, ...FAMILY_POLICIES)
  const misplaced = clusterIPs[0] === 'None' && clusterIPs.length > 1
  if (misplaced) yield invalid(at.clusterIPs, "'None' must be the first and only value")
  const stored = new Set(old?.clusterIPs)
  const faults = clusterIPs.map((ip, i) => (i === 0 && ip === 'None' ? [] : rules.ip(ip, stored)))
  for (const [i, messages] of faults.entries()) yield* invalidEach(at.clusterIPs[i]!, messages)
  if (clusterIPs.length > 2) yield invalid(at.clusterIPs, 'may only hold up to 2 values')
  if (misplaced || faults.some(messages => messages.length > 0)) return
  const families = clusterIPs.map(ip => parseIPSloppy(ip)?.family)
  if (clusterIPs.length > 1 && families[0] === families[1])
    yield invalid(at.clusterIPs, 'may specify no more than one IP for each IP family')
  if (isHeadless(spec)) return
  for (const [i, family] of families.entries()) {
    const wanted = ipFamilies[i]
    if (wanted !== undefined && family !== undefined && wanted !== `IPv${family}`)
      yield invalid(at.clusterIPs[i]!, `expected an ${wanted} value as indicated by \`ipFamilies[${i}]\``)
  }
}

function* validateExternalIP(text: string, at: Ref<string>, faultsOf: (text: string) => string[]): Iterable<FieldError> {
  const faults = faultsOf(text)
  yield* invalidEach(at, faults)
  if (faults.length === 0) yield* validateEndpointIP(text, at)
}

/** Spaces around blocks are allowed, and the path has the wrong case, as in kube-apiserver. */
function* validateSourceRanges({ metadata, spec }: Service, at: Ref<Service>, { old, rules }: Checked<Service>): Iterable<FieldError> {
  const { type, loadBalancerSourceRanges: ranges = [] } = spec
  if (ranges.length > 0) {
    const here = refTo(ranges, 'spec.LoadBalancerSourceRanges')
    if (type !== 'LoadBalancer') yield forbidden(here, ONLY_LOAD_BALANCER)
    const stored = new Set(old?.spec.loadBalancerSourceRanges?.map(range => range.trim()))
    for (const [i, range] of ranges.entries()) yield* invalidEach(withValue(here[i]!, range.trim()), rules.cidr(range.trim(), stored))
    return
  }
  const text = metadata.annotations?.[SOURCE_RANGES]
  if (text === undefined) return
  const here = entry(at.metadata.annotations, SOURCE_RANGES)
  if (type !== 'LoadBalancer') yield forbidden(here, ONLY_LOAD_BALANCER)
  if (text.trim() === '' || text === old?.metadata.annotations?.[SOURCE_RANGES]) return
  for (const range of text.split(',')) yield* invalidEach(withValue(here, range.trim()), rules.cidr(range.trim()))
}

function* validateLoadBalancerFields(spec: ServiceSpec, at: Ref<ServiceSpec>): Iterable<FieldError> {
  const { type, allocateLoadBalancerNodePorts, loadBalancerClass } = spec
  const isLoadBalancer = type === 'LoadBalancer'
  if (allocateLoadBalancerNodePorts !== undefined && !isLoadBalancer) yield forbidden(at.allocateLoadBalancerNodePorts, ONLY_LOAD_BALANCER)
  if (loadBalancerClass === undefined) return
  if (isLoadBalancer) yield* invalidEach(at.loadBalancerClass, isQualifiedName(loadBalancerClass))
  else yield forbidden(at.loadBalancerClass, ONLY_LOAD_BALANCER)
}

function* validateTraffic(spec: ServiceSpec, at: Ref<ServiceSpec>): Iterable<FieldError> {
  const { externalTrafficPolicy: external, internalTrafficPolicy: internal, trafficDistribution, healthCheckNodePort = 0 } = spec
  if (!isExternal(spec)) {
    if (external) yield invalid(at.externalTrafficPolicy, 'may only be set for externally-accessible services')
  } else if (external !== 'Cluster' && external !== 'Local') yield unsupported(at.externalTrafficPolicy, 'Cluster', 'Local')
  if (!needsHealthCheck(spec)) {
    if (healthCheckNodePort !== 0)
      yield invalid(at.healthCheckNodePort, "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'")
  } else if (healthCheckNodePort === 0) yield required(at.healthCheckNodePort)
  else yield* invalidEach(at.healthCheckNodePort, isValidPortNum(healthCheckNodePort))
  if (internal !== undefined && internal !== 'Cluster' && internal !== 'Local')
    yield unsupported(at.internalTrafficPolicy, 'Cluster', 'Local')
  if (trafficDistribution !== undefined && !DISTRIBUTIONS.includes(trafficDistribution))
    yield unsupported(at.trafficDistribution, ...DISTRIBUTIONS)
}

/** Rules for updates of the spec. */
export function* validateServiceChange(spec: ServiceSpec, old: ServiceSpec, at: Ref<ServiceSpec>): Iterable<FieldError> {
  if (spec.type !== 'ExternalName' && old.type !== 'ExternalName') {
    const [now, before] = [isHeadless(spec), isHeadless(old)]
    if (!(now && before)) yield* validateAddresses(spec, old, at)
    if (!now && !before) yield* validateFamilies(spec, old, at)
  }
  if (spec.type === 'LoadBalancer' && old.type === 'LoadBalancer' && spec.loadBalancerClass !== old.loadBalancerClass)
    yield invalid(withValue(at.loadBalancerClass, spec.loadBalancerClass ?? null), FIXED)
  if (needsHealthCheck(old) && needsHealthCheck(spec) && spec.healthCheckNodePort !== old.healthCheckNodePort)
    yield forbidden(at.healthCheckNodePort, 'field is immutable')
}

const FIXED = 'may not change once set'
const RELEASED = "must be set to 'SingleStack' when releasing the secondary"

function* validateAddresses(spec: ServiceSpec, old: ServiceSpec, at: Ref<ServiceSpec>): Iterable<FieldError> {
  const [now, before] = [spec.clusterIPs ?? [], old.clusterIPs ?? []]
  const shown = (i: number) => withValue(at.clusterIPs[i]!, now)
  if (now.length === before.length) {
    for (const [i, ip] of before.entries()) if (ip !== now[i]) yield invalid(shown(i), FIXED)
    return
  }
  if (now.length === 0) yield invalid(withValue(at.clusterIPs[0]!, null), 'primary clusterIP can not be unset')
  else if (before.length > 0 && now[0] !== before[0]) yield invalid(shown(0), FIXED)
  if (before.length > now.length && now.length === 1) yield* validateRelease(spec, at, 'clusterIP')
}

function* validateFamilies(spec: ServiceSpec, old: ServiceSpec, at: Ref<ServiceSpec>): Iterable<FieldError> {
  const [now, before] = [spec.ipFamilies ?? [], old.ipFamilies ?? []]
  const first = at.ipFamilies[0]!
  if (now.length === before.length) {
    for (const [i, family] of before.entries()) if (family !== now[i]) yield invalid(withValue(first, now), FIXED)
    return
  }
  // The error shows the addresses, not the families.
  if (now.length > 0 && before.length > 0 && now[0] !== before[0]) yield invalid(withValue(first, spec.clusterIPs ?? null), FIXED)
  if (before.length < now.length) return
  if (!spec.clusterIPs?.length) yield invalid(withValue(first, spec.ipFamilies ?? null), 'primary ipFamily can not be unset')
  if (now.length === 1) yield* validateRelease(spec, at, 'ipFamily')
}

function* validateRelease({ ipFamilyPolicy }: ServiceSpec, at: Ref<ServiceSpec>, what: string): Iterable<FieldError> {
  if (ipFamilyPolicy !== 'SingleStack') yield invalid(withValue(at.ipFamilyPolicy, ipFamilyPolicy ?? null), `${RELEASED} ${what}`)
}
