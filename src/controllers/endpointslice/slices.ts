/** EndpointSlices as values: what makes two endpoints the same one, how slices are filled, and how new ones take the place of old ones. */
import type { Draft } from '../../client/client.ts'
import type { EndpointSlice as EndpointSliceKind } from '../../kinds/discovery/endpointslice.ts'
import { deepEqual } from '../../lib/json-value.ts'
import { isDNS1123Subdomain } from '../../lib/names.ts'
import type { Envelope } from '../../schema/object-meta.ts'

export type Slice = EndpointSliceKind
export type Endpoint = NonNullable<Slice['endpoints']>[number]
export type EndpointPort = NonNullable<Slice['ports']>[number]
export type AddressType = 'IPv4' | 'IPv6'

/** A slice that is to be written: without a name it is a new one. */
export type SliceContent = Pick<Slice, 'metadata' | 'addressType' | 'endpoints' | 'ports'>

/** The writes that bring the slices up to date. */
export type SlicePlan = { readonly create: SliceContent[]; readonly update: SliceContent[]; readonly remove: Slice[] }

export const SERVICE_NAME = 'kubernetes.io/service-name'
export const MANAGED_BY = 'endpointslice.kubernetes.io/managed-by'

/** The slices of a Service that one controller keeps. */
export const managedSlices = (service: string, manager: string) => [
  { key: SERVICE_NAME, operator: '=' as const, values: [service] },
  { key: MANAGED_BY, operator: '=' as const, values: [manager] },
]

/** The same endpoint, whatever its state: by its addresses, its host name and the pod behind it. */
export const identityOf = ({ addresses = [], hostname = '', targetRef }: Endpoint): string =>
  JSON.stringify([[...(addresses ?? [])].sort(), hostname, targetRef?.namespace ?? '', targetRef?.name ?? ''])

/** Whether two states of the same endpoint say the same; hints are not a matter of the endpoint. */
export const saysTheSame = (a: Endpoint, b: Endpoint): boolean =>
  a.nodeName === b.nodeName &&
  a.zone === b.zone &&
  deepEqual(a.conditions ?? {}, b.conditions ?? {}) &&
  deepEqual({ ...a.targetRef, resourceVersion: '' }, { ...b.targetRef, resourceVersion: '' })

/** Slices are for one set of ports each. */
export const portsKey = (ports: readonly EndpointPort[] | null | undefined): string =>
  JSON.stringify(sortedPorts(ports ?? []).map(({ name = '', port, protocol, appProtocol }) => [name, port, protocol, appProtocol]))

/** Groups slices by a key, by default their ports. */
export function slicesByPorts(slices: readonly Slice[], keyOf = (slice: Slice) => portsKey(slice.ports)): Map<string, Slice[]> {
  const groups = new Map<string, Slice[]>()
  for (const slice of slices) {
    const group = groups.get(keyOf(slice))
    if (group) group.push(slice)
    else groups.set(keyOf(slice), [slice])
  }
  return groups
}

export const sortedPorts = (ports: readonly EndpointPort[]): EndpointPort[] =>
  [...ports].sort(
    (a, b) => compare(a.name ?? '', b.name ?? '') || compare(a.protocol ?? '', b.protocol ?? '') || (a.port ?? 0) - (b.port ?? 0),
  )

const compare = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0)

/** A new slice without endpoints, owned by the object that it serves. */
export function newSlice(
  owner: Envelope,
  kind: string,
  { addressType, ports, labels }: { addressType: AddressType; ports: EndpointPort[]; labels: Record<string, string> },
): SliceContent {
  const { namespace = '', name = '', uid = '' } = owner.metadata
  const prefix = `${name}-`
  return {
    metadata: {
      generateName: isDNS1123Subdomain(prefix.replace(/-$/, 'a')).length === 0 ? prefix : name,
      namespace,
      labels,
      ownerReferences: [{ apiVersion: 'v1', kind, name, uid, controller: true, blockOwnerDeletion: true }],
    } as Slice['metadata'],
    addressType,
    endpoints: [],
    ports,
  }
}

export const isOwnedBy = ({ metadata }: Slice, { metadata: { uid } }: Envelope, kind: string): boolean =>
  (metadata.ownerReferences ?? []).some(owner => owner.uid === uid && owner.kind === kind && owner.apiVersion === 'v1')

/** New slices take the names of old ones of the same address type: an update is one change for clients, not two. */
export function recycle({ create, update, remove }: SlicePlan, isReusable: (slice: Slice) => boolean): SlicePlan {
  const [created, removed] = [[...create], [...remove]]
  const updated = [...update]
  for (let i = 0; i < removed.length && created.length > 0; ) {
    const old = removed[i]!
    const at = created.findLastIndex(({ addressType }) => addressType === old.addressType)
    if (at < 0 || !isReusable(old)) {
      i++
      continue
    }
    const [slice] = created.splice(at, 1)
    const { generateName: _, ...metadata } = slice!.metadata
    updated.push({ ...slice!, metadata: { ...metadata, name: old.metadata.name! } as Slice['metadata'] })
    removed.splice(i, 1)
  }
  return { create: created, update: updated, remove: removed }
}

/** The draft of a slice for the client: without a name it is created. */
export const draftOf = (slice: SliceContent): Draft<Slice> => slice as Draft<Slice>
