/** EndpointSlice lists some of the endpoints of a service. */
import { isValidIP, parseIPSloppy, warningsForIP } from '../../lib/ip.ts'
import { deepEqual } from '../../lib/json-value.ts'
import { isDNS1123Label, isDNS1123Subdomain, isFullyQualifiedDomainName, isQualifiedName, isValidLabelValue } from '../../lib/names.ts'
import { age } from '../../schema/columns.ts'
import { defineKind, type ObjectOf } from '../../schema/kind.ts'
import { validateLabels } from '../../schema/meta-rules.ts'
import type { ObjectMeta } from '../../schema/object-meta.ts'
import { duplicate, type FieldError, invalid, invalidEach, type Ref, required, tooMany, unsupported, withValue } from '../../schema/refs.ts'
import { atomic, bool, int32, mapOf, message, type Static, set, string } from '../../schema/types.ts'
import { type AddressRules, addressRules } from '../rules/address-rules.ts'
import { isOrdinaryIPv4, validateEndpointIP } from '../rules/endpoint-ip-rules.ts'
import { ObjectReference } from '../rules/references.ts'

const EndpointConditions = message('EndpointConditions', {
  ready: [1, bool.optional(), 'Whether it takes traffic; unknown counts as yes.'],
  serving: [2, bool.optional(), 'Whether it answers, even while it is going.'],
  terminating: [3, bool.optional(), 'Whether it is going.'],
})

const ForZone = message('ForZone', { name: [1, string.always(), 'Name of the zone.'] })
const ForNode = message('ForNode', { name: [1, string.always(), 'Name of the node.'] })

const EndpointHints = message('EndpointHints', {
  forZones: [1, atomic(ForZone), 'Zones that should use it, at most 8.'],
  forNodes: [2, atomic(ForNode), 'Nodes that should use it, at most 8.'],
})
type EndpointHints = Static<typeof EndpointHints>

const Endpoint = message('Endpoint', {
  addresses: [1, set(string).always(), 'Its addresses, all meaning the same; clients use the first. At most 100.'],
  conditions: [2, EndpointConditions.orEmpty(), 'Its state.'],
  hostname: [3, string.optional(), 'Name of the host, a DNS label.'],
  targetRef: [4, ObjectReference, 'The object behind the address, such as a pod.'],
  deprecatedTopology: [5, mapOf(string), 'Topology labels of v1beta1. No longer written.'],
  nodeName: [6, string.optional(), 'The node it is on.'],
  zone: [7, string.optional(), 'The zone it is in.'],
  hints: [8, EndpointHints, 'Hints about the consumers that should use the endpoint.'],
})
type Endpoint = Static<typeof Endpoint>

const EndpointPort = message('EndpointPort', {
  name: [1, string.optional().default(''), 'Name of the port, a DNS label; unique in the slice.'],
  protocol: [2, string.listed('SCTP', 'TCP', 'UDP').optional().default('TCP'), 'TCP, UDP or SCTP.'],
  port: [3, int32.optional(), 'Number of the port; absent means all ports.'],
  appProtocol: [4, string.optional(), 'The protocol of the application, as a hint.'],
}).atomic()
type EndpointPort = Static<typeof EndpointPort>

const CONTROLLERS = ['endpointslice-controller.{}', 'endpointslicemirroring-controller.{}']
const HOSTNAME = 'kubernetes.io/hostname'
type Slice = { metadata: ObjectMeta; addressType: string; endpoints: Endpoint[] | null; ports: EndpointPort[] | null }

export const EndpointSlice = defineKind({
  group: 'discovery.{group_domain}',
  version: 'v1',
  kind: 'EndpointSlice',
  scope: 'Namespaced',
  names: { plural: 'endpointslices' },
  doc: 'Addresses and ports at which a service is served.',
  fields: {
    addressType: [4, string.listed('FQDN', 'IPv4', 'IPv6').always(), 'The type of the addresses: IPv4, IPv6 or FQDN. Cannot change.'],
    endpoints: [2, atomic(Endpoint).always().omittable(), 'The endpoints, at most 1000.'],
    ports: [3, atomic(EndpointPort).always().omittable(), 'The ports at each of them, at most 20000.'],
  },
  generation: ({ metadata, addressType, endpoints, ports }) => [metadata.labels, addressType, endpoints, ports],

  prepareForCreate: o => dropTopology(o, undefined),
  prepareForUpdate: dropTopology,
  *validate({ addressType, endpoints, ports }, at, { old, gate }) {
    // Stored endpoints were once valid; they may stay.
    const isKept = old !== undefined && deepEqual(endpoints ?? [], old.endpoints ?? [])
    yield* validatePorts(ports ?? [], at.ports)
    if (!isKept) yield* validateEndpoints(endpoints ?? [], at.endpoints, { type: addressType, rules: addressRules(gate) })
    yield* validateAddressType(addressType, at.addressType, old?.addressType)
    if (!isKept) yield* validateAddressCounts(endpoints ?? [], at.endpoints)
  },
  *warn({ metadata: { labels = {} }, addressType, endpoints }, old, { groupDomain }) {
    if (!old && addressType === 'FQDN') yield 'spec.addressType: FQDN endpoints are deprecated'
    const manager = labels[`endpointslice.kubernetes.io/managed-by`] ?? ''
    if (CONTROLLERS.some(name => name.replace('{}', groupDomain) === manager)) return
    for (const [i, { addresses }] of (endpoints ?? []).entries())
      for (const [j, address] of (addresses ?? []).entries()) yield* warningsForIP(() => `endpoints[${i}].addresses[${j}]`, address)
  },

  columns: {
    AddressType: [
      'string',
      o => o.addressType,
      'addressType specifies the type of address carried by this EndpointSlice. All addresses in this slice must be the same type. This field is immutable after creation. The following address types are currently supported: * IPv4: Represents an IPv4 Address. * IPv6: Represents an IPv6 Address. * FQDN: Represents a Fully Qualified Domain Name. (Deprecated) The EndpointSlice controller only generates, and kube-proxy only processes, slices of addressType "IPv4" and "IPv6". No semantics are defined for the "FQDN" type.',
    ],
    Ports: [
      'string',
      o => shorten((o.ports ?? []).map(({ port, name }) => String(port ?? name ?? '*'))),
      'ports specifies the list of network ports exposed by each endpoint in this slice. Each port must have a unique name. Each slice may include a maximum of 100 ports. Services always have at least 1 port, so EndpointSlices generated by the EndpointSlice controller will likewise always have at least 1 port. EndpointSlices used for other purposes may have an empty ports list.',
    ],
    Endpoints: [
      'string',
      o => shorten((o.endpoints ?? []).flatMap(({ addresses }) => addresses ?? [])),
      'endpoints is a list of unique endpoints in this slice. Each slice may include a maximum of 1000 endpoints.',
    ],
    Age: age,
  },
})

