/** Computes the replicas that a metric recommends, with the arithmetic of Kubernetes' autoscaler. Amounts are integers in thousandths. */
import type { Pod } from '../../kinds/core/pod/pod.ts'
import { podRequests } from '../../kinds/rules/pod/resources/pod-requests.ts'
import { isPodLevelResource } from '../../kinds/rules/pod/resources/resource-rules.ts'
import { milliValue, parseQuantity } from '../../lib/quantity.ts'
import { millisecondsAt } from '../../lib/time.ts'
import { isReady, podCondition } from '../pods/pod-state.ts'

export type PodMetric = { readonly value: bigint; readonly timestampMs: number; readonly windowMs: number }
/** Metrics by the names of pods. */
export type PodMetrics = ReadonlyMap<string, PodMetric>

/** Differences within these parts of the target are left alone. */
export type Tolerances = { readonly down: number; readonly up: number }

/** Why a metric says nothing, for people. */
export class MetricError extends Error {}

export type Situation = {
  readonly pods: readonly Pod[]
  readonly tolerances: Tolerances
  readonly nowMs: number
  /** For so long after its start an unready pod, and its usage before it was ready, do not count. */
  readonly cpuInitializationMs: number
  /** A pod that has not become ready within this time of its start has never been ready. */
  readonly initialReadinessMs: number
  readonly usesPodLevel: boolean
}

const MAX_INT32 = 2 ** 31 - 1
const MAX_INT64 = 2n ** 63n - 1n

const isWithin = ({ down, up }: Tolerances, ratio: number) => 1 - down <= ratio && ratio <= 1 + up
const wholeUp = (count: number) => Math.min(Math.ceil(count), MAX_INT32)
/** Go's quotient of floats, where a zero below the line gives infinity or not a number. */
const ratioOf = (a: bigint, b: bigint) => Number(a) / Number(b)

export type Utilized = { readonly replicas: number; readonly utilization: number; readonly average: bigint }
export type Used = { readonly replicas: number; readonly usage: bigint }

/** A resource of pods, or of one container of each, with a target in percent of their requests. */
export function utilizationReplicas(
  current: number,
  measured: PodMetrics,
  {
    target,
    resource,
    container,
    ...situation
  }: Situation & { readonly target: number; readonly resource: string; readonly container: string },
): Utilized {
  const { pods } = situation
  if (pods.length === 0) throw new MetricError(NO_PODS)
  const { ready, unready, missing, metrics } = counted(measured, resource, situation)
  if (metrics.size === 0) throw new MetricError(NO_METRICS)
  const requests = new Map(pods.map(pod => [pod.metadata.name!, requestOf(pod, { resource, container, ...situation })]))
  const measure = (metrics: ReadonlyMap<string, bigint>) => utilizationOf(metrics, requests, target)
  const { ratio, utilization, average } = measure(metrics)
  const result = { utilization, average }
  const rest = { ready, unready, missing, tolerances: situation.tolerances }
  const full = BigInt(Math.max(100, target))
  const replicas = corrected(
    current,
    { metrics, ratio, ...rest },
    {
      // Shrinking, a pod that tells nothing is taken to use all that it requests.
      lacking: name => (requests.get(name)! * full) / 100n,
      measure: metrics => measure(metrics).ratio,
    },
  )
  return { replicas, ...result }
}

/** A metric of pods, aimed at as an average value. `resource` is empty where it is not one of theirs. */
export function averageReplicas(
  current: number,
  measured: PodMetrics,
  { target, resource, ...situation }: Situation & { readonly target: bigint; readonly resource: string },
): Used {
  if (situation.pods.length === 0) throw new MetricError(NO_PODS)
  const { ready, unready, missing, metrics } = counted(measured, resource, situation)
  if (metrics.size === 0) throw new MetricError(NO_METRICS)
  const usageOf = (metrics: ReadonlyMap<string, bigint>) => sum(metrics.values()) / BigInt(metrics.size)
  const usage = usageOf(metrics)
  const replicas = corrected(
    current,
    { metrics, ratio: ratioOf(usage, target), ready, unready, missing, tolerances: situation.tolerances },
    { lacking: () => target, measure: metrics => ratioOf(usageOf(metrics), target) },
  )
  return { replicas, usage }
}

/** One value for all pods together. From none, the value alone decides. */
export function valueReplicas(current: number, values: readonly bigint[], target: bigint, { pods, tolerances }: Situation): Used {
  const usage = capped(values)
  const ratio = ratioOf(usage, target)
  if (current === 0) return { replicas: wholeUp(ratio), usage }
  if (isWithin(tolerances, ratio)) return { replicas: current, usage }
  if (pods.length === 0) throw new MetricError(`unable to calculate ready pods: ${NO_PODS}`)
  const ready = pods.filter(pod => pod.status.phase === 'Running' && isReady(pod)).length
  return { replicas: wholeUp(ratio * ready), usage }
}

/** One value that is divided among all pods. */
export function dividedReplicas(observed: number, values: readonly bigint[], target: bigint, { tolerances }: Situation): Used {
  const total = capped(values)
  const ratio = Number(total) / (Number(target) * observed)
  const replicas = isWithin(tolerances, ratio) ? observed : wholeUp(ratioOf(total, target))
  return { replicas, usage: perPod(total, observed) }
}

function perPod(total: bigint, observed: number): bigint {
  const each = Math.ceil(Number(total) / observed)
  return total >= MAX_INT64 || !Number.isFinite(each) ? (total === 0n ? 0n : MAX_INT64) : BigInt(each)
}

