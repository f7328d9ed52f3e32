/** Answers a ResourcePoolStatusRequest: how many devices of the pools of a driver are left. */

import { consumptionOf, countersOf, isLeft, takeFrom } from '../../devices/counters.ts'
import { isSelected, keepsAway, type TaintRule } from '../../devices/device-taints.ts'
import type { ResourceClaim } from '../../kinds/resource/resourceclaim.ts'
import type { ResourcePoolStatusRequest } from '../../kinds/resource/resourcepoolstatusrequest.ts'
import type { ResourceSlice } from '../../kinds/resource/resourceslice.ts'
import type { CounterSet, Device } from '../../kinds/resource/slice-shapes.ts'
import { getOwn } from '../../lib/json-value.ts'
import { addQuantity, parseQuantity, type Quantity, quantityOf, quantitySign, subtractQuantity } from '../../lib/quantity.ts'
import { millisecondsAt } from '../../lib/time.ts'

export type StatusRequest = ResourcePoolStatusRequest
export type Answer = NonNullable<StatusRequest['status']>
type PoolStatus = NonNullable<Answer['pools']>[number]

export type Observed = {
  readonly slices: Iterable<ResourceSlice>
  readonly claims: Iterable<ResourceClaim>
  readonly rules: Iterable<TaintRule>
}

const DEFAULT_LIMIT = 100
const MAX_ENTRIES = 32
const MAX_ERROR_LENGTH = 256

/** The answer, or that there is none yet because slices of a pool are missing that will be there. */
export function answerOf({ spec }: StatusRequest, observed: Observed, now: string): Answer | 'incomplete' {
  const pools = poolsOf(spec, observed.slices)
  const rules = [...observed.rules]
  const used = usedDevices([...observed.claims])
  const statuses = [...pools.values()]
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .map(pool => statusOf(pool, { rules, used, attribute: spec.defaultPartitionTypeAttribute }))
  const listed = statuses.slice(0, Number(spec.limit ?? DEFAULT_LIMIT))
  if (listed.some(({ validationError }) => validationError?.startsWith('PoolIncomplete:'))) return 'incomplete'
  const faulty = listed.filter(({ validationError }) => validationError !== undefined).length
  const message = `Calculated status for ${listed.length} pools${faulty > 0 ? ` (${faulty} incomplete)` : ''}`
  const condition = { type: 'Complete', status: 'True', reason: 'CalculationComplete', message, lastTransitionTime: now }
  return { poolCount: statuses.length, ...(listed.length > 0 && { pools: listed }), conditions: [condition] } as Answer
}

/** A request is deleted so many milliseconds after its answer, or after its creation. */
const ANSWERED_MS = 3_600_000
const PENDING_MS = 24 * 3_600_000

/** When a request is deleted: an hour after it was answered, or a day after it was made. */
export function expiryOf({ metadata, status }: StatusRequest): number {
  const created = millisecondsAt(metadata.creationTimestamp, Number.NaN)
  if (!status) return created + PENDING_MS
  const end = status.conditions?.find(({ type }) => type === 'Complete' || type === 'Failed')
  return (end ? millisecondsAt(end.lastTransitionTime, Number.NaN) : created) + ANSWERED_MS
}

type Pool = {
  readonly driver: string
  readonly name: string
  readonly generation: number | bigint
  readonly slices: readonly ResourceSlice[]
}

/** The pools that are meant, with the slices of their highest generation. */
function poolsOf({ driver, poolName }: StatusRequest['spec'], slices: Iterable<ResourceSlice>): Map<string, Pool> {
  const pools = new Map<string, Pool>()
  for (const slice of slices) {
    const { name, generation } = slice.spec.pool
    if (slice.spec.driver !== driver || (poolName !== undefined && name !== poolName)) continue
    const known = pools.get(name)
    if (known && known.generation > generation) continue
    const others = known && known.generation === generation ? known.slices : []
    pools.set(name, { driver, name, generation, slices: [...others, slice] })
  }
  return pools
}

