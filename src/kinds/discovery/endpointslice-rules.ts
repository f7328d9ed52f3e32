/** The rules of EndpointSlices. */
import { isValidIP, isValidIPForLegacyField, parseIPSloppy } from '../../lib/ip.ts'
import { isDNS1123Label, isDNS1123Subdomain, isFullyQualifiedDomainName, isQualifiedName, isValidLabelValue } from '../../lib/names.ts'
import { validateLabels } from '../../schema/meta-rules.ts'
import { duplicate, type FieldError, invalid, invalidEach, type Ref, required, tooMany, unsupported, withValue } from '../../schema/refs.ts'
import { validateEndpointIP } from '../shapes/endpoint-ip-rules.ts'
import type { Endpoint, EndpointHints, EndpointPort } from './endpointslice-shapes.ts'

const MAX_PORTS = 20_000
const MAX_ENDPOINTS = 1000
const MAX_ADDRESSES = 100
const MAX_TOPOLOGY_LABELS = 16
const MAX_HINTS = 8
const ADDRESS_TYPES = ['FQDN', 'IPv4', 'IPv6']

export function* validatePorts(ports: readonly EndpointPort[], at: Ref<EndpointPort[]>): Iterable<FieldError> {
  if (ports.length > MAX_PORTS) return yield tooMany(at, ports.length, MAX_PORTS)
  const names = new Set<string>()
  for (const [i, { name = '', protocol = '', appProtocol }] of ports.entries()) {
    const here = at[i]!
    if (name !== '') yield* invalidEach(here.name, isDNS1123Label(name))
    if (names.has(name)) yield duplicate(here.name)
    names.add(name)
    if (!['SCTP', 'TCP', 'UDP'].includes(protocol)) yield unsupported(here.protocol, 'SCTP', 'TCP', 'UDP')
    if (appProtocol !== undefined) yield* invalidEach(here.appProtocol, isQualifiedName(appProtocol))
  }
}

export function* validateEndpoints(endpoints: readonly Endpoint[], type: string, at: Ref<Endpoint[]>): Iterable<FieldError> {
  if (endpoints.length > MAX_ENDPOINTS) return yield tooMany(at, endpoints.length, MAX_ENDPOINTS)
  for (const [i, endpoint] of endpoints.entries()) yield* validateEndpoint(endpoint, type, at[i]!)
}

/** How many addresses there are is told after everything else. */
export function* validateAddressCounts(endpoints: readonly Endpoint[], at: Ref<Endpoint[]>): Iterable<FieldError> {
  for (const [i, { addresses }] of endpoints.entries()) {
    const count = addresses?.length ?? 0
    if (count === 0) yield required(at[i]!.addresses)
    else if (count > MAX_ADDRESSES) yield tooMany(at[i]!.addresses, count, MAX_ADDRESSES)
  }
}

export function* validateAddressType(type: string, at: Ref<string>, old: string | undefined): Iterable<FieldError> {
  if (old === type) return
  if (!type) yield required(at)
  if (old !== undefined) return yield invalid(withValue(at, null), 'field is immutable')
  if (type && !ADDRESS_TYPES.includes(type)) yield unsupported(at, ...ADDRESS_TYPES)
}

function* validateEndpoint(endpoint: Endpoint, type: string, at: Ref<Endpoint>): Iterable<FieldError> {
  const { addresses, nodeName, deprecatedTopology = {}, hostname, hints } = endpoint
  for (const [i, address] of (addresses ?? []).entries()) yield* validateAddress(address, type, at.addresses, i)
  if (nodeName !== undefined) yield* invalidEach(at.nodeName, isDNS1123Subdomain(nodeName))
  const labels = Object.keys(deprecatedTopology).length
  if (labels > MAX_TOPOLOGY_LABELS) yield tooMany(at.deprecatedTopology, labels, MAX_TOPOLOGY_LABELS)
  yield* validateLabels(deprecatedTopology, at.deprecatedTopology)
  if (hostname !== undefined) yield* invalidEach(at.hostname, isDNS1123Label(hostname))
  if (hints) yield* validateHints(hints, at.hints)
}

/** Addresses of types that nobody knows are not looked at: the type itself is refused. */
function* validateAddress(address: string, type: string, at: Ref<string[]>, i: number): Iterable<FieldError> {
  const here = at[i]!
  if (type === 'FQDN') {
    for (const fault of isFullyQualifiedDomainName(address))
      yield fault.type === 'required' ? required(here) : invalid(withValue(here, fault.value), fault.message)
    return
  }
  if (type !== 'IPv4' && type !== 'IPv6') return
  const faults = type === 'IPv4' ? isValidIPForLegacyField(address) : isValidIP(address)
  yield* invalidEach(here, faults)
  if (faults.length > 0) return
  if (`IPv${parseIPSloppy(address)?.family}` !== type) yield invalid(withValue(at, address), `must be an ${type} address`)
  yield* validateEndpointIP(address, here)
}

function* validateHints(hints: EndpointHints, at: Ref<EndpointHints>): Iterable<FieldError> {
  const rules = { forZones: isValidLabelValue, forNodes: isDNS1123Subdomain } as const
  for (const list of ['forZones', 'forNodes'] as const) {
    const entries = hints[list] ?? []
    if (entries.length > MAX_HINTS) return yield tooMany(at[list], entries.length, MAX_HINTS)
    const names = new Set<string>()
    for (const [i, { name }] of entries.entries()) {
      if (names.has(name)) yield duplicate(at[list][i]!.name)
      names.add(name)
      yield* invalidEach(at[list][i]!.name, rules[list](name))
    }
  }
}
