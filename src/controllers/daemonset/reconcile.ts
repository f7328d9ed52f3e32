/**
 * Plans the pods of a DaemonSet: one on each eligible node. Pods of an older template are replaced a few at a time:
 *
 *     without surge    an old pod is deleted ─→ it is gone ─→ a new one is created
 *     with surge       a new pod is created beside the old one ─→ it is available ─→ the old one is deleted
 */

import type { Notice } from '../../client/event-recorder.ts'
import type { DaemonSet } from '../../kinds/apps/daemonset.ts'
import type { Node } from '../../kinds/core/node.ts'
import type { Pod } from '../../kinds/core/pod/pod.ts'
import type { InEffect } from '../../kinds/rules/pod/scheduling/tolerance.ts'
import { scaledAmount } from '../../kinds/rules/workload.ts'
import { deepEqual } from '../../lib/json-value.ts'
import { isAvailable, isReady, isTerminal } from '../pods/pod-state.ts'
import { POD_REVISION_LABEL } from '../revisions/revision.ts'
import { isUpdated, placementOf, targetNode } from './placement.ts'

/** How many pods are created or deleted at a time. */
const BURST = 250

export type Situation = {
  readonly set: DaemonSet
  readonly nodes: readonly Node[]
  /** All pods that the set controls. */
  readonly pods: readonly Pod[]
  /** Which revision the current template is. */
  readonly hash: string
  readonly now: Date
  readonly inEffect: InEffect
}

export type PodPlan = {
  /** The nodes that get a pod. */
  readonly create: readonly string[]
  readonly remove: readonly Pod[]
}

type Daemons = ReadonlyMap<string, readonly Pod[]>

/** The pods by the node that they are on or for. Those that have ended and are being deleted are ignored. */
function daemonsByNode(pods: readonly Pod[]): Map<string, Pod[]> {
  const daemons = new Map<string, Pod[]>()
  for (const pod of pods) {
    const node = isTerminal(pod) && pod.metadata.deletionTimestamp ? undefined : targetNode(pod)
    if (node === undefined) continue
    const others = daemons.get(node)
    if (others) others.push(pod)
    else daemons.set(node, [pod])
  }
  for (const each of daemons.values()) each.sort(placedAndOlderFirst)
  return daemons
}

function placedAndOlderFirst(a: Pod, b: Pod): number {
  const [placed, other] = [Boolean(a.spec.nodeName), Boolean(b.spec.nodeName)]
  if (placed !== other) return placed ? -1 : 1
  return compare(a.metadata.creationTimestamp, b.metadata.creationTimestamp) || compare(a.metadata.name, b.metadata.name)
}

const compare = (a = '', b = ''): number => (a < b ? -1 : a > b ? 1 : 0)

export type Upkeep = PodPlan & {
  readonly events: readonly Notice[]
  /** The nodes whose failed pods are deleted now: the next ones there will have to wait. */
  readonly failedOn: readonly string[]
  /** In how many milliseconds failed pods may be deleted that have to wait now. */
  readonly waitMs: number | undefined
}

/** Which nodes lack a pod, and which pods have no place or have ended. `waitOn` says how long a failed pod stays on a node. */
export function planUpkeep(situation: Situation, waitOn: (node: string) => number): Upkeep {
  const { set, nodes, pods, inEffect } = situation
  const placement = placementOf(set, inEffect)
  const daemons = daemonsByNode(pods)
  const create: string[] = []
  const remove: Pod[] = []
  const events: Notice[] = []
  const failedOn: string[] = []
  let waitMs = Number.POSITIVE_INFINITY
  for (const node of nodes) {
    const name = node.metadata.name!
    const { mayStart, mayStay } = placement(node)
    const here = daemons.get(name)
    if (!here) {
      if (mayStart) create.push(name)
      continue
    }
    const staying = here.filter(({ metadata }) => !metadata.deletionTimestamp)
    if (!mayStay) {
      remove.push(...staying)
      continue
    }
    for (const pod of staying.filter(isTerminal)) {
      const hasFailed = pod.status.phase === 'Failed'
      const ms = hasFailed ? waitOn(name) : 0
      if (ms > 0) waitMs = Math.min(waitMs, ms)
      if (ms > 0) continue
      if (hasFailed) failedOn.push(name)
      events.push(endedEvent(pod, name))
      remove.push(pod)
    }
    const running = staying.filter(pod => !isTerminal(pod))
    remove.push(...superfluous(situation, running))
    // With surge, a pod that is being deleted does not keep the next one from starting.
    if (running.length === 0 && mayStart && allowsSurge(set)) create.push(name)
  }
  const known = new Set(nodes.map(({ metadata }) => metadata.name))
  for (const [node, here] of daemons) if (!known.has(node)) remove.push(...here.filter(({ spec }) => !spec.nodeName))
  return {
    create: create.slice(0, BURST),
    remove: remove.slice(0, BURST),
    events,
    failedOn,
    waitMs: Number.isFinite(waitMs) ? waitMs : undefined,
  }
}