type Used = ReadonlyMap<string, { readonly devices: Set<string>; readonly capacity: Map<string, Quantity> }>

/** The devices of each pool that claims have allocated, without admin access. */
function usedDevices(claims: readonly ResourceClaim[]): Used {
  const used = new Map<string, { readonly devices: Set<string>; readonly capacity: Map<string, Quantity> }>()
  for (const { status } of claims)
    for (const { driver, pool, device, adminAccess, consumedCapacity } of status.allocation?.devices.results ?? []) {
      if (adminAccess) continue
      const key = `${driver}/${pool}`
      const known = used.get(key) ?? { devices: new Set<string>(), capacity: new Map<string, Quantity>() }
      used.set(key, known)
      known.devices.add(device)
      for (const [name, amount] of Object.entries(consumedCapacity ?? {})) addTo(known.capacity, name, amount)
    }
  return used
}

function addTo(total: Map<string, Quantity>, name: string, amount: string): void {
  const before = total.get(name)
  total.set(name, before ? addQuantity(before, parseQuantity(amount)) : parseQuantity(amount))
}

type Counted = { readonly rules: readonly TaintRule[]; readonly used: Used; readonly attribute: string | undefined }

function statusOf({ driver, name, generation, slices }: Pool, { rules, used, attribute }: Counted): PoolStatus {
  const nodes = new Set(slices.map(({ spec }) => spec.nodeName ?? ''))
  const [node] = nodes.size === 1 ? nodes : ['']
  const base = { driver, poolName: name, generation, ...(node && { nodeName: node }) }
  const expected = slices[0]!.spec.pool.resourceSliceCount
  const shown = `${driver}/${name}`
  if (slices.length < expected)
    return {
      ...base,
      validationError: cut(
        `PoolIncomplete: pool ${shown} is incomplete: observed ${slices.length}/${expected} slices at generation ${generation}`,
      ),
    }
  const devices = slices.flatMap(({ spec }) => spec.devices ?? [])
  const isUnavailable = (device: Device) =>
    (device.taints ?? []).some(keepsAway) ||
    rules.some(rule => keepsAway(rule.spec.taint) && isSelected(rule, { driver, pool: name, device: device.name }))
  const unavailable = devices.filter(isUnavailable).length
  const { devices: inUse, capacity } = used.get(shown) ?? { devices: new Set<string>(), capacity: new Map<string, Quantity>() }
  const counted = {
    ...base,
    resourceSliceCount: slices.length,
    totalDevices: devices.length,
    allocatedDevices: inUse.size,
    availableDevices: Math.max(0, devices.length - inUse.size - unavailable),
    unavailableDevices: unavailable,
  }
  const partitions = partitionsOf({ shown, driver, slices, inUse, attribute })
  const shares = sharesOf({ shown, devices, inUse, capacity })
  const problem = problemIn(partitions) ?? problemIn(shares)
  return {
    ...counted,
    ...(!problem && Array.isArray(partitions) && partitions.length > 0 && { partitionSummary: partitions }),
    ...(shares && !problemIn(shares) && { shareableSummary: shares }),
    ...(problem !== undefined && { validationError: cut(problem) }),
  } as PoolStatus
}

const problemIn = (result: unknown): string | undefined => (typeof result === 'string' ? result : undefined)
const cut = (text: string): string => text.slice(0, MAX_ERROR_LENGTH)

type Partitioned = {
  readonly shown: string
  readonly driver: string
  readonly slices: readonly ResourceSlice[]
  readonly inUse: ReadonlySet<string>
  readonly attribute: string | undefined
}

