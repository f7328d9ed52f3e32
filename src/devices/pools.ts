/**
 * The pools of devices, kept up to date slice by slice, and the share of each node:
 *
 *     slice (nodeName a) ─┐
 *     slice (nodeName a) ─┴ pool gpu.example.com/a ── node a
 *     slice (allNodes)   ─── pool net.example.com/x ── every node
 *
 * Only the slices of the highest generation of a pool count. A pool whose slices are not all there is incomplete, and one whose
 * slices contradict each other is invalid: nothing is allocated from either. The devices of a node are computed on demand
 * and cached until one of its pools changes.
 */
import type { DeviceTaint } from '../kinds/resource/device-taint.ts'
import type { CounterSet, Device, ResourceSliceSpec } from '../kinds/resource/slice-shapes.ts'
import { type NodeIdentity, nodesSelectedBy } from '../kinds/rules/pod/scheduling/node-match.ts'
import type { NodeSelector } from '../kinds/rules/pod/scheduling/node-selector.ts'
import { countersOf } from './counters.ts'
import { PoolDevice, poolId, type Slice } from './device.ts'
import { type DeviceName, isSelected, type TaintRule } from './device-taints.ts'
import type { AllocatorFeatures } from './features.ts'
import { FirstFree } from './first-free.ts'
import { SharedCounters } from './shared-counters.ts'

/** A node as far as devices are concerned. */
export type DeviceNode = NodeIdentity & { readonly features?: ReadonlySet<string> }

/** The devices of a pool that a node can use. */
export type NodePool = {
  readonly id: string
  readonly state: 'complete' | 'incomplete' | 'invalid'
  /** Those that the node can use, in the order in which they are given out. */
  readonly devices: readonly PoolDevice[]
  readonly firstFree: FirstFree
  readonly shared: SharedCounters
}

export type ResourceSlices = { readonly metadata: { readonly name?: string }; readonly spec: ResourceSliceSpec }

export class DevicePools {
  readonly #features: AllocatorFeatures
  readonly #pools = new Map<string, Pool>()
  /** Slices by their name, and their pool. */
  readonly #byName = new Map<string, { readonly slice: Slice; readonly pool: Pool }>()
  /** The number of slices for one node alone, by node and pool. */
  readonly #ofNode = new Map<string, Map<Pool, number>>()
  /** The pools that have slices which are not for one node alone, and how many. */
  readonly #common = new Map<Pool, number>()
  readonly #known = new Map<string, PoolsOnNode>()
  readonly #rules = new Map<string, TaintRule>()
  #rulesVersion = 0
  #version = 0

  constructor(features: AllocatorFeatures) {
    this.#features = features
  }

  setSlice({ metadata: { name = '' }, spec }: ResourceSlices): void {
    this.removeSlice(name)
    const id = poolId(spec.driver, spec.pool.name)
    let pool = this.#pools.get(id)
    if (!pool) this.#pools.set(id, (pool = new Pool(id, this.#features)))
    const slice = { name, spec }
    this.#byName.set(name, { slice, pool })
    pool.put(slice)
    this.#count(pool, spec, 1)
  }

  removeSlice(name: string): void {
    const known = this.#byName.get(name)
    if (!known) return
    const { slice, pool } = known
    this.#byName.delete(name)
    pool.remove(name)
    this.#count(pool, slice.spec, -1)
    if (pool.isEmpty) this.#pools.delete(pool.id)
  }

  setRule(rule: TaintRule): void {
    this.#rules.set(rule.metadata.name ?? '', rule)
    this.#rulesVersion++
  }

