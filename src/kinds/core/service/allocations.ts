/** The allocations of a Service: cluster IPs of each family, and node ports. */
import { goQuote } from '../../../lib/go-text.ts'
import { formatIP, parseIPSloppy } from '../../../lib/ip.ts'
import { deepEqual } from '../../../lib/json-value.ts'
import type { Step } from '../../../lib/step.ts'
import type { AllocationResult, Allocators, Claim, Claims } from '../../../schema/claims.ts'
import type { ObjectMeta } from '../../../schema/object-meta.ts'
import { type FieldError, invalid, type Ref, refTo, withValue } from '../../../schema/refs.ts'
import { internalError, invalidObject, type StatusError } from '../../../schema/status-error.ts'
import { type AddressRules, addressRules } from '../../rules/address-rules.ts'
import { keepAllocated, listClusterIP } from './preparation.ts'
import { validateClusterIPs } from './rules.ts'
import { allocatesNodePorts, hasAddresses, isHeadless, needsHealthCheck, needsNodePort, type ServiceSpec } from './shapes.ts'

type Service = { metadata: ObjectMeta; spec: ServiceSpec }
const FAMILIES: readonly string[] = ['IPv4', 'IPv6']
const NODE_PORTS = 'node ports'

/** The allocators of services: one of cluster IPs for each family, named after it, and one of node ports. */
export const SERVICE_ALLOCATORS = { IPv4: 'IPv4', IPv6: 'IPv6', nodePorts: NODE_PORTS } as const

export const serviceClaims: Claims<Service> = {
  held: ({ spec }) => [
    ...addressesOf(spec),
    ...nodePortsOf(spec).map(port => ({ allocator: NODE_PORTS, item: String(port) })),
    ...(needsHealthCheck(spec) && spec.healthCheckNodePort ? [{ allocator: NODE_PORTS, item: String(spec.healthCheckNodePort) }] : []),
  ],
  *take({ metadata, spec }, old, { allocators, gate }) {
    // A service without a name is rejected anyway; an allocation could not name its holder.
    if (!metadata.name) return
    // Values that the client left out and the service already has are kept.
    if (old) keepAllocated(spec, old.spec)
    else listClusterIP(spec)
    const taking = { name: metadata.name, spec, old: old?.spec, at: refTo(spec, 'spec'), allocators }
    const families = allocators.names.filter(name => FAMILIES.includes(name)) as Family[]
    const errors = [...settleFamilies(taking, families, addressRules(gate))]
    if (errors.length > 0) throw invalidObject(SUBJECT, metadata.name, errors)
    yield* takeAddresses(taking)
    yield* takeNodePorts(taking)
  },
}

const SUBJECT = { group: '', kind: 'Service' }
type Taking = {
  readonly name: string
  readonly spec: ServiceSpec
  readonly old: ServiceSpec | undefined
  readonly at: Ref<ServiceSpec>
  readonly allocators: Allocators
}

function addressesOf(spec: ServiceSpec): Claim[] {
  if (spec.type === 'ExternalName' || isHeadless(spec)) return []
  return (spec.clusterIPs ?? []).flatMap(text => {
    const ip = parseIPSloppy(text)
    return ip ? { allocator: familyOf(text), item: formatIP(ip) } : []
  })
}

/** Node ports of a service of type ExternalName mean nothing: it may have any, and holds none. */
const nodePortsOf = (spec: ServiceSpec) =>
  needsNodePort(spec) ? [...new Set((spec.ports ?? []).flatMap(({ nodePort }) => nodePort || []))] : []

/** A new service, or one that was of type ExternalName, is allocated an address of each family; others can at most get a second one. */
function* takeAddresses({ name, spec, old, at, allocators }: Taking): Step<void> {
  if (spec.type === 'ExternalName' || isHeadless(spec)) return
  const isNew = old === undefined || old.type === 'ExternalName'
  if (!isNew && (isSettled(spec, old) || isHeadless(old))) return
  const { ipFamilies = [] } = spec
  const isUpgraded = old?.ipFamilies?.length === 1 && ipFamilies.length === 2
  const lacking = isNew ? [0, 1] : isUpgraded ? [1] : []
  // Errors show the list with gaps for the addresses that the client left open.
  const shown = ipFamilies.map((_, i) => spec.clusterIPs?.[i] ?? '')
  const ips = [...shown]
  for (const i of lacking) {
    const family = ipFamilies[i]
    if (family === undefined) continue
    const requested = spec.clusterIPs?.[i]
    const ip = requested ? parseIPSloppy(requested) : undefined
    const taken = yield* allocators.take(family, ip && formatIP(ip))
    if (!taken.ok) throw refusedAddress(taken, { name, requested, at: withValue(at.clusterIPs, shown) })
    ips[i] = requested || taken.item
  }
  if (lacking.length === 0) return
  spec.clusterIPs = ips
  spec.clusterIP = ips[0]!
}

