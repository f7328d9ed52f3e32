/** Small sets of devices for tests, and an allocator that is slow and obviously right. */

import fc from 'fast-check'
import type { AllocatorParts, Outcome } from '../../src/devices/allocate.ts'
import { allocate, stepBudget } from '../../src/devices/allocate.ts'
import { prepareClaim } from '../../src/devices/claim-requests.ts'
import type { TaintRule } from '../../src/devices/device-taints.ts'
import { DeviceExpressions } from '../../src/devices/expressions.ts'
import { type AllocatorFeatures, allocatorFeatures } from '../../src/devices/features.ts'
import { type DeviceNode, DevicePools } from '../../src/devices/pools.ts'
import { DeviceUsage } from '../../src/devices/usage.ts'
import type { DeviceRequestAllocationResult } from '../../src/kinds/resource/allocation-shapes.ts'
import type { DeviceClass } from '../../src/kinds/resource/deviceclass.ts'

const ALL_FEATURES: AllocatorFeatures = allocatorFeatures(() => true)
export const DRIVER = 'd.example.com'

export const nodeNamed = (name: string, labels: Record<string, string> = {}): DeviceNode => ({ name, labels, features: new Set() })

/** A slice of the pool `pool`, by default for the node `n`. */
export const sliceOf = (name: string, { pool = 'pool', generation = 1, count = 1, ...spec }: Record<string, any> = {}) => ({
  metadata: { name },
  spec: {
    driver: DRIVER,
    pool: { name: pool, generation, resourceSliceCount: count },
    ...(choosesNodes(spec) ? {} : { nodeName: 'n' }),
    ...spec,
  },
})
const choosesNodes = (spec: Record<string, unknown>) =>
  ['nodeName', 'allNodes', 'nodeSelector', 'perDeviceNodeSelection'].some(key => key in spec)

export const classNamed = (name: string, spec: object = {}): DeviceClass => ({ metadata: { name }, spec }) as DeviceClass

/** A claim with requests; each of them is for one device of the class `any` by default. */
export const claimOf = (requests: readonly Record<string, any>[], { name = 'claim', ...more }: Record<string, any> = {}) => ({
  metadata: { namespace: 'default', name },
  spec: {
    devices: {
      requests: requests.map(({ name: request = 'r', firstAvailable, ...exactly }) =>
        firstAvailable
          ? { name: request, firstAvailable: firstAvailable.map((each: object) => ({ ...ONE, ...each })) }
          : { name: request, exactly: { ...ONE, ...exactly } },
      ),
      ...more,
    },
  },
})
const ONE = { deviceClassName: 'any', allocationMode: 'ExactCount', count: 1 }

export type WorldDraft = {
  readonly slices: readonly ReturnType<typeof sliceOf>[]
  readonly rules?: readonly object[]
  readonly used?: Record<string, readonly Partial<DeviceRequestAllocationResult>[]>
  readonly features?: Partial<AllocatorFeatures>
}

export function worldOf({ slices, rules = [], used = {}, features = {} }: WorldDraft): AllocatorParts {
  const on = { ...ALL_FEATURES, ...features }
  const pools = new DevicePools(on)
  for (const slice of slices) pools.setSlice(slice as never)
  for (const rule of rules) pools.setRule(rule as TaintRule)
  const usage = new DeviceUsage()
  for (const [claim, results] of Object.entries(used))
    usage.store(
      claim,
      results.map(result => ({ request: 'r', driver: DRIVER, pool: 'pool', device: '', ...result })),
      1,
    )
  return { features: on, pools, usage, expressions: Object.keys(features).length === 0 ? EXPRESSIONS : new DeviceExpressions(on) }
}
/** Compiled once for all worlds. */
const EXPRESSIONS = new DeviceExpressions(ALL_FEATURES)

/** The result of the allocator: for each claim `request:device`, or the reason of a failure. */
export function found(
  world: AllocatorParts,
  claims: readonly ReturnType<typeof claimOf>[],
  more: Partial<Looked> = {},
): string[][] | string {
  const outcome = look(world, claims, more)
  if (outcome.type !== 'found') return outcome.type
  return outcome.choices.map(({ devices }) => devices.map(({ alternative, device }) => `${alternative.name}:${device.spec.name}`))
}

type Looked = { readonly node: DeviceNode; readonly classes: readonly DeviceClass[] }

