/** EndpointSlices that mirror the Endpoints of a Service without a selector. */

import type { Endpoints } from '../../kinds/core/endpoints.ts'
import { formatIP, parseIPSloppy } from '../../lib/ip.ts'
import { deepEqual } from '../../lib/json-value.ts'
import { packSubsets, type Subset } from '../endpoints/reconcile.ts'
import { TRIGGER_TIME } from '../endpoints/service-pods.ts'
import {
  type AddressType,
  type Endpoint,
  type EndpointPort,
  identityOf,
  MANAGED_BY,
  newSlice,
  portsKey,
  recycle,
  SERVICE_NAME,
  type Slice,
  type SliceContent,
  type SlicePlan,
  saysTheSame,
  slicesByPorts,
  sortedPorts,
} from '../endpointslice/slices.ts'

/** How many addresses of a subset are mirrored. */
export const PER_SUBSET = 1000
const SKIP = 'endpointslice.kubernetes.io/skip-mirror'
const LEADER = 'control-plane.alpha.kubernetes.io/leader'
const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration'

/** Whether Endpoints want to be mirrored. */
export const isMirrored = ({ metadata }: Endpoints): boolean =>
  metadata.labels?.[SKIP] !== 'true' && metadata.annotations?.[LEADER] === undefined

export type MirrorDecision = SlicePlan & {
  /** How many addresses are not mirrored because they are none. */
  readonly invalid: number
  /** How many are not mirrored, those among them. */
  readonly skipped: number
}

export function reconcileMirror(endpoints: Endpoints, existing: readonly Slice[], manager: string): MirrorDecision {
  const { wanted, invalid, skipped } = wantedSlices(endpoints)
  const byKey = slicesByPorts(existing, slice => keyOf(slice.addressType as AddressType, slice.ports ?? []))
  const plan: SlicePlan = { create: [], update: [], remove: [] }
  for (const [key, { addressType, ports, endpoints: found }] of wanted) {
    const [first, ...others] = byKey.get(key) ?? []
    plan.remove.push(...others)
    if (found.size === 0) {
      if (first) plan.remove.push(first)
      continue
    }
    if (first && isUpToDate(endpoints, first, found)) continue
    const labels = { ...endpoints.metadata.labels, [SERVICE_NAME]: endpoints.metadata.name!, [MANAGED_BY]: manager }
    const slice = newSlice(endpoints, 'Endpoints', { addressType, ports, labels })
    const filled = { ...slice, metadata: { ...slice.metadata, annotations: annotationsOf(endpoints) }, endpoints: [...found.values()] }
    if (first) plan.update.push(named(filled, first.metadata.name!))
    else plan.create.push(filled)
  }
  for (const [key, group] of byKey) if (!wanted.has(key)) plan.remove.push(...group)
  return { ...recycle(plan, () => true), invalid, skipped }
}

type DesiredSlice = { readonly addressType: AddressType; readonly ports: EndpointPort[]; readonly endpoints: Map<string, Endpoint> }

function wantedSlices({ subsets = [] }: Endpoints) {
  const wanted = new Map<string, DesiredSlice>()
  let [invalid, skipped] = [0, 0]
  for (const subset of packSubsets(subsets)) {
    const ports = sortedPorts((subset.ports ?? []).map(({ name = '', ...port }) => ({ name, ...port })) as EndpointPort[])
    for (const addressType of ['IPv4', 'IPv6'] as const)
      if (!wanted.has(keyOf(addressType, ports))) wanted.set(keyOf(addressType, ports), { addressType, ports, endpoints: new Map() })
    let added = 0
    const all = addressesOf(subset)
    for (const [address, ready] of all) {
      if (added >= PER_SUBSET) break
      const endpoint = endpointOf(address, ready)
      if (!endpoint) {
        invalid++
        continue
      }
      added++
      const addressType = endpoint.addresses[0]!.includes(':') ? 'IPv6' : 'IPv4'
      wanted.get(keyOf(addressType, ports))!.endpoints.set(identityOf(endpoint), endpoint)
    }
    skipped += all.length - added
  }
  return { wanted, invalid, skipped }
}

type Address = NonNullable<Subset['addresses']>[number]
const addressesOf = ({ addresses = [], notReadyAddresses = [] }: Subset): (readonly [Address, boolean])[] => [
  ...addresses.map(address => [address, true] as const),
  ...notReadyAddresses.map(address => [address, false] as const),
]

function endpointOf({ ip, nodeName, hostname, targetRef }: Address, ready: boolean): Endpoint | undefined {
  const parsed = parseIPSloppy(ip)
  if (!parsed) return undefined
  return {
    addresses: [formatIP(parsed)],
    conditions: { ready },
    ...(targetRef && { targetRef }),
    ...(nodeName !== undefined && { nodeName }),
    ...(hostname && { hostname }),
  } as Endpoint
}

function isUpToDate(endpoints: Endpoints, slice: Slice, wanted: ReadonlyMap<string, Endpoint>): boolean {
  const current = slice.endpoints ?? []
  const { [MANAGED_BY]: _, [SERVICE_NAME]: __, ...labels } = slice.metadata.labels ?? {}
  const { name, uid } = endpoints.metadata
  const isOfAnother = (slice.metadata.ownerReferences ?? []).some(
    owner => owner.kind === 'Endpoints' && owner.name === name && owner.uid !== uid,
  )
  return (
    !isOfAnother &&
    current.length === wanted.size &&
    current.every(endpoint => {
      const found = wanted.get(identityOf(endpoint))
      return found !== undefined && saysTheSame(found, endpoint)
    }) &&
    deepEqual(labels, endpoints.metadata.labels ?? {}) &&
    deepEqual(slice.metadata.annotations ?? {}, annotationsOf(endpoints))
  )
}

function annotationsOf({ metadata }: Endpoints): Record<string, string> {
  const { [TRIGGER_TIME]: _, [LAST_APPLIED]: __, ...annotations } = metadata.annotations ?? {}
  return annotations
}

function named({ metadata: { generateName: _, ...metadata }, ...slice }: SliceContent, name: string): SliceContent {
  return { ...slice, metadata: { ...metadata, name } }
}

const keyOf = (addressType: AddressType, ports: readonly EndpointPort[]): string => `${addressType} ${portsKey(ports)}`