function endedEvent({ metadata: { namespace, name }, status }: Pod, node: string): Notice {
  const pod = `daemon pod ${namespace}/${name} on node ${node}`
  return status.phase === 'Failed'
    ? { type: 'Warning', reason: 'FailedDaemonPod', message: `Found failed ${pod}, will try to kill it` }
    : { type: 'Normal', reason: 'SucceededDaemonPod', message: `Found succeeded ${pod}, will try to delete it` }
}

/** The running pods of a node, in order, that are too many: a node has one, or with surge an old one until the new one is available. */
function superfluous({ set, hash, now }: Situation, running: readonly Pod[]): Pod[] {
  if (running.length <= 1) return []
  if (!allowsSurge(set)) return running.slice(1)
  const isNew = ({ metadata }: Pod) => metadata.labels?.[POD_REVISION_LABEL] === hash
  const [newest, oldest] = [running.find(isNew), running.find(pod => !isNew(pod))]
  const remove = running.filter(pod => pod !== newest && pod !== oldest)
  const isReplaced = newest && oldest && (!isReady(oldest) || isAvailable(newest, set.spec.minReadySeconds ?? 0, now))
  return isReplaced ? [...remove, oldest] : remove
}

/** The part of a number of nodes that may have two pods, or none, during an update. */
function limitsOf({ spec: { updateStrategy } }: DaemonSet, desired: number): { surge: number; unavailable: number } {
  const { type, rollingUpdate } = updateStrategy
  if (type !== 'RollingUpdate' || !rollingUpdate) return { surge: 0, unavailable: 0 }
  const surge = scaledAmount(rollingUpdate.maxSurge ?? 0, desired, 'up')
  const unavailable = scaledAmount(rollingUpdate.maxUnavailable ?? 0, desired, 'up')
  return { surge, unavailable: desired > 0 && surge === 0 && unavailable === 0 ? 1 : unavailable }
}

const allowsSurge = (set: DaemonSet): boolean => limitsOf(set, 1).surge > 0

/** Which pods of older templates are replaced next; only when there is no upkeep. */
export function planUpdate(situation: Situation): PodPlan {
  const { set, nodes, pods, inEffect } = situation
  if (set.spec.updateStrategy.type !== 'RollingUpdate') return { create: [], remove: [] }
  const placement = placementOf(set, inEffect)
  const daemons = daemonsByNode(pods)
  const eligible = new Set(nodes.filter(node => placement(node).mayStart).map(({ metadata }) => metadata.name!))
  for (const name of eligible) if (!daemons.has(name)) daemons.set(name, [])
  const { surge, unavailable } = limitsOf(set, eligible.size)
  const { create, remove } =
    surge === 0 ? planReplacement(situation, daemons, unavailable) : planSurge(situation, daemons, { surge, eligible })
  return { create: create.slice(0, BURST), remove: remove.slice(0, BURST) }
}