export function look(
  world: AllocatorParts,
  claims: readonly ReturnType<typeof claimOf>[],
  { node = nodeNamed('n'), classes = [classNamed('any')] }: Partial<Looked> = {},
): Outcome {
  const classOf = (name: string) => classes.find(({ metadata }) => metadata.name === name)
  const prepared = claims.map(claim => prepareClaim(claim as never, { classOf, ...world }))
  return allocate(prepared, node, world, stepBudget())
}

// The slow allocator: tries every assignment of devices to requests, in order, until one satisfies all rules.

/** A device with numbers instead of quantities. */
export type SimpleDevice = {
  readonly name: string
  readonly kind: string
  readonly zone: readonly string[]
  readonly size: number
  /** The possible amounts, where it is shared. */
  readonly policy: { readonly standard: number; readonly values: readonly number[] } | undefined
  readonly isShared: boolean
  readonly takes: Readonly<Record<string, number>>
  readonly groups: readonly string[]
  readonly taints: readonly string[]
  readonly isElsewhere: boolean
}

export type SimpleRequest = {
  readonly kind: string | undefined
  /** Zero for all. */
  readonly count: number
  readonly isAdmin: boolean
  readonly tolerates: readonly string[]
  readonly size: number | undefined
}

export type SimpleConstraint = { readonly type: 'match' | 'distinct'; readonly requests: readonly string[] }

export type SimpleClaim = {
  /** Each with its alternatives. */
  readonly requests: readonly (readonly SimpleRequest[])[]
  readonly constraints: readonly SimpleConstraint[]
}

export type SimpleWorld = {
  readonly devices: readonly SimpleDevice[]
  readonly counters: Readonly<Record<string, number>>
  readonly claims: readonly SimpleClaim[]
  /** Usage by device: one claim alone, or the amount consumed by claims that share it. */
  readonly used: Readonly<Record<string, 'alone' | number>>
}

type Pick_ = { readonly claim: number; readonly name: string; readonly request: SimpleRequest; readonly device: SimpleDevice }

export function slowly({ devices, counters, claims, used }: SimpleWorld): string[][] | 'none' {
  const here = devices.filter(({ isElsewhere }) => !isElsewhere)
  const slots = claims.flatMap(({ requests }, claim) => requests.map((alternatives, request) => ({ claim, request, alternatives })))
  for (const picks of everyWay(0))
    if (breaksNoRule(picks))
      return claims.map((_, i) => picks.flatMap(pick => (pick.claim === i ? [`${pick.name}:${pick.device.name}`] : [])))
  return 'none'

  function* everyWay(slot: number): Generator<Pick_[]> {
    if (slot === slots.length) return yield []
    const { claim, request, alternatives } = slots[slot]!
    for (const [i, wanted] of alternatives.entries()) {
      const name = alternatives.length > 1 ? `r${request}/s${i}` : `r${request}`
      const suitable = here.filter(device => isSuitable(device, wanted))
      const sets = wanted.count === 0 ? (suitable.length > 0 ? [suitable] : []) : subsets(suitable, wanted.count)
      for (const set of sets)
        for (const rest of everyWay(slot + 1)) yield [...set.map(device => ({ claim, name, request: wanted, device })), ...rest]
    }
  }

  function breaksNoRule(picks: readonly Pick_[]): boolean {
    return picks.every((pick, i) => isFree(pick, picks.slice(0, i))) && hasRoom(picks) && hasCounters(picks) && agree(picks)
  }

  function isFree({ device, request, claim }: Pick_, before: readonly Pick_[]): boolean {
    if (!request.isAdmin && used[device.name] === 'alone') return false
    if (device.taints.some(taint => !request.tolerates.includes(taint))) return false
    if (device.isShared) return true
    return !before.some(other => other.device === device && (!request.isAdmin || other.claim === claim))
  }

  function hasRoom(picks: readonly Pick_[]): boolean {
    return here.every(device => {
      const before = used[device.name]
      const shares = picks.filter(pick => pick.device === device && device.isShared)
      return (
        shares.length === 0 ||
        shares.reduce((sum, { request }) => sum + amount(device, request), typeof before === 'number' ? before : 0) <= device.size
      )
    })
  }

  function hasCounters(picks: readonly Pick_[]): boolean {
    const takers = picks.filter(({ device }, i) => {
      if (Object.keys(device.takes).length === 0) return false
      if (!device.isShared) return true
      return typeof used[device.name] !== 'number' && picks.findIndex(other => other.device === device) === i
    })
    if (takers.length === 0) return true
    const there = devices.filter(({ name, takes }) => used[name] !== undefined && Object.keys(takes).length > 0)
    const all = [...there, ...takers.map(({ device }) => device)]
    const isEnough = Object.entries(counters).every(([counter, total]) => {
      const isAsked = takers.some(({ device }) => counter in device.takes)
      return !isAsked || all.reduce((sum, { takes }) => sum + (takes[counter] ?? 0), 0) <= total
    })
    const groups = all.map(each => each.groups)
    const isAlike = groups.every(each => each.length === 0) || groups.reduce((a, b) => a.filter(group => b.includes(group))).length > 0
    return isEnough && isAlike
  }

  function agree(picks: readonly Pick_[]): boolean {
    return claims.every(({ constraints }, claim) =>
      constraints.every(({ type, requests }) => {
        const zones = picks
          .filter(
            pick =>
              pick.claim === claim &&
              (requests.length === 0 || requests.some(name => name === pick.name || pick.name.startsWith(`${name}/`))),
          )
          .map(({ device }) => device.zone)
        if (zones.some(zone => zone.length === 0)) return false
        if (type === 'match') return zones.length === 0 || zones.reduce((a, b) => a.filter(zone => b.includes(zone))).length > 0
        return new Set(zones.flatMap(zone => [...new Set(zone)])).size === zones.reduce((sum, zone) => sum + new Set(zone).size, 0)
      }),
    )
  }
}

