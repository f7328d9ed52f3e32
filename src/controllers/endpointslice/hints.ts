/** Hints in EndpointSlices: which zones or nodes should use an endpoint, by the Service's traffic distribution or spread over zones by CPU. */
import type { Notice } from '../../client/event-recorder.ts'
import type { Service } from '../../kinds/core/service/service.ts'
import type { AddressType, Endpoint, Slice, SliceContent, SlicePlan } from './slices.ts'

/** The share of the cluster's CPU that each zone has. */
export type ZoneRatios = ReadonlyMap<string, number>
type Hinted = SlicePlan & { readonly events: readonly Notice[] }

const MODE = 'service.kubernetes.io/topology-mode'
const OLD_MODE = 'service.kubernetes.io/topology-aware-hints'
/** How much more traffic than its share an endpoint may get before hints do more harm than good. */
const OVERLOAD = 0.2

/** Whether a Service asks for endpoints to be spread over zones. */
export const hintsEnabled = ({ metadata }: Service): boolean =>
  ['Auto', 'auto'].includes(metadata.annotations?.[OLD_MODE] ?? metadata.annotations?.[MODE] ?? '')

const isReady = ({ conditions }: Endpoint) => conditions?.ready === true
const forZone = (name: string) => ({ forZones: [{ name }] })

/** Every ready endpoint is for its own zone, or also its own node. */
export function trafficHints(plan: SlicePlan, unchanged: readonly Slice[], preference: string): SlicePlan {
  return mapEndpoints(plan, unchanged, endpoint => {
    if (!isReady(endpoint)) return endpoint
    const { zone, nodeName } = endpoint
    const hints = {
      ...(zone !== undefined && forZone(zone)),
      ...(nodeName !== undefined && preference === 'PreferSameNode' && { forNodes: [{ name: nodeName }] }),
    }
    return withHint(endpoint, Object.keys(hints).length > 0 ? hints : undefined)
  })
}

export const withoutHints = (plan: SlicePlan, unchanged: readonly Slice[]): SlicePlan =>
  mapEndpoints(plan, unchanged, endpoint => withHint(endpoint, undefined))

/** Spreads ready endpoints over zones by the CPU that these have, unless some zone would be overloaded. */
export function zoneHints(
  plan: SlicePlan,
  unchanged: readonly Slice[],
  { addressType, ratios, hadHints }: { addressType: AddressType; ratios: ZoneRatios | undefined; hadHints: boolean },
): Hinted {
  const disabled = (message: string): Hinted => ({
    ...withoutHints(plan, unchanged),
    events: [{ type: 'Warning', reason: 'TopologyAwareHintsDisabled', message: `${message}, addressType: ${addressType}` }],
  })
  const ready = [...plan.create, ...plan.update, ...unchanged].flatMap(({ endpoints }) => (endpoints ?? []).filter(isReady))
  const shares = sharesOf(ready.length, ratios)
  if (typeof shares === 'string') return disabled(shares)
  const allocated = new Map<string, number>()
  const kept = unchanged.filter(slice => keepsShares(slice, shares, allocated))
  const update = [...plan.update, ...unchanged.filter(slice => !kept.includes(slice))]
  const changing = [...plan.create, ...update].flatMap(({ endpoints }) => (endpoints ?? []).filter(isReady))
  if (changing.some(({ zone }) => !zone)) return disabled('One or more endpoints do not have a zone specified')
  for (const { zone } of changing) count(allocated, zone!, 1)
  const { giving, receiving } = exchangesOf(shares, allocated)
  const moved = (endpoint: Endpoint): Endpoint => {
    if (!isReady(endpoint)) return withHint(endpoint, undefined)
    const [to] = (giving.get(endpoint.zone!) ?? 0) > 0 ? receiving.keys() : []
    if (to === undefined) return withHint(endpoint, forZone(endpoint.zone!))
    count(giving, endpoint.zone!, -1)
    count(receiving, to, -1)
    return withHint(endpoint, forZone(to))
  }
  const mapped = (slices: readonly SliceContent[]) => slices.map(slice => ({ ...slice, endpoints: (slice.endpoints ?? []).map(moved) }))
  if (allocated.size === 0) return disabled('No hints allocated for zones')
  const enabled = {
    type: 'Normal',
    reason: 'TopologyAwareHintsEnabled',
    message: `Topology Aware Hints has been enabled, addressType: ${addressType}`,
  } as const
  return { create: mapped(plan.create), update: mapped(update), remove: plan.remove, events: hadHints ? [] : [enabled] }
}