type Refused = Extract<AllocationResult, { ok: false }>

function refusedAddress(
  { why, isFull }: Refused,
  { name, requested, at }: { name: string; requested: string | undefined; at: Ref<unknown> },
): StatusError {
  if (requested) return invalidObject(SUBJECT, name, [invalid(at, `failed to allocate IP ${requested}: ${why}`)])
  if (isFull) return internalError(`failed to allocate a serviceIP for Service ${goQuote(name)}: ${why}`)
  return invalidObject(SUBJECT, name, [invalid(at, `failed to allocate IP: ${why}`)])
}

function* takeNodePorts(taking: Taking): Step<void> {
  const { spec, old } = taking
  if (needsNodePort(spec)) yield* old ? takeMissingNodePorts(taking, new Set(nodePortsOf(old))) : takeFirstNodePorts(taking)
  if (needsHealthCheck(spec) && !(old && needsHealthCheck(old))) yield* takeHealthCheckPort(taking)
}

/** In a new service, ports with the same number share a node port, as a DNS server's TCP and UDP do. */
function* takeFirstNodePorts(taking: Taking): Step<void> {
  const { ports = [] } = taking.spec
  const requested = new Map<number, number>()
  for (const { port, nodePort } of ports) if (nodePort && !requested.has(port)) requested.set(port, nodePort)
  /** The first port of each number that gets a node port, which the others of that number share. */
  const first = new Map<number, number>()
  const requests: NodePortRequest[] = []
  for (const [i, { port, nodePort }] of ports.entries()) {
    if (!nodePort && !allocatesNodePorts(taking.spec)) continue
    if (!first.has(port)) {
      first.set(port, i)
      requests.push({ i, requested: requested.get(port) })
    } else if (nodePort && nodePort !== requested.get(port)) requests.push({ i, requested: nodePort })
  }
  yield* takeAllNodePorts(taking, requests)
  for (const port of ports) {
    const shared = first.get(port.port)
    if (!port.nodePort && shared !== undefined) port.nodePort = ports[shared]!.nodePort!
  }
}

function* takeMissingNodePorts(taking: Taking, had: Set<number>): Step<void> {
  const requests: NodePortRequest[] = []
  for (const [i, { nodePort }] of (taking.spec.ports ?? []).entries()) {
    if (nodePort ? had.has(nodePort) : !allocatesNodePorts(taking.spec)) continue
    requests.push({ i, requested: nodePort || undefined })
    if (nodePort) had.add(nodePort)
  }
  yield* takeAllNodePorts(taking, requests)
}

/** A service port that needs a node port, and the requested one. */
type NodePortRequest = { readonly i: number; readonly requested: number | undefined }

function* takeAllNodePorts({ name, spec, at, allocators }: Taking, requests: readonly NodePortRequest[]): Step<void> {
  const items = requests.map(({ requested }) => (requested ? String(requested) : undefined))
  const results = yield* allocators.takeAll(NODE_PORTS, items)
  for (const [n, { i, requested }] of requests.entries()) {
    const taken = results[n]!
    if (taken.ok) spec.ports![i]!.nodePort = Number(taken.item)
    else if (requested) throw invalidObject(SUBJECT, name, [invalid(withValue(at.ports[i]!.nodePort, requested), taken.why)])
    else throw internalError(`failed to allocate a nodePort: ${taken.why}`)
  }
}

function* takeHealthCheckPort({ spec, allocators }: Taking): Step<void> {
  const requested = spec.healthCheckNodePort
  const taken = yield* allocators.take(NODE_PORTS, requested ? String(requested) : undefined)
  if (taken.ok) spec.healthCheckNodePort = Number(taken.item)
  else if (requested) throw internalError(`failed to allocate requested HealthCheck NodePort ${requested}: ${taken.why}`)
  else throw internalError(`failed to allocate a HealthCheck NodePort 0: ${taken.why}`)
}

type Family = 'IPv4' | 'IPv6'

/**
 * Sets ipFamilyPolicy and ipFamilies in place; yields the errors. `families` are those of the server, the default one first. Each group of
 * errors ends it: later steps depend on earlier ones.
 */
function* settleFamilies({ spec, old, at }: Taking, families: readonly Family[], rules: AddressRules): Iterable<FieldError> {
  if (spec.type === 'ExternalName' || isSettled(spec, old)) return
  spec.ipFamilyPolicy ??= old?.ipFamilyPolicy ?? (isOpen(spec) ? 'RequireDualStack' : 'SingleStack')
  const malformed = [...validateClusterIPs(spec, at, { old, rules })]
  if (malformed.length > 0) return yield* malformed
  const contradictions = [...checkPolicy(spec, old, at), ...inferFamilies(spec, at, families)]
  if (contradictions.length > 0) return yield* contradictions
  const isDual = spec.ipFamilyPolicy !== 'SingleStack'
  if (isOpen(spec)) {
    // It gets no allocation, so it may have families that the server does not have.
    addFamilies(spec, families, isDual)
    return
  }
  const lacking = [...checkFamilies(spec, at, families)]
  if (lacking.length > 0) return yield* lacking
  addFamilies(spec, families, isDual && families.length === 2)
}