const isSuitable = (device: SimpleDevice, request: SimpleRequest): boolean =>
  (request.kind === undefined || device.kind === request.kind) && isOffered(device, request) && amount(device, request) <= device.size

function isOffered({ policy }: SimpleDevice, { size }: SimpleRequest): boolean {
  return !policy || size === undefined || policy.values.some(value => value >= size)
}

/** The amount that a request consumes of a device. */
function amount({ policy, size: whole }: SimpleDevice, { size }: SimpleRequest): number {
  if (!policy) return size ?? whole
  return size === undefined ? policy.standard : (policy.values.find(value => value >= size) ?? Number.POSITIVE_INFINITY)
}

function subsets<T>(all: readonly T[], count: number): T[][] {
  if (count === 0) return [[]]
  return all.flatMap((first, i) => subsets(all.slice(i + 1), count - 1).map(rest => [first, ...rest]))
}

/** The same devices and claims as API objects. */
export function realWorld({ devices, counters, claims, used }: SimpleWorld) {
  const real = devices.map(device => ({
    name: device.name,
    attributes: { kind: { string: device.kind }, ...(device.zone.length > 0 && { 'x.org/zone': zoneOf(device.zone) }) },
    capacity: {
      size: {
        value: String(device.size),
        ...(device.policy && { requestPolicy: { default: String(device.policy.standard), validValues: device.policy.values.map(String) } }),
      },
    },
    ...(device.isShared && { allowMultipleAllocations: true }),
    ...(Object.keys(device.takes).length > 0 && {
      consumesCounters: [
        {
          counterSet: 'set',
          counters: Object.fromEntries(Object.entries(device.takes).map(([name, value]) => [name, { value: String(value) }])),
          compatibilityGroups: device.groups,
        },
      ],
    }),
    taints: device.taints.map(key => ({ key, effect: 'NoSchedule' })),
    nodeName: device.isElsewhere ? 'other' : 'n',
  }))
  const sharedCounters = [
    { name: 'set', counters: Object.fromEntries(Object.entries(counters).map(([name, value]) => [name, { value: String(value) }])) },
  ]
  const half = Math.ceil(real.length / 2)
  const slices = [
    sliceOf('a', { count: 3, perDeviceNodeSelection: true, devices: real.slice(0, half) }),
    sliceOf('b', { count: 3, perDeviceNodeSelection: true, devices: real.slice(half) }),
    sliceOf('c', { count: 3, allNodes: true, sharedCounters }),
  ]
  const results = Object.entries(used).map(([device, how]) =>
    how === 'alone' ? { device } : { device, shareID: `share-${device}`, consumedCapacity: { size: String(how) } },
  )
  const requestOf = ({ kind, count, isAdmin, tolerates, size }: SimpleRequest) => ({
    ...(count === 0 ? { allocationMode: 'All' } : { count }),
    ...(isAdmin && { adminAccess: true }),
    ...(kind !== undefined && { selectors: [{ cel: { expression: `device.attributes["${DRIVER}"].kind == "${kind}"` } }] }),
    ...(size !== undefined && { capacity: { requests: { size: String(size) } } }),
    tolerations: tolerates.map(key => ({ key, operator: 'Exists' })),
  })
  const drafts = claims.map(({ requests, constraints }, i) =>
    claimOf(
      requests.map((alternatives, j) =>
        alternatives.length > 1
          ? { name: `r${j}`, firstAvailable: alternatives.map((each, k) => ({ name: `s${k}`, ...requestOf(each) })) }
          : { name: `r${j}`, ...requestOf(alternatives[0]!) },
      ),
      {
        name: `c${i}`,
        constraints: constraints.map(({ type, requests: about }) => ({ [`${type}Attribute`]: 'x.org/zone', requests: about })),
      },
    ),
  )
  return { world: worldOf({ slices, used: { others: results } }), claims: drafts }
}