/** An object of the kind EndpointSlice. */
export type EndpointSlice = ObjectOf<typeof EndpointSlice>

/** Topology is written only by clients of older versions; the node's name in it is kept if it was stored. */
function dropTopology({ endpoints }: Slice, old: Slice | undefined): void {
  if (old && deepEqual(endpoints ?? [], old.endpoints ?? [])) return
  const known = new Set((old?.endpoints ?? []).flatMap(({ deprecatedTopology }) => deprecatedTopology?.[HOSTNAME] || []))
  for (const endpoint of endpoints ?? []) {
    const node = endpoint.deprecatedTopology?.[HOSTNAME]
    if (endpoint.nodeName === undefined && node && known.has(node) && isDNS1123Subdomain(node).length === 0) endpoint.nodeName = node
    delete endpoint.deprecatedTopology
  }
}

const SHOWN = 3

function shorten(items: readonly string[]): string {
  if (items.length > SHOWN) return `${items.slice(0, SHOWN).join(',')} + ${items.length - SHOWN} more...`
  return items.join(',') || '<unset>'
}

const MAX_PORTS = 20_000
const MAX_ENDPOINTS = 1000
const MAX_ADDRESSES = 100
const MAX_TOPOLOGY_LABELS = 16
const MAX_HINTS = 8
const ADDRESS_TYPES = ['FQDN', 'IPv4', 'IPv6']

function* validatePorts(ports: readonly EndpointPort[], at: Ref<EndpointPort[]>): Iterable<FieldError> {
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

/** The type of the addresses, and the rules for addresses of IPv4. */
type Addressing = { readonly type: string; readonly rules: AddressRules }

function* validateEndpoints(endpoints: readonly Endpoint[], at: Ref<Endpoint[]>, addressing: Addressing): Iterable<FieldError> {
  if (endpoints.length > MAX_ENDPOINTS) return yield tooMany(at, endpoints.length, MAX_ENDPOINTS)
  for (const [i, endpoint] of endpoints.entries()) yield* validateEndpoint(endpoint, at[i]!, addressing)
}

/** The number of addresses is reported after everything else. */
function* validateAddressCounts(endpoints: readonly Endpoint[], at: Ref<Endpoint[]>): Iterable<FieldError> {
  for (const [i, { addresses }] of endpoints.entries()) {
    const count = addresses?.length ?? 0
    if (count === 0) yield required(at[i]!.addresses)
    else if (count > MAX_ADDRESSES) yield tooMany(at[i]!.addresses, count, MAX_ADDRESSES)
  }
}

function* validateAddressType(type: string, at: Ref<string>, old: string | undefined): Iterable<FieldError> {
  if (old === type) return
  if (!type) yield required(at)
  if (old !== undefined) return yield invalid(withValue(at, null), 'field is immutable')
  if (type && !ADDRESS_TYPES.includes(type)) yield unsupported(at, ...ADDRESS_TYPES)
}

function* validateEndpoint(endpoint: Endpoint, at: Ref<Endpoint>, addressing: Addressing): Iterable<FieldError> {
  const { addresses, nodeName, deprecatedTopology = {}, hostname, hints } = endpoint
  if (addresses) {
    const addressesAt = at.addresses
    for (const [i, address] of addresses.entries()) yield* validateAddress(address, addressesAt, i, addressing)
  }
  if (nodeName !== undefined) yield* invalidEach(at.nodeName, isDNS1123Subdomain(nodeName))
  const labels = Object.keys(deprecatedTopology).length
  if (labels > MAX_TOPOLOGY_LABELS) yield tooMany(at.deprecatedTopology, labels, MAX_TOPOLOGY_LABELS)
  yield* validateLabels(deprecatedTopology, at.deprecatedTopology)
  if (hostname !== undefined) yield* invalidEach(at.hostname, isDNS1123Label(hostname))
  if (hints) yield* validateHints(hints, at.hints)
}

/** Addresses of unknown types are not checked: the type itself is rejected. */
function* validateAddress(address: string, at: Ref<string[]>, i: number, { type, rules }: Addressing): Iterable<FieldError> {
  if (type === 'IPv4' && isOrdinaryIPv4(address)) return
  const here = at[i]!
  if (type === 'FQDN') {
    for (const fault of isFullyQualifiedDomainName(address))
      yield fault.type === 'required' ? required(here) : invalid(withValue(here, fault.value), fault.message)
    return
  }
  if (type !== 'IPv4' && type !== 'IPv6') return
  const faults = type === 'IPv4' ? rules.ip(address) : isValidIP(address)
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