const NO_PODS = 'no pods returned by selector while calculating replica count'
const NO_METRICS = 'did not receive metrics for targeted pods (pods might be unready)'

const sum = (values: Iterable<bigint>): bigint => {
  let total = 0n
  for (const value of values) total += value
  return total
}
const capped = (values: readonly bigint[]): bigint => {
  const total = sum(values)
  return total > MAX_INT64 ? MAX_INT64 : total
}

type Counted = {
  readonly ready: number
  readonly unready: readonly string[]
  readonly missing: readonly string[]
  /** The pods that count, and those without a metric. */
  readonly metrics: ReadonlyMap<string, bigint>
}

/** Which pods count: not those that end, nor those that are not ready yet; those that tell nothing are named. */
function counted(measured: PodMetrics, resource: string, situation: Situation): Counted {
  const ignored: string[] = []
  const unready: string[] = []
  const missing: string[] = []
  let ready = 0
  for (const pod of situation.pods) {
    const name = pod.metadata.name!
    const metric = measured.get(name)
    if (pod.metadata.deletionTimestamp || pod.status.phase === 'Failed') ignored.push(name)
    else if (pod.status.phase === 'Pending') unready.push(name)
    else if (!metric) missing.push(name)
    else if (resource === 'cpu' && isUnready(pod, metric, situation)) unready.push(name)
    else ready++
  }
  const left = new Set([...ignored, ...unready])
  const metrics = new Map([...measured].filter(([name]) => !left.has(name)).map(([name, { value }]) => [name, value]))
  return { ready, unready, missing, metrics }
}

/** A start costs processor time that says nothing about later. */
function isUnready(pod: Pod, { timestampMs, windowMs }: PodMetric, { nowMs, cpuInitializationMs, initialReadinessMs }: Situation): boolean {
  const condition = podCondition(pod, 'Ready')
  const { startTime } = pod.status
  if (!condition || !startTime) return true
  const [startedMs, changedMs] = [millisecondsAt(startTime), millisecondsAt(condition.lastTransitionTime)]
  const isNotReady = condition.status === 'False'
  if (startedMs + cpuInitializationMs > nowMs) return isNotReady || timestampMs < changedMs + windowMs
  return isNotReady && startedMs + initialReadinessMs > changedMs
}

type Correction = {
  readonly metrics: ReadonlyMap<string, bigint>
  readonly ratio: number
  readonly ready: number
  readonly unready: readonly string[]
  readonly missing: readonly string[]
  readonly tolerances: Tolerances
}
type Supplement = {
  /** The assumed usage of a pod without a metric when the size would shrink. */
  readonly lacking: (name: string) => bigint
  readonly measure: (metrics: ReadonlyMap<string, bigint>) => number
}

/** The number that a ratio asks for, with the pods that tell nothing counted so that they slow the change down, and never turn it around. */
function corrected(current: number, { metrics, ratio, ready, unready, missing, tolerances }: Correction, supplement: Supplement): number {
  const growsUnready = unready.length > 0 && ratio > 1
  if (!growsUnready && missing.length === 0) return isWithin(tolerances, ratio) ? current : wholeUp(ratio * ready)
  const all = new Map(metrics)
  if (ratio < 1) for (const name of missing) all.set(name, supplement.lacking(name))
  else if (ratio > 1) for (const name of missing) all.set(name, 0n)
  if (growsUnready) for (const name of unready) all.set(name, 0n)
  const now = supplement.measure(all)
  if (isWithin(tolerances, now) || (ratio < 1 && now > 1) || (ratio > 1 && now < 1)) return current
  const replicas = wholeUp(now * all.size)
  return (now < 1 && replicas > current) || (now > 1 && replicas < current) ? current : replicas
}

function utilizationOf(metrics: ReadonlyMap<string, bigint>, requests: ReadonlyMap<string, bigint>, target: number) {
  let [used, requested, count] = [0n, 0n, 0n]
  for (const [name, value] of metrics) {
    const request = requests.get(name)
    if (request === undefined) continue
    used += value
    requested += request
    count++
  }
  if (requested === 0n) throw new MetricError('no metrics returned matched known pods')
  const utilization = Number((used * 100n) / requested)
  return { ratio: utilization / target, utilization: Math.min(utilization, MAX_INT32), average: used / count }
}

type Requested = Pick<Situation, 'usesPodLevel'> & { readonly resource: string; readonly container: string }

/** The request of a pod, or of one of its containers, for a resource. */
function requestOf(pod: Pod, { resource, container, usesPodLevel }: Requested): bigint {
  const { name } = pod.metadata
  const { containers = [], initContainers = [], resources } = pod.spec
  if (usesPodLevel && container === '' && Object.keys(resources?.requests ?? {}).some(isPodLevelResource)) {
    const found = podRequests(pod as Parameters<typeof podRequests>[0]).get(resource)
    if (!found) throw new MetricError(`missing pod-level request for ${resource} in Pod ${name}`)
    return milliValue(found)
  }
  let total = 0n
  for (const each of [...containers, ...initContainers.filter(({ restartPolicy }) => restartPolicy === 'Always')]) {
    if (container !== '' && container !== each.name) continue
    const requests: Readonly<Record<string, string>> = each.resources?.requests ?? {}
    if (!Object.hasOwn(requests, resource))
      throw new MetricError(`missing request for ${resource} in container ${each.name} of Pod ${name}`)
    total += milliValue(parseQuantity(requests[resource]!))
    if (container !== '') return total
  }
  if (container !== '') throw new MetricError(`container ${container} not found in Pod ${name}`)
  return total
}
