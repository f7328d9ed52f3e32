/** Scores nodes by how much of their resources is in use once a pod is there: the strategies of NodeResourcesFit and the balance. */

import type { NodeInfo } from './node-info.ts'
import { MAX_SCORE } from './plugin.ts'
import type { PodInfo } from './pod-info.ts'
import type { Resources } from './resources.ts'

/** A resource that counts, by its name in Kubernetes. */
export type WeightedResource = { readonly name: string; readonly weight: number }

/** A point of a broken line: the score, from 0 to 10, at a utilization in percent. */
export type ShapePoint = { readonly utilization: number; readonly score: number }

export type ScoringStrategy =
  | { readonly type: 'LeastAllocated' | 'MostAllocated'; readonly resources: readonly WeightedResource[] }
  | { readonly type: 'RequestedToCapacityRatio'; readonly resources: readonly WeightedResource[]; readonly shape: readonly ShapePoint[] }

export const CPU_AND_MEMORY: readonly WeightedResource[] = [
  { name: 'cpu', weight: 1 },
  { name: 'memory', weight: 1 },
]

/** The score of a node for a pod. Containers that name no CPU or memory count with an assumed amount. */
export function strategyScorer(strategy: ScoringStrategy): (pod: PodInfo) => (node: NodeInfo) => number {
  const meters = strategy.resources.map(resource => meterOf(resource, { isExact: false }))
  const scoreOf = resourceScore(strategy)
  // Only the ratio leaves out resources that score nothing, and rounds.
  const isRatio = strategy.type === 'RequestedToCapacityRatio'
  return pod => {
    const counted = countedFor(pod, meters)
    return node => {
      const { allocatable } = node
      let sum = 0
      let weights = 0
      for (let i = 0; i < counted.length; i++) {
        const meter = counted[i]!
        const capacity = amountIn(allocatable, meter)
        if (capacity <= 0) continue
        const { weight } = meter
        const score = scoreOf(usedOn(node, meter) + meter.requested, capacity)
        if (isRatio && score <= 0) continue
        sum += score * weight
        weights += weight
      }
      if (weights === 0) return 0
      return isRatio ? Math.round(sum / weights) : Math.floor(sum / weights)
    }
  }
}

/** The score of one resource, by how much of the capacity is in use. */
function resourceScore(strategy: ScoringStrategy): (used: number, capacity: number) => number {
  switch (strategy.type) {
    case 'LeastAllocated':
      return (used, capacity) => (used > capacity ? 0 : Math.floor(((capacity - used) * MAX_SCORE) / capacity))
    case 'MostAllocated':
      return (used, capacity) => Math.floor((Math.min(used, capacity) * MAX_SCORE) / capacity)
    case 'RequestedToCapacityRatio': {
      const lineAt = brokenLine(strategy.shape)
      return (used, capacity) => lineAt(used > capacity ? 100 : Math.floor((used * 100) / capacity))
    }
  }
}

/** The score, from 0 to 100, at a utilization in percent. */
export function brokenLine(shape: readonly ShapePoint[]): (utilization: number) => number {
  const points = shape.map(({ utilization, score }) => ({ utilization, score: score * 10 }))
  return utilization => {
    const next = points.findIndex(point => utilization <= point.utilization)
    if (next === 0) return points[0]!.score
    if (next < 0) return points.at(-1)!.score
    const [from, to] = [points[next - 1]!, points[next]!]
    return from.score + Math.trunc(((to.score - from.score) * (utilization - from.utilization)) / (to.utilization - from.utilization))
  }
}

/**
 * How much closer together a pod brings the shares of resources in use on a node. Undefined for a pod that asks for none of them: it
 * changes no balance, and scored, all such pods would go to the same node.
 */
export function balanceScorer(resources: readonly WeightedResource[]): (pod: PodInfo) => ((node: NodeInfo) => number) | undefined {
  const meters = resources.map(resource => meterOf(resource, { isExact: true }))
  return pod => {
    if (meters.every(meter => requestedBy(pod, meter) === 0)) return undefined
    const counted = countedFor(pod, meters)
    const deviationsOn = counted.length === 2 ? deviationsOfTwo(counted[0]!, counted[1]!) : deviationsOfMany(counted)
    return node => {
      const { before, after } = deviationsOn(node)
      const half = MAX_SCORE / 2
      return half + Math.trunc((half + balance(after) - balance(before)) / 2)
    }
  }
}

