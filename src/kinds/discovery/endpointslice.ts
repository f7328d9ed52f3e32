/** EndpointSlice lists some of the places at which a service is served. */
import { warningsForIP } from '../../lib/ip.ts'
import { deepEqual } from '../../lib/json-value.ts'
import { isDNS1123Subdomain } from '../../lib/names.ts'
import { age } from '../../schema/columns.ts'
import { defineKind } from '../../schema/kind.ts'
import type { ObjectMeta } from '../../schema/object-meta.ts'
import { atomic, string } from '../../schema/types.ts'
import { validateAddressCounts, validateAddressType, validateEndpoints, validatePorts } from './endpointslice-rules.ts'
import { Endpoint, EndpointPort } from './endpointslice-shapes.ts'

const CONTROLLERS = ['endpointslice-controller.{}', 'endpointslicemirroring-controller.{}']
const HOSTNAME = 'kubernetes.io/hostname'
type Slice = { metadata: ObjectMeta; addressType: string; endpoints: Endpoint[]; ports: EndpointPort[] }

export const EndpointSlice = defineKind({
  group: 'discovery.{group_domain}',
  version: 'v1',
  kind: 'EndpointSlice',
  scope: 'Namespaced',
  names: { plural: 'endpointslices' },
  doc: 'Addresses and ports at which a service is served.',
  fields: {
    addressType: [4, string.always(), 'What the addresses are: IPv4, IPv6 or FQDN. Cannot change.'],
    endpoints: [2, atomic(Endpoint).always().omittable(), 'The places, at most 1000.'],
    ports: [3, atomic(EndpointPort).always().omittable(), 'The ports at each of them, at most 20000.'],
  },
  generation: ({ metadata, addressType, endpoints, ports }) => [metadata.labels, addressType, endpoints, ports],

  prepareForCreate: o => dropTopology(o, undefined),
  prepareForUpdate: dropTopology,
  *validate({ addressType, endpoints, ports }, at, { old }) {
    // What is stored was once valid; it may stay.
    const isKept = old !== undefined && deepEqual(endpoints ?? [], old.endpoints ?? [])
    yield* validatePorts(ports ?? [], at.ports)
    if (!isKept) yield* validateEndpoints(endpoints ?? [], addressType, at.endpoints)
    yield* validateAddressType(addressType, at.addressType, old?.addressType)
    if (!isKept) yield* validateAddressCounts(endpoints ?? [], at.endpoints)
  },
  *warn({ metadata: { labels = {} }, addressType, endpoints }, old, { groupDomain }) {
    if (!old && addressType === 'FQDN') yield 'spec.addressType: FQDN endpoints are deprecated'
    const manager = labels[`endpointslice.kubernetes.io/managed-by`] ?? ''
    if (CONTROLLERS.some(name => name.replace('{}', groupDomain) === manager)) return
    for (const [i, { addresses }] of (endpoints ?? []).entries())
      for (const [j, address] of (addresses ?? []).entries()) yield* warningsForIP(`endpoints[${i}].addresses[${j}]`, address)
  },

  columns: {
    AddressType: ['string', o => o.addressType, 'What the addresses are.'],
    Ports: ['string', o => shorten((o.ports ?? []).map(({ port, name }) => String(port ?? name ?? '*'))), 'The ports.'],
    Endpoints: ['string', o => shorten((o.endpoints ?? []).flatMap(({ addresses }) => addresses ?? [])), 'The addresses.'],
    Age: age,
  },
})

/** Topology is written only by clients of older versions; the node's name in it is kept where it was before. */
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