  removeRule(name: string): void {
    if (this.#rules.delete(name)) this.#rulesVersion++
  }

  /** The taints of a device: its own and those of rules. */
  taintsOf(device: PoolDevice): readonly DeviceTaint[] {
    const { spec, slice, driver } = device
    const own = spec.taints ?? NO_TAINTS
    if (!this.#features.taintRules || this.#rules.size === 0) return own
    if (device.ruled?.version !== this.#rulesVersion) {
      const name = { driver, pool: slice.spec.pool.name, device: spec.name }
      const taints = [...own]
      for (const rule of this.#rules.values()) if (isSelected(rule, name)) taints.push(rule.spec.taint)
      device.ruled = { version: this.#rulesVersion, taints }
    }
    return device.ruled.taints
  }

  /** A device as it is published, whether or not its pool is complete. */
  published({ driver, pool, device }: DeviceName): Device | undefined {
    return this.#pools.get(poolId(driver, pool))?.published(device)
  }

  forgetNode(name: string): void {
    this.#known.delete(name)
  }

  /** The pools that a node can use devices of, in the order in which devices are looked for. */
  on(node: DeviceNode): readonly NodePool[] {
    const known = this.#known.get(node.name)
    if (known && known.labels === node.labels && known.version === this.#version && known.isCurrent()) return known.pools
    const candidates = new Set([...(this.#ofNode.get(node.name)?.keys() ?? []), ...this.#common.keys()])
    const used = [...candidates].map(pool => ({ pool, version: pool.version }))
    const pools = [...candidates].flatMap(pool => pool.on(node) ?? []).sort(byPreparation)
    const isCurrent = () => used.every(({ pool, version }) => pool.version === version)
    this.#known.set(node.name, { labels: node.labels, version: this.#version, isCurrent, pools })
    return pools
  }

  /** Which pools matter to which nodes. */
  #count(pool: Pool, { nodeName }: ResourceSliceSpec, by: 1 | -1): void {
    let counts: Map<Pool, number> = this.#common
    if (nodeName) {
      counts = this.#ofNode.get(nodeName) ?? new Map()
      this.#ofNode.set(nodeName, counts)
    }
    const before = counts.get(pool) ?? 0
    if (before + by > 0) counts.set(pool, before + by)
    else counts.delete(pool)
    if (nodeName && counts.size === 0) this.#ofNode.delete(nodeName)
    if (before !== 0 && before + by !== 0) return
    // Another pool matters, or one no longer does: to one node, or to all.
    if (nodeName) this.#known.delete(nodeName)
    else this.#version++
  }
}

const NO_TAINTS: readonly DeviceTaint[] = []

type PoolsOnNode = {
  readonly labels: DeviceNode['labels']
  readonly version: number
  readonly isCurrent: () => boolean
  readonly pools: readonly NodePool[]
}

/** Pools whose devices need preparation come last. */
function byPreparation(a: NodePool, b: NodePool): number {
  return Number(needsPreparation(a)) - Number(needsPreparation(b)) || compare(a.id, b.id)
}
const needsPreparation = ({ devices }: NodePool): boolean => devices.some(({ spec }) => spec.bindingConditions !== undefined)
const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

class Pool {
  readonly id: string
  version = 0
  readonly #features: AllocatorFeatures
  readonly #slices = new Map<string, Slice>()
  #current: Current | undefined

  constructor(id: string, features: AllocatorFeatures) {
    this.id = id
    this.#features = features
  }

  get isEmpty(): boolean {
    return this.#slices.size === 0
  }

  put(slice: Slice): void {
    this.#slices.set(slice.name, slice)
    this.#changed()
  }

  remove(name: string): void {
    this.#slices.delete(name)
    this.#changed()
  }

  published(name: string): Device | undefined {
    for (const { spec } of this.#slices.values()) {
      const found = spec.devices?.find(device => device.name === name)
      if (found) return found
    }
    return undefined
  }

  #changed(): void {
    this.version++
    this.#current = undefined
  }

  /** The devices of the pool that a node can use; undefined when none of its slices is for the node. */
  on(node: DeviceNode): NodePool | undefined {
    const { slices, isComplete, shared, problem, devices } = (this.#current ??= currentOf(this.id, this.#slices, this.#features))
    const relevant = slices.filter(({ spec }) => isFor(spec, node))
    if (relevant.length === 0) return undefined
    const { id } = this
    const offering = (state: NodePool['state'], usable: readonly PoolDevice[] = []): NodePool => ({
      id,
      state,
      devices: usable,
      firstFree: new FirstFree(id, usable),
      shared,
    })
    if (!isComplete) return offering('incomplete')
    const offered = relevant.flatMap(slice => devices.get(slice) ?? [])
    if (problem || hasDuplicates(offered)) return offering('invalid')
    return offering(
      'complete',
      offered.filter(({ spec, slice }) => isDeviceFor(spec, slice.spec, node)),
    )
  }
}

/** The slices of the newest generation, by name. */
type Current = {
  readonly slices: readonly Slice[]
  readonly isComplete: boolean
  readonly devices: ReadonlyMap<Slice, readonly PoolDevice[]>
  readonly shared: SharedCounters
  readonly problem: string | undefined
}

function currentOf(pool: string, all: ReadonlyMap<string, Slice>, features: AllocatorFeatures): Current {
  let newest: number | bigint = -1
  for (const { spec } of all.values()) if (spec.pool.generation > newest) newest = spec.pool.generation
  const stated = [...all.values()].filter(({ spec }) => spec.pool.generation === newest).sort((a, b) => compare(a.name, b.name))
  // Slices with fields of disabled features count as missing, so that nothing is allocated from their pool by mistake.
  const slices = stated.filter(({ spec }) => isUnderstood(spec, features))
  const isComplete = BigInt(slices.length) === BigInt(stated[0]?.spec.pool.resourceSliceCount ?? 0)
  const devices = new Map(slices.map(slice => [slice, (slice.spec.devices ?? []).map(device => new PoolDevice(slice, device))]))
  const everyone = [...devices.values()].flat()
  const sets = slices.flatMap(({ spec }) => spec.sharedCounters ?? [])
  const problem = features.partitionableDevices ? countersProblem(sets, everyone) : undefined
  const shared = new SharedCounters(
    pool,
    countersOf(sets),
    everyone.filter(({ spec }) => spec.consumesCounters?.length),
  )
  return { slices, isComplete, devices, shared, problem }
}

function isUnderstood(spec: ResourceSliceSpec, { partitionableDevices, compatibilityGroups }: AllocatorFeatures): boolean {
  if (!partitionableDevices && (spec.perDeviceNodeSelection !== undefined || spec.sharedCounters?.length)) return false
  return compatibilityGroups || !(spec.devices ?? []).some(({ consumesCounters = [] }) => consumesCounters.some(usesGroups))
}
const usesGroups = ({ compatibilityGroups }: { compatibilityGroups?: readonly string[] }): boolean => Boolean(compatibilityGroups?.length)

/** The error in the counters of a pool, if there is one. */
function countersProblem(sets: readonly CounterSet[], devices: readonly PoolDevice[]): string | undefined {
  const known = new Map<string, CounterSet>()
  for (const set of sets) {
    if (known.has(set.name)) return `duplicate counter set name ${set.name}`
    known.set(set.name, set)
  }
  for (const { spec } of devices)
    for (const { counterSet, counters } of spec.consumesCounters ?? []) {
      const set = known.get(counterSet)
      if (!set) return `counter set ${counterSet} not found`
      for (const name of Object.keys(counters ?? {}))
        if (!Object.hasOwn(set.counters ?? {}, name)) return `counter ${name} not found in counter set ${counterSet}`
    }
  return undefined
}

const hasDuplicates = (devices: readonly PoolDevice[]): boolean => new Set(devices.map(({ id }) => id)).size < devices.length

type NodeChoice = { readonly nodeName?: string; readonly allNodes?: boolean; readonly nodeSelector?: NodeSelector }

function isWithin({ nodeName, allNodes, nodeSelector }: NodeChoice, node: DeviceNode): boolean {
  if (nodeName) return nodeName === node.name
  return allNodes === true || (nodeSelector !== undefined && nodesSelectedBy(nodeSelector)(node))
}

/** Whether a slice has something for a node. */
function isFor(spec: ResourceSliceSpec, node: DeviceNode): boolean {
  if (spec.nodeName || spec.allNodes || spec.nodeSelector) return isWithin(spec, node)
  return spec.perDeviceNodeSelection === true && (spec.devices ?? []).some(device => isWithin(device, node))
}

const isDeviceFor = (device: Device, { perDeviceNodeSelection }: ResourceSliceSpec, node: DeviceNode): boolean =>
  !perDeviceNodeSelection || isWithin(device, node)
