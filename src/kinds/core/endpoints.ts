/** Endpoints lists the addresses of a service's pods. Superseded by EndpointSlice. */
import { warningsForIP } from '../../lib/ip.ts'
import { deepEqual } from '../../lib/json-value.ts'
import { isDNS1123Label, isDNS1123Subdomain, isQualifiedName, isValidPortNum } from '../../lib/names.ts'
import { age } from '../../schema/columns.ts'
import { defineKind, type ObjectOf } from '../../schema/kind.ts'
import { type FieldError, invalidEach, type Ref, required, unsupported } from '../../schema/refs.ts'
import { atomic, int32, message, type Static, string } from '../../schema/types.ts'
import { type AddressRules, addressRules } from '../rules/address-rules.ts'
import { validateEndpointIP } from '../rules/endpoint-ip-rules.ts'
import { ObjectReference } from '../rules/references.ts'

const EndpointAddress = message('EndpointAddress', {
  ip: [1, string.always(), 'The address.'],
  hostname: [3, string, 'Name of the host, a DNS label.'],
  nodeName: [4, string.optional(), 'The node it is on.'],
  targetRef: [2, ObjectReference, 'The object behind the address, such as a pod.'],
}).atomic()
type EndpointAddress = Static<typeof EndpointAddress>

const EndpointPort = message('EndpointPort', {
  name: [1, string, 'Name of the port, a DNS label; required when there are several.'],
  port: [2, int32.always(), 'Number of the port.'],
  protocol: [3, string.listed('SCTP', 'TCP', 'UDP').default('TCP'), 'TCP, UDP or SCTP.'],
  appProtocol: [4, string.optional(), 'The protocol of the application, as a hint.'],
}).atomic()
type EndpointPort = Static<typeof EndpointPort>

const EndpointSubset = message('EndpointSubset', {
  addresses: [1, atomic(EndpointAddress), 'Addresses that are ready.'],
  notReadyAddresses: [2, atomic(EndpointAddress), 'Addresses that are not ready yet, or failing.'],
  ports: [3, atomic(EndpointPort), 'Ports at each of the addresses.'],
})
type EndpointSubset = Static<typeof EndpointSubset>

const MANAGED_BY = 'endpoints.kubernetes.io/managed-by'
const LISTS = ['addresses', 'notReadyAddresses'] as const

export const Endpoints = defineKind({
  group: '',
  version: 'v1',
  kind: 'Endpoints',
  scope: 'Namespaced',
  names: { plural: 'endpoints', singular: 'endpoints', short: ['ep'] },
  keptUnder: 'services/endpoints',
  doc: 'Addresses and ports at which a service is served.',
  deprecated: 'v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice',
  fields: {
    subsets: [2, atomic(EndpointSubset), 'Groups of addresses that have the same ports.'],
  },
  allowCreateOnUpdate: true,

  *validate({ subsets = [] }, at, { old, gate }) {
    // Stored subsets were once valid; they may stay.
    if (old && deepEqual(subsets, old.subsets ?? [])) return
    for (const [i, subset] of subsets.entries()) yield* validateSubset(subset, at.subsets[i]!, addressRules(gate))
  },
  *warn({ metadata: { labels = {} }, subsets = [] }) {
    if (labels[MANAGED_BY] === 'endpoint-controller') return
    for (const [i, subset] of subsets.entries())
      for (const list of LISTS)
        for (const [j, { ip }] of (subset[list] ?? []).entries()) yield* warningsForIP(() => `subsets[${i}].${list}[${j}].ip`, ip)
  },

  columns: {
    Endpoints: [
      'string',
      o => formatSubsets(o.subsets ?? []),
      'The set of all endpoints is the union of all subsets. Addresses are placed into subsets according to the IPs they share. A single address with multiple ports, some of which are ready and some of which are not (because they come from different containers) will result in the address being displayed in different subsets for the different ports. No address will appear in both Addresses and NotReadyAddresses in the same subset. Sets of addresses and ports that comprise a service.',
    ],
    Age: age,
  },
})

/** An object of the kind Endpoints. */
export type Endpoints = ObjectOf<typeof Endpoints>

function* validateSubset(subset: EndpointSubset, at: Ref<EndpointSubset>, rules: AddressRules): Iterable<FieldError> {
  const { ports = [] } = subset
  if (LISTS.every(list => !subset[list]?.length)) yield required(at, 'must specify `addresses` or `notReadyAddresses`')
  for (const list of LISTS) for (const [i, address] of (subset[list] ?? []).entries()) yield* validateAddress(address, at[list][i]!, rules)
  for (const [i, port] of ports.entries()) yield* validatePort(port, at.ports[i]!, ports.length > 1)
}

function* validateAddress(
  { ip, hostname, nodeName }: EndpointAddress,
  at: Ref<EndpointAddress>,
  rules: AddressRules,
): Iterable<FieldError> {
  yield* invalidEach(at.ip, rules.ip(ip))
  if (hostname) yield* invalidEach(at.hostname, isDNS1123Label(hostname))
  if (nodeName !== undefined) yield* invalidEach(at.nodeName, isDNS1123Subdomain(nodeName))
  yield* validateEndpointIP(ip, at.ip)
}

function* validatePort(
  { name, port, protocol, appProtocol }: EndpointPort,
  at: Ref<EndpointPort>,
  isNameRequired: boolean,
): Iterable<FieldError> {
  if (name) yield* invalidEach(at.name, isDNS1123Label(name))
  else if (isNameRequired) yield required(at.name)
  yield* invalidEach(at.port, isValidPortNum(port))
  if (!['SCTP', 'TCP', 'UDP'].includes(protocol)) yield unsupported(at.protocol, 'SCTP', 'TCP', 'UDP')
  if (appProtocol !== undefined) yield* invalidEach(at.appProtocol, isQualifiedName(appProtocol))
}

const SHOWN = 3

function* pointsOf({ addresses = [], ports = [] }: EndpointSubset): Iterable<string> {
  if (ports.length === 0) for (const { ip } of addresses) yield ip
  for (const { port } of ports) for (const { ip } of addresses) yield `${ip.includes(':') ? `[${ip}]` : ip}:${port}`
}

function formatSubsets(subsets: readonly EndpointSubset[]): string {
  if (subsets.length === 0) return '<none>'
  let count = 0
  const shown: string[] = []
  for (const subset of subsets) {
    const { addresses = [], ports = [] } = subset
    // Computed instead of listed: the pairs of ports and addresses can be very many.
    count += addresses.length * Math.max(ports.length, 1)
    for (const point of pointsOf(subset)) {
      if (shown.length === SHOWN) break
      shown.push(point)
    }
  }
  return shown.join(',') + (count > SHOWN ? ` + ${count - SHOWN} more...` : '')
}