type Share = { readonly minimum: number; readonly desired: number; readonly maximum: number }

/** How many endpoints each zone should have, or why hints make no sense. */
function sharesOf(count: number, ratios: ZoneRatios | undefined): ReadonlyMap<string, Share> | string {
  if (!ratios) return 'Insufficient Node information: allocatable CPU or zone not specified on one or more nodes'
  if (ratios.size < 2) return 'Nodes only ready in one zone'
  if (ratios.size > count) return `Insufficient number of endpoints (${count} endpoints, ${ratios.size} zones)`
  const minimums = new Map(Array.from(ratios, ([zone, ratio]) => [zone, Math.ceil((ratio * count) / (1 + OVERLOAD))]))
  const total = [...minimums.values()].reduce((sum, minimum) => sum + minimum, 0)
  if (total > count)
    return `Unable to allocate minimum required endpoints to each zone without exceeding overload threshold (${count} endpoints, ${ratios.size} zones)`
  return new Map(
    Array.from(ratios, ([zone, ratio]) => {
      const minimum = minimums.get(zone)!
      return [zone, { minimum, desired: Math.max(ratio * count, minimum), maximum: minimum + count - total }]
    }),
  )
}

/** Whether the hints of a slice can stay; then they are counted. */
function keepsShares({ endpoints }: Slice, shares: ReadonlyMap<string, Share>, allocated: Map<string, number>): boolean {
  const own = new Map<string, number>()
  for (const endpoint of (endpoints ?? []).filter(isReady)) {
    const zones = endpoint.hints?.forZones ?? []
    if (zones.length === 0 || zones.some(({ name }) => !shares.has(name))) return false
    for (const { name } of zones) count(own, name, 1)
  }
  for (const [zone, number] of own) if (number + (allocated.get(zone) ?? 0) > shares.get(zone)!.maximum) return false
  for (const [zone, number] of own) count(allocated, zone, number)
  return true
}

/** Which zones have endpoints to give, and which should get some. */
function exchangesOf(shares: ReadonlyMap<string, Share>, allocated: ReadonlyMap<string, number>) {
  const [surplus, lack] = [new Map<string, number>(), new Map<string, number>()]
  for (const [zone, { desired }] of shares) {
    const difference = (allocated.get(zone) ?? 0) - desired
    if (difference > 0) surplus.set(zone, difference)
    if (difference < 0) lack.set(zone, -difference)
  }
  const [giving, receiving] = [new Map<string, number>(), new Map<string, number>()]
  for (;;) {
    const [from, give] = most(surplus)
    const [to, receive] = most(lack)
    if (!from || !to || (give < 1 && receive < 1) || give < 0.5 || receive < 0.5) return { giving, receiving }
    count(giving, from, 1)
    count(receiving, to, 1)
    surplus.set(from, give - 1)
    lack.set(to, receive - 1)
  }
}

function most(zones: ReadonlyMap<string, number>): readonly [zone: string, number: number] {
  let found: readonly [string, number] = ['', 0]
  for (const entry of zones) if (entry[1] > found[1]) found = entry
  return found
}

/** Adds to a count; none is left at zero. */
function count(counts: Map<string, number>, key: string, difference: number): void {
  const sum = (counts.get(key) ?? 0) + difference
  if (sum === 0) counts.delete(key)
  else counts.set(key, sum)
}

function withHint(endpoint: Endpoint, hints: Endpoint['hints'] | undefined): Endpoint {
  const { hints: _, ...others } = endpoint
  return (hints ? { ...others, hints } : others) as Endpoint
}

/** Changes the endpoints of all slices; unchanged slices whose endpoints change are to be updated. */
function mapEndpoints(plan: SlicePlan, unchanged: readonly Slice[], change: (endpoint: Endpoint) => Endpoint): SlicePlan {
  const mapped = <S extends SliceContent>(slice: S): S => ({ ...slice, endpoints: (slice.endpoints ?? []).map(change) })
  const further = unchanged.filter(slice =>
    (slice.endpoints ?? []).some(each => JSON.stringify(each.hints) !== JSON.stringify(change(each).hints)),
  )
  return { create: plan.create.map(mapped), update: [...plan.update, ...further].map(mapped), remove: plan.remove }
}