/** 100 for equal shares in use, less the further they are apart. */
const balance = (deviation: number): number => Math.trunc((1 - deviation) * MAX_SCORE)

/** How far the shares of resources in use are apart on a node, without the pod and with it. Resources that the node lacks do not count. */
type Deviations = (node: NodeInfo) => { readonly before: number; readonly after: number }

const EQUAL = { before: 0, after: 0 }

/** Two resources are usual, and every node is looked at. */
function deviationsOfTwo(one: Counted, other: Counted): Deviations {
  return node => {
    const { allocatable } = node
    const [capacity, otherCapacity] = [amountIn(allocatable, one), amountIn(allocatable, other)]
    if (capacity <= 0 || otherCapacity <= 0) return EQUAL
    const [used, otherUsed] = [usedOn(node, one), usedOn(node, other)]
    return {
      before: Math.abs((Math.min(1, used / capacity) - Math.min(1, otherUsed / otherCapacity)) / 2),
      after: Math.abs((Math.min(1, (used + one.requested) / capacity) - Math.min(1, (otherUsed + other.requested) / otherCapacity)) / 2),
    }
  }
}

function deviationsOfMany(counted: readonly Counted[]): Deviations {
  return node => {
    const there = counted.filter(meter => amountIn(node.allocatable, meter) > 0)
    const shares = (isAfter: boolean) =>
      there.map(meter => Math.min(1, (usedOn(node, meter) + (isAfter ? meter.requested : 0)) / amountIn(node.allocatable, meter)))
    return { before: deviation(shares(false)), after: deviation(shares(true)) }
  }
}

function deviation(shares: readonly number[]): number {
  if (shares.length < 2) return 0
  if (shares.length === 2) return Math.abs((shares[0]! - shares[1]!) / 2)
  const mean = shares.reduce((sum, share) => sum + share, 0) / shares.length
  return Math.sqrt(shares.reduce((sum, share) => sum + (share - mean) ** 2, 0) / shares.length)
}

/** How one resource of pods and nodes is read. */
type Meter = {
  readonly weight: number
  readonly name: string
  readonly kind: 'cpu' | 'memory' | 'ephemeral-storage' | 'scalar'
  /** Whether containers that name none count with an assumed amount. */
  readonly isAssumed: boolean
}
type Counted = Meter & { readonly requested: number }

/** `isExact`: without the assumed amounts of containers that name none. */
function meterOf({ name, weight }: WeightedResource, { isExact }: { readonly isExact: boolean }): Meter {
  const kind = name === 'cpu' || name === 'memory' || name === 'ephemeral-storage' ? name : 'scalar'
  return { weight, name, kind, isAssumed: !isExact && (kind === 'cpu' || kind === 'memory') }
}

function amountIn(resources: Resources, { kind, name }: Meter): number {
  switch (kind) {
    case 'cpu':
      return resources.cpu
    case 'memory':
      return resources.memory
    case 'ephemeral-storage':
      return resources.ephemeralStorage
    case 'scalar':
      return resources.scalars.get(name) ?? 0
  }
}

function usedOn({ requested, nonZero }: NodeInfo, meter: Meter): number {
  if (!meter.isAssumed) return amountIn(requested, meter)
  return meter.kind === 'cpu' ? nonZero.cpu : nonZero.memory
}

function requestedBy({ requests, nonZero }: PodInfo, meter: Meter): number {
  if (!meter.isAssumed) return amountIn(requests, meter)
  return meter.kind === 'cpu' ? nonZero.cpu : nonZero.memory
}

/** The resources that count for a pod, with how much of each it asks for. Those in pieces count only for pods that ask for them. */
const countedFor = (pod: PodInfo, meters: readonly Meter[]): readonly Counted[] =>
  meters.flatMap(meter => {
    const requested = requestedBy(pod, meter)
    // In this order all of them have one hidden class; they are read for every node.
    return requested === 0 && meter.kind === 'scalar' ? [] : [{ requested, ...meter }]
  })