/** The pod of the current template on a node and the one of an older; undefined when there are several of one kind. */
function pairOn({ set, hash }: Situation, here: readonly Pod[]): { newPod?: Pod; oldPod?: Pod } | undefined {
  const staying = here.filter(({ metadata }) => !metadata.deletionTimestamp)
  const newPods = staying.filter(pod => isUpdated(pod, set, hash))
  const oldPods = staying.filter(pod => !newPods.includes(pod))
  if (newPods.length > 1 || oldPods.length > 1) return undefined
  return { ...(newPods[0] && { newPod: newPods[0] }), ...(oldPods[0] && { oldPod: oldPods[0] }) }
}

/** Old pods that are not available go at once, others as far as that leaves enough. */
function planReplacement(situation: Situation, daemons: Daemons, most: number): PodPlan {
  const { set, now } = situation
  const isUp = (pod: Pod) => isAvailable(pod, set.spec.minReadySeconds ?? 0, now)
  const broken: Pod[] = []
  const candidates: Pod[] = []
  let unavailable = 0
  for (const here of daemons.values()) {
    const { newPod, oldPod } = pairOn(situation, here) ?? {}
    if (oldPod && !newPod && isUp(oldPod)) candidates.push(oldPod)
    else if (oldPod || !newPod || !isUp(newPod)) unavailable++
    if (oldPod && !newPod && !isUp(oldPod)) broken.push(oldPod)
  }
  return { create: [], remove: [...broken, ...candidates.slice(0, Math.max(most - unavailable, 0))] }
}

type Surge = { readonly surge: number; readonly eligible: ReadonlySet<string> }

/** New pods are created beside old ones as far as surge allows, and where the old one is not available anyhow. */
function planSurge(situation: Situation, daemons: Daemons, { surge, eligible }: Surge): PodPlan {
  const { set, now } = situation
  const isUp = (pod: Pod) => isAvailable(pod, set.spec.minReadySeconds ?? 0, now)
  const [replaced, leaving]: [Pod[], Pod[]] = [[], []]
  const [atOnce, candidates]: [string[], string[]] = [[], []]
  let [surging, available] = [0, 0]
  for (const [node, here] of daemons) {
    const pair = pairOn(situation, here)
    if (!pair) {
      surging++
      continue
    }
    const { newPod, oldPod } = pair
    const counted = oldPod ?? newPod
    if (counted && isUp(counted)) available++
    if (!oldPod) continue
    if (newPod) {
      if (isUp(newPod)) replaced.push(oldPod)
      else surging++
    } else if (!eligible.has(node)) (isUp(oldPod) ? leaving : replaced).push(oldPod)
    else (isUp(oldPod) ? candidates : atOnce).push(node)
  }
  // Pods whose node is not to have one any more stay until enough others are available.
  const deletable = Math.max(available - eligible.size, 0)
  return {
    create: [...atOnce, ...candidates.slice(0, Math.max(surge - surging, 0))],
    remove: [...replaced, ...leaving.slice(0, deletable)],
  }
}

/** The new status of a DaemonSet; undefined when nothing changes. */
export function statusOf({ set, nodes, pods, hash, now, inEffect }: Situation): DaemonSet['status'] | undefined {
  const placement = placementOf(set, inEffect)
  const daemons = daemonsByNode(pods)
  let [desired, current, misplaced, ready, updated, available] = [0, 0, 0, 0, 0, 0]
  for (const node of nodes) {
    const pod = daemons.get(node.metadata.name!)?.[0]
    if (!placement(node).mayStart) {
      if (pod) misplaced++
      continue
    }
    desired++
    if (!pod) continue
    current++
    if (isReady(pod)) ready++
    if (isAvailable(pod, set.spec.minReadySeconds ?? 0, now)) available++
    if (isUpdated(pod, set, hash)) updated++
  }
  const { updatedNumberScheduled: _, numberAvailable: __, numberUnavailable: ___, ...kept } = set.status
  const status = {
    ...kept,
    currentNumberScheduled: current,
    numberMisscheduled: misplaced,
    desiredNumberScheduled: desired,
    numberReady: ready,
    observedGeneration: set.metadata.generation ?? 0,
    ...(updated > 0 && { updatedNumberScheduled: updated }),
    ...(available > 0 && { numberAvailable: available }),
    ...(desired > available && { numberUnavailable: desired - available }),
  }
  return deepEqual(status, set.status) ? undefined : status
}