const zoneOf = (zone: readonly string[]) => (zone.length === 1 ? { string: zone[0] } : { strings: zone })

/** Cases small enough for the slow allocator, in which about half of the allocations succeed. */
export const simpleWorlds: fc.Arbitrary<SimpleWorld> = fc
  .array(
    fc.record({
      kind: fc.constantFrom('a', 'a', 'a', 'b'),
      zone: fc.constantFrom(['x'], ['y'], ['x', 'y'], ['y', 'z'], []),
      size: fc.integer({ min: 2, max: 4 }),
      policy: fc.option(fc.constantFrom({ standard: 1, values: [1, 2, 4] }, { standard: 2, values: [2, 3] }), { nil: undefined }),
      isShared: fc.boolean(),
      takes: fc.constantFrom({}, {}, { slots: 1 }, { slots: 2 }, { slots: 1, memory: 2 }),
      groups: fc.constantFrom([], [], [], ['g'], ['g', 'h'], ['h']),
      taints: fc.constantFrom([], [], [], [], [], ['t']),
      isElsewhere: fc.constantFrom(false, false, false, false, true),
      use: fc.constantFrom(undefined, undefined, undefined, undefined, undefined, 'alone' as const, 1),
    }),
    { minLength: 2, maxLength: 7 },
  )
  .chain(drawn => {
    // Existing allocations are consistent.
    const given = drawn.filter(({ use, takes }) => use !== undefined && Object.keys(takes).length > 0).map(({ groups }) => groups)
    const isAlike = given.every(groups => groups.join() === given[0]!.join())
    const devices = drawn.map(({ use: _, groups, ...device }, i) => ({
      ...device,
      name: `dev-${i}`,
      groups: isAlike && Object.keys(device.takes).length > 0 ? groups : [],
    }))
    const used = Object.fromEntries(
      drawn.flatMap(({ use, isShared }, i) => (use === undefined ? [] : [[`dev-${i}`, isShared && use === 1 ? 1 : 'alone'] as const])),
    )
    const request = fc.record({
      kind: fc.constantFrom(undefined, undefined, 'a', 'a', 'b'),
      count: fc.constantFrom(1, 1, 1, 1, 1, 2, 2, 3, 0),
      isAdmin: fc.constantFrom(false, false, false, false, true),
      tolerates: fc.constantFrom([], ['t']),
      size: fc.constantFrom(undefined, undefined, undefined, 1, 1, 2, 3),
    })
    const alternatives = fc.oneof(
      request.map(each => [each]),
      fc.array(
        request.map(each => ({ ...each, isAdmin: false })),
        { minLength: 2, maxLength: 2 },
      ),
    )
    const claim = fc.array(alternatives, { minLength: 1, maxLength: 2 }).chain(requests =>
      fc.record({
        requests: fc.constant(requests),
        constraints: fc.array(
          fc.record({
            type: fc.constantFrom('match' as const, 'distinct' as const),
            requests: fc.constantFrom(
              [],
              ['r0'],
              requests.length > 1 ? ['r0', 'r1'] : ['r0'],
              requests[0]!.length > 1 ? ['r0/s1'] : ['r0'],
            ),
          }),
          { maxLength: 1 },
        ),
      }),
    )
    return fc.record({
      devices: fc.constant(devices),
      used: fc.constant(used),
      counters: fc.record({ slots: fc.integer({ min: 2, max: 6 }), memory: fc.integer({ min: 2, max: 6 }) }),
      claims: fc.array(claim, { minLength: 1, maxLength: 2 }),
    })
  })