/** Devices that take from counters, by their type: how many there are, and how many more fit beside those in use. */
function partitionsOf({ shown, driver, slices, inUse, attribute }: Partitioned): object[] | string | undefined {
  const isDeclared = slices.some(({ spec }) => spec.partitionTypeAttribute !== undefined && spec.devices?.length)
  const typed = slices.flatMap(({ spec }) =>
    (spec.devices ?? []).map(device => ({ device, by: spec.partitionTypeAttribute ?? (isDeclared ? undefined : attribute) })),
  )
  if (typed.every(({ by }) => by === undefined)) return undefined
  const sets: CounterSet[] = slices.flatMap(({ spec }) => spec.sharedCounters ?? [])
  if (sets.length === 0) return `PartitionTypeMissing: pool ${shown} declares partitionTypeAttribute but publishes no sharedCounters`
  const groups = new Map<string, { readonly by: string; readonly type: string; readonly cost: string; readonly all: Device[] }>()
  for (const { device, by } of typed) {
    if (by === undefined || !device.consumesCounters?.length) continue
    const bare = by.startsWith(`${driver}/`) ? by.slice(driver.length + 1) : by
    const type = (getOwn(device.attributes ?? {}, by) ?? getOwn(device.attributes ?? {}, bare))?.string
    if (type === undefined)
      return `PartitionTypeMissing: device "${device.name}" in pool ${shown} does not carry partition type attribute "${by}"`
    const cost = consumptionOf(device.consumesCounters)
      .map(([counter, { text }]) => `${counter}=${text}`)
      .sort()
      .join(',')
    const group = groups.get(`${by} ${type}`) ?? { by, type, cost, all: [] }
    groups.set(`${by} ${type}`, group)
    if (group.cost !== cost) return `PartitionCostMismatch: devices of partition type "${type}" in pool ${shown} consume different counters`
    group.all.push(device)
  }
  if (groups.size > MAX_ENTRIES)
    return `PartitionSummaryOverCap: pool ${shown} has ${groups.size} partition types, exceeding the maximum of ${MAX_ENTRIES}`
  const baseline = new Map(countersOf(sets))
  for (const { device } of typed) if (inUse.has(device.name)) takeFrom(baseline, consumptionOf(device.consumesCounters ?? []))
  return [...groups.values()]
    .sort((a, b) => (`${a.by} ${a.type}` < `${b.by} ${b.type}` ? -1 : 1))
    .map(({ by, type, all }) => {
      const left = new Map(baseline)
      let allocatable = 0
      for (const device of all) {
        const amounts = consumptionOf(device.consumesCounters ?? [])
        if (inUse.has(device.name) || !isLeft(left, amounts)) continue
        takeFrom(left, amounts)
        allocatable++
      }
      return { attribute: by, type, total: all.length, allocatable }
    })
}

type Shared = {
  readonly shown: string
  readonly devices: readonly Device[]
  readonly inUse: ReadonlySet<string>
  readonly capacity: ReadonlyMap<string, Quantity>
}

/** The remaining capacity of devices that allow multiple allocations. */
function sharesOf({ shown, devices, inUse, capacity }: Shared): object | string | undefined {
  const shared = devices.filter(({ allowMultipleAllocations }) => allowMultipleAllocations)
  if (shared.length === 0) return undefined
  const total = new Map<string, Quantity>()
  for (const device of shared) for (const [name, { value }] of Object.entries(device.capacity ?? {})) addTo(total, name, value)
  if (total.size > MAX_ENTRIES)
    return `ShareableSummaryOverCap: pool ${shown} has ${total.size} shareable capacity keys, exceeding the maximum of ${MAX_ENTRIES}`
  const amounts = [...total]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, there]) => {
      const consumed = capacity.get(name) ?? quantityOf(0n)
      const left = subtractQuantity(there, consumed)
      return { name, total: there.text, consumed: consumed.text, available: quantitySign(left) < 0 ? '0' : left.text }
    })
  const partly = shared.filter(({ name }) => inUse.has(name)).length
  return {
    fullyAvailableDevices: shared.length - partly,
    partiallyAvailableDevices: partly,
    ...(amounts.length > 0 && { capacity: amounts }),
  }
}
