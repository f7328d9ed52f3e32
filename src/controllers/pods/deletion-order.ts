/** Ranks the pods of a workload for deletion when there are too many. */
import type { Pod } from '../../kinds/core/pod/pod.ts'
import { millisecondsAt } from '../../lib/time.ts'
import { isActive, isReady, readySince } from './pod-state.ts'

const DELETION_COST = 'controller.kubernetes.io/pod-deletion-cost'
const PHASES: Readonly<Record<string, number>> = { Pending: 0, Unknown: 1, Running: 2 }

/** Below zero when the first pod is to be deleted before the second. */
type Order = (a: Ranked, b: Ranked) => number
type Ranked = {
  readonly pod: Pod
  /** How many active pods of the same or of related workloads are on its node. */
  readonly neighbours: number
  readonly isReady: boolean
  readonly readySince: number
  readonly created: number
}

export type DeletionOptions = {
  readonly count: number
  readonly now: Date
  /** Whether the annotation that says what a deletion costs counts. */
  readonly countsCost: boolean
}

/**
 * As many of the pods as are to be deleted, the first ones first. `related` are the pods of the workload and of others with the same
 * controller: pods that share their node with many of them go earlier.
 */
export function podsToDelete(pods: readonly Pod[], related: Iterable<Pod>, options: DeletionOptions): Pod[] {
  const { count, now, countsCost } = options
  if (count >= pods.length) return [...pods]
  const onNode = new Map<string, number>()
  for (const pod of related) if (isActive(pod)) onNode.set(pod.spec.nodeName ?? '', (onNode.get(pod.spec.nodeName ?? '') ?? 0) + 1)
  return pods
    .map(pod => rank(pod, onNode.get(pod.spec.nodeName ?? '') ?? 0))
    .sort(inOrder(byUse(now.getTime(), countsCost)))
    .slice(0, count)
    .map(({ pod }) => pod)
}

/** All pods, those first that have achieved least: of a workload that has no use for some of them, whatever they cost. */
export function earliestFirst(pods: Iterable<Pod>): Pod[] {
  return Array.from(pods, pod => rank(pod, 0))
    .sort(inOrder(BY_PROGRESS))
    .map(({ pod }) => pod)
}

const rank = (pod: Pod, neighbours: number): Ranked => ({
  pod,
  neighbours,
  isReady: isReady(pod),
  readySince: readySince(pod) ?? 0,
  created: millisecondsAt(pod.metadata.creationTimestamp),
})

/** One rule after the other until one tells two pods apart. */
const inOrder =
  (orders: readonly Order[]): Order =>
  (a, b) => {
    for (const order of orders) {
      const difference = order(a, b)
      if (difference !== 0) return difference
    }
    return 0
  }

const BY_STATE: readonly Order[] = [
  (a, b) => first(Boolean(a.pod.spec.nodeName), Boolean(b.pod.spec.nodeName)),
  (a, b) => phaseOf(a.pod) - phaseOf(b.pod),
  (a, b) => first(a.isReady, b.isReady),
]
const BY_RESTARTS: readonly Order[] = [
  (a, b) => restarts(b.pod) - restarts(a.pod),
  (a, b) => sidecarRestarts(b.pod) - sidecarRestarts(a.pod),
]
const BY_COST: Order = (a, b) => deletionCost(a.pod) - deletionCost(b.pod)
const byUse = (now: number, countsCost: boolean): Order[] => [
  ...BY_STATE,
  ...(countsCost ? [BY_COST] : []),
  (a, b) => b.neighbours - a.neighbours,
  (a, b) => (a.isReady ? byAge(a.readySince, b.readySince, a, b, now) : 0),
  ...BY_RESTARTS,
  (a, b) => byAge(a.created, b.created, a, b, now),
]
const BY_PROGRESS: readonly Order[] = [
  ...BY_STATE,
  (a, b) => (a.isReady ? younger(a.readySince, b.readySince) : 0),
  ...BY_RESTARTS,
  (a, b) => younger(a.created, b.created),
]

/** The pod for which something does not hold is first. */
const first = (a: boolean, b: boolean): number => Number(a) - Number(b)

const phaseOf = ({ status }: Pod): number => PHASES[status.phase ?? ''] ?? 0

/** Younger ones first, before them those of unknown age. */
const younger = (a: number, b: number): number => (a === b ? 0 : a === 0 || (b !== 0 && a > b) ? -1 : 1)

/** Younger ones first, where ages of the same magnitude count as equal; among those, uids decide. */
function byAge(a: number, b: number, { pod }: Ranked, { pod: other }: Ranked, now: number): number {
  if (a === b || a === 0 || b === 0) return younger(a, b)
  return magnitude(now - a) - magnitude(now - b) || ((pod.metadata.uid ?? '') < (other.metadata.uid ?? '') ? -1 : 1)
}

const NANOSECONDS = 1e6
const magnitude = (ms: number): number => (ms > 0 ? Math.trunc(Math.log2(ms * NANOSECONDS)) : -1)

/** The deletion cost in the annotation of a pod; 0 when it is no 32-bit integer. */
function deletionCost({ metadata }: Pod): number {
  const text = metadata.annotations?.[DELETION_COST] ?? ''
  const cost = /^(0|-?[1-9][0-9]*)$/.test(text) ? Number(text) : 0
  return cost >= -(2 ** 31) && cost < 2 ** 31 ? cost : 0
}

const mostRestarts = (statuses: readonly { restartCount?: number }[]): number =>
  statuses.reduce((most, { restartCount = 0 }) => Math.max(most, restartCount), 0)

const restarts = ({ status }: Pod): number => mostRestarts(status.containerStatuses ?? [])

function sidecarRestarts({ spec, status }: Pod): number {
  const sidecars = new Set(spec.initContainers?.filter(({ restartPolicy }) => restartPolicy === 'Always').map(({ name }) => name))
  return mostRestarts((status.initContainerStatuses ?? []).filter(({ name }) => sidecars.has(name)))
}
