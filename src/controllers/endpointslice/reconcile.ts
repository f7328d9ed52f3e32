/** The EndpointSlices of a Service, from its pods and their nodes. */
import type { Notice } from '../../client/event-recorder.ts'
import type { Pod } from '../../kinds/core/pod/pod.ts'
import type { Service } from '../../kinds/core/service/service.ts'
import { formatIP, parseIPSloppy } from '../../lib/ip.ts'
import { deepEqual } from '../../lib/json-value.ts'
import { canServe, HEADLESS, hostnameOf, isHeadless, portNumber } from '../endpoints/service-pods.ts'
import { isReady } from '../pods/pod-state.ts'
import { hintsEnabled, trafficHints, withoutHints, type ZoneRatios, zoneHints } from './hints.ts'
import {
  type AddressType,
  type Endpoint,
  type EndpointPort,
  identityOf,
  isOwnedBy,
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
} from './slices.ts'

/** How many endpoints a slice holds. */
const PER_SLICE = 100

export type SliceState = {
  readonly service: Service
  readonly pods: readonly Pod[]
  /** The zone of a node, empty when it has none; undefined when there is no such node. */
  readonly zoneOf: (node: string) => string | undefined
  /** Slices of the Service that this controller keeps, none that is being deleted. */
  readonly slices: readonly Slice[]
  readonly manager: string
  /** How much of the cluster's CPU each zone has; undefined when nodes do not tell. */
  readonly zoneRatios: () => ZoneRatios | undefined
}

export type SliceDecision = SlicePlan & {
  readonly events: readonly Notice[]
  /** Pods that were left out because their node is not known yet, and its name. */
  readonly waiting: readonly (readonly [pod: string, node: string])[]
}

/** Computes the writes for the slices of a Service. */
export function reconcileSlices(state: SliceState): SliceDecision {
  const types = addressTypesOf(state.service)
  const decision = { create: [], update: [], remove: [], events: [], waiting: [] } as {
    create: SliceContent[]
    update: SliceContent[]
    remove: Slice[]
    events: Notice[]
    waiting: [string, string][]
  }
  for (const type of types) {
    const found = reconcileType(state, type)
    for (const key of Object.keys(decision) as (keyof typeof decision)[]) (decision[key] as unknown[]).push(...found[key])
  }
  decision.remove.push(...state.slices.filter(({ addressType }) => !types.includes(addressType as AddressType)))
  return decision
}

function reconcileType({ service, pods, zoneOf, slices, manager, zoneRatios }: SliceState, addressType: AddressType): SliceDecision {
  const existing = slices.filter(slice => slice.addressType === addressType)
  const isOurs = (slice: Slice) => isOwnedBy(slice, service, 'Service')
  const byPorts = slicesByPorts(existing.filter(isOurs))
  const labels = labelsOf(service, manager)
  const { wanted, waiting } = wantedEndpoints(service, pods, { addressType, zoneOf })
  const empty = (ports: EndpointPort[]) => newSlice(service, 'Service', { addressType, ports, labels })
  const plan: SlicePlan = { create: [], update: [], remove: existing.filter(slice => !isOurs(slice)) }
  for (const [key, { ports, endpoints }] of wanted)
    fillSlices(plan, byPorts.get(key) ?? [], endpoints, { labels, empty: () => empty(ports) })
  for (const [key, group] of byPorts) if (!wanted.has(key)) plan.remove.push(...group)
  // There is always a slice, so that clients can distinguish a Service without endpoints from one that was not processed yet.
  if (existing.length === plan.remove.length && plan.create.length === 0) {
    const placeholder = empty([])
    if (plan.remove.length === 1 && isPlaceholder(plan.remove[0]!, placeholder)) plan.remove.length = 0
    else plan.create.push(placeholder)
  }
  const touched = new Set([...plan.update, ...plan.remove].map(({ metadata }) => metadata.name))
  const unchanged = existing.filter(({ metadata }) => !touched.has(metadata.name))
  const hinted = withHints(service, plan, unchanged, { addressType, zoneRatios, hadHints: existing.some(hasHints) })
  return { ...recycle(hinted, isOurs), events: hinted.events, waiting }
}

type DesiredSlice = { readonly ports: EndpointPort[]; readonly endpoints: Map<string, Endpoint> }

/** The endpoints there should be, by the ports they have. */
function wantedEndpoints(
  service: Service,
  pods: readonly Pod[],
  { addressType, zoneOf }: { addressType: AddressType; zoneOf: SliceState['zoneOf'] },
) {
  const wanted = new Map<string, DesiredSlice>()
  const waiting: [string, string][] = []
  for (const pod of pods) {
    if (!canServe(pod)) continue
    const ports = portsOf(pod, service)
    const key = portsKey(ports)
    const group = wanted.get(key) ?? { ports, endpoints: new Map<string, Endpoint>() }
    wanted.set(key, group)
    const { nodeName = '' } = pod.spec
    const zone = zoneOf(nodeName)
    if (zone === undefined && !service.spec.publishNotReadyAddresses) {
      waiting.push([pod.metadata.name!, nodeName])
      continue
    }
    const endpoint = endpointOf(pod, service, { addressType, zone })
    if (endpoint.addresses.length > 0) group.endpoints.set(identityOf(endpoint), endpoint)
  }
  return { wanted, waiting }
}

function portsOf(pod: Pod, { spec }: Service): EndpointPort[] {
  const ports = (spec.ports ?? []).flatMap(port => {
    const number = portNumber(pod, port)
    if (number === undefined) return []
    const { name = '', protocol, appProtocol } = port
    return [{ name, protocol, port: number, ...(appProtocol !== undefined && { appProtocol }) }]
  })
  return sortedPorts(ports as EndpointPort[])
}