/** Headless and without a selector: its endpoints are managed externally. */
const isOpen = (spec: ServiceSpec) => spec.clusterIP === 'None' && Object.keys(spec.selector ?? {}).length === 0

/** A service that merely prefers two families keeps its own when the families of the server change. */
function isSettled(spec: ServiceSpec, old: ServiceSpec | undefined): boolean {
  const prefers = (policy: string | undefined) => policy === 'PreferDualStack'
  return (
    old !== undefined &&
    prefers(spec.ipFamilyPolicy) &&
    prefers(old.ipFamilyPolicy ?? 'PreferDualStack') &&
    old.type === spec.type &&
    hasAddresses(spec) &&
    isSame(spec.clusterIPs, old.clusterIPs) &&
    isSame(spec.ipFamilies, old.ipFamilies)
  )
}

function* checkPolicy(spec: ServiceSpec, old: ServiceSpec | undefined, at: Ref<ServiceSpec>): Iterable<FieldError> {
  const policy = withValue(at.ipFamilyPolicy, spec.ipFamilyPolicy ?? null)
  const isSingle = spec.ipFamilyPolicy === 'SingleStack'
  if (old && isSingle) {
    // Only the policy tells that the second family is to be removed.
    if (isSame(spec.clusterIPs, old.clusterIPs)) keepFirst(spec, 'clusterIPs')
    if (isSame(spec.ipFamilies, old.ipFamilies)) keepFirst(spec, 'ipFamilies')
  } else if (old) {
    if (isReduced(spec.clusterIPs, old.clusterIPs)) yield invalid(policy, "must be 'SingleStack' to release the secondary cluster IP")
    if (isReduced(spec.ipFamilies, old.ipFamilies)) yield invalid(policy, "must be 'SingleStack' to release the secondary IP family")
  }
  if (!isSingle) return
  const several = (what: string) => invalid(policy, `must be 'RequireDualStack' or 'PreferDualStack' when multiple ${what} are specified`)
  if (spec.clusterIPs?.length === 2) yield several('cluster IPs')
  if (spec.ipFamilies?.length === 2) yield several('IP families')
}

/** A requested address determines its family. */
function* inferFamilies(spec: ServiceSpec, at: Ref<ServiceSpec>, families: readonly Family[]): Iterable<FieldError> {
  if (isHeadless(spec)) return
  for (const [i, ip] of (spec.clusterIPs ?? []).entries()) {
    if (i < (spec.ipFamilies?.length ?? 0)) continue
    const family = familyOf(ip)
    if (families.includes(family)) spec.ipFamilies = [...(spec.ipFamilies ?? []), family]
    else yield invalid(withValue(at.clusterIPs[i]!, spec.clusterIPs), `${family} is not configured on this cluster`)
  }
}

function* checkFamilies(spec: ServiceSpec, at: Ref<ServiceSpec>, families: readonly Family[]): Iterable<FieldError> {
  if (spec.ipFamilyPolicy === 'RequireDualStack' && families.length < 2)
    yield invalid(withValue(at.ipFamilyPolicy, spec.ipFamilyPolicy), 'this cluster is not configured for dual-stack services')
  for (const [i, family] of (spec.ipFamilies ?? []).entries())
    if (!families.includes(family as Family)) yield invalid(at.ipFamilies[i]!, 'not configured on this cluster')
}

function addFamilies(spec: ServiceSpec, families: readonly Family[], isDual: boolean): void {
  const [first = families[0] as string] = spec.ipFamilies ?? []
  if (!spec.ipFamilies?.length) spec.ipFamilies = [first]
  if (isDual && spec.ipFamilies.length === 1) spec.ipFamilies = [first, first === 'IPv4' ? 'IPv6' : 'IPv4']
}

const familyOf = (ip: string): Family => (parseIPSloppy(ip)?.family === 6 ? 'IPv6' : 'IPv4')

const isSame = (a: string[] = [], b: string[] = []) => deepEqual(a, b)
const isReduced = (now: readonly string[] = [], before: readonly string[] = []) => now.length > 0 && now.length < before.length
function keepFirst(spec: ServiceSpec, field: 'clusterIPs' | 'ipFamilies'): void {
  const list = spec[field]
  if (list && list.length > 1) spec[field] = list.slice(0, 1)
}