function endpointOf(pod: Pod, service: Service, { addressType, zone }: { addressType: AddressType; zone: string | undefined }): Endpoint {
  const serving = isReady(pod)
  const terminating = pod.metadata.deletionTimestamp !== undefined
  const hostname = hostnameOf(pod, service)
  const { namespace, name, uid } = pod.metadata
  const addresses = (pod.status?.podIPs ?? []).flatMap(({ ip = '' }) => {
    const parsed = parseIPSloppy(ip)
    return parsed && parsed.family === (addressType === 'IPv6' ? 6 : 4) ? [formatIP(parsed)] : []
  })
  return {
    addresses,
    conditions: { ready: Boolean(service.spec.publishNotReadyAddresses) || (serving && !terminating), serving, terminating },
    ...(hostname && { hostname }),
    targetRef: { kind: 'Pod', namespace, name, uid },
    ...(pod.spec.nodeName && { nodeName: pod.spec.nodeName }),
    ...(zone && { zone }),
  } as Endpoint
}

/**
 * Puts endpoints into slices with as few changes as possible: those that are there stay where they are, further ones go to slices
 * that change anyway, then to the one unchanged slice that they fill best, then to new ones.
 */
function fillSlices(
  plan: SlicePlan,
  existing: readonly Slice[],
  endpoints: ReadonlyMap<string, Endpoint>,
  { labels, empty }: { labels: Record<string, string>; empty: () => SliceContent },
): void {
  const left = new Map(endpoints)
  const changed: SliceContent[] = []
  const unchanged: Slice[] = []
  for (const slice of existing) {
    let isChanged = false
    const kept: Endpoint[] = []
    for (const endpoint of slice.endpoints ?? []) {
      const identity = identityOf(endpoint)
      const wanted = left.get(identity)
      if (!wanted) continue
      left.delete(identity)
      if (!saysTheSame(wanted, endpoint)) isChanged = true
      kept.push(endpoint.hints && !isChanged ? { ...wanted, hints: endpoint.hints } : wanted)
    }
    if (isChanged || kept.length !== (slice.endpoints ?? []).length) {
      if (kept.length === 0) plan.remove.push(slice)
      else changed.push({ ...slice, metadata: { ...slice.metadata, labels }, endpoints: kept })
    } else if (!deepEqual(slice.metadata.labels ?? {}, labels)) changed.push({ ...slice, metadata: { ...slice.metadata, labels } })
    else unchanged.push(slice)
  }
  const fill = (slice: SliceContent) => {
    const added: Endpoint[] = []
    for (const [identity, endpoint] of left) {
      if ((slice.endpoints ?? []).length + added.length >= PER_SLICE) break
      added.push(endpoint)
      left.delete(identity)
    }
    return added.length === 0 ? slice : { ...slice, endpoints: [...(slice.endpoints ?? []), ...added] }
  }
  changed.sort((a, b) => (b.endpoints ?? []).length - (a.endpoints ?? []).length)
  plan.update.push(...changed.map(fill))
  while (left.size > 0) {
    const best = left.size < PER_SLICE ? fullestWithRoom(unchanged, left.size) : undefined
    if (best) {
      unchanged.splice(unchanged.indexOf(best), 1)
      plan.update.push(fill(best))
    } else plan.create.push(fill(empty()))
  }
}

const fullestWithRoom = (slices: readonly Slice[], count: number): Slice | undefined =>
  slices
    .filter(({ endpoints }) => (endpoints ?? []).length > 0 && (endpoints ?? []).length + count <= PER_SLICE)
    .sort((a, b) => (b.endpoints ?? []).length - (a.endpoints ?? []).length)[0]

function withHints(
  service: Service,
  plan: SlicePlan,
  unchanged: readonly Slice[],
  { addressType, zoneRatios, hadHints }: { addressType: AddressType; zoneRatios: SliceState['zoneRatios']; hadHints: boolean },
): SlicePlan & { readonly events: readonly Notice[] } {
  if (hintsEnabled(service)) return zoneHints(plan, unchanged, { addressType, ratios: zoneRatios(), hadHints })
  const { trafficDistribution = '' } = service.spec
  return {
    ...(PREFERENCES.includes(trafficDistribution) ? trafficHints(plan, unchanged, trafficDistribution) : withoutHints(plan, unchanged)),
    events: [],
  }
}

const PREFERENCES = ['PreferClose', 'PreferSameZone', 'PreferSameNode']
const hasHints = ({ endpoints }: Slice) => (endpoints ?? []).some(({ hints }) => hints)

function labelsOf({ metadata, ...service }: Service, manager: string): Record<string, string> {
  const { [HEADLESS]: _, [SERVICE_NAME]: __, [MANAGED_BY]: ___, ...labels } = metadata.labels ?? {}
  return {
    ...labels,
    ...(isHeadless(service as Service) && { [HEADLESS]: '' }),
    [SERVICE_NAME]: metadata.name!,
    [MANAGED_BY]: manager,
  }
}

const isPlaceholder = (slice: Slice, wanted: SliceContent): boolean =>
  (slice.endpoints ?? []).length === 0 &&
  (slice.ports ?? []).length === 0 &&
  deepEqual(slice.metadata.labels ?? {}, wanted.metadata.labels ?? {}) &&
  deepEqual(slice.metadata.ownerReferences ?? [], wanted.metadata.ownerReferences ?? [])

function addressTypesOf({ spec }: Service): AddressType[] {
  const { ipFamilies = [], clusterIP = '' } = spec
  if (ipFamilies.length > 0) return ipFamilies as AddressType[]
  if (clusterIP && clusterIP !== 'None') return [clusterIP.includes(':') ? 'IPv6' : 'IPv4']
  return ['IPv4', 'IPv6']
}
