/**
 * The claims of a pod whose volume depends on its node. For each node it is told which free volumes they would get there, and for
 * which a volume would have to be made; nothing is changed.
 */

import {
  annotationOf,
  bySize,
  candidatesFor,
  capacityOf,
  hasModes,
  isFullyBound,
  NO_PROVISIONER,
  nodesReaching,
  requestOf,
  SELECTED_NODE,
} from '../../kinds/rules/persistent-volume/binding.ts'
import type { NodeTest } from '../../kinds/rules/pod/scheduling/node-match.ts'
import { classOf } from '../../kinds/rules/storage-class.ts'
import type { StorageClass } from '../../kinds/storage/storageclass.ts'
import { getOwn } from '../../lib/json-value.ts'
import { compareQuantity, integerValue, parseQuantity, type Quantity } from '../../lib/quantity.ts'
import type { Claim, Lookups, Volume } from '../lookups.ts'
import type { NodeInfo } from '../node-info.ts'
import { type Labels, type Selector, selectorOf } from '../selector.ts'

const REASONS = {
  unreachable: "node(s) didn't match PersistentVolume's node affinity",
  noVolume: "node(s) didn't find available persistent volumes to bind",
  noSpace: 'node(s) did not have enough free storage',
  volumeGone: 'node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)',
} as const

export type Binding = { readonly claim: Claim; readonly volume: Volume }
export type Provision = { readonly claim: Claim; readonly capacity: Capacity | undefined }
/** The remaining capacity for a class that a node can reach. */
type Capacity = { readonly total: Quantity | undefined; readonly most: Quantity | undefined; readonly nodes: Selector }

/** The volumes of a pod on a node, or the reasons against that node. */
export type Choice =
  | { readonly reasons: readonly string[] }
  | { readonly bindings: readonly Binding[]; readonly provisions: readonly Provision[] }

export interface PodVolumes {
  on(node: NodeInfo): Choice
  /** Whether there is anything to be chosen. */
  readonly hasChoice: boolean
}

type Reach = NodeTest | undefined
/** A claim that is bound where its pod is. */
type Waiting = {
  readonly claim: Claim
  /** The node for which a volume is already being made. */
  readonly selected: string | undefined
  readonly meant: { readonly volume: Volume; readonly reach: Reach } | undefined
  /** Smallest first. */
  readonly free: readonly { readonly volume: Volume; readonly reach: Reach }[]
  /** Where a volume can be made; undefined when nobody makes one. */
  readonly made: Making | undefined
}
type Making = { readonly isAllowed: (labels: Labels) => boolean; readonly capacities: readonly Capacity[] | undefined }

/** Undefined when one of the claims should have a volume by now and has none. */
export function podVolumes(claims: readonly Claim[], lookups: Lookups): PodVolumes | undefined {
  const bound: (Reach | 'gone')[] = []
  const waiting: Waiting[] = []
  for (const claim of claims) {
    if (isFullyBound(claim)) {
      const volume = lookups.volume(claim.spec.volumeName ?? '')
      bound.push(volume ? nodesReaching(volume) : 'gone')
      continue
    }
    const storageClass = lookups.storageClass(classOf(claim) ?? '')
    if (claim.spec.volumeName || storageClass?.volumeBindingMode !== 'WaitForFirstConsumer') return undefined
    waiting.push(waitingClaim(claim, storageClass, lookups))
  }
  // Small requests first, so that they do not take the volumes that only others need.
  waiting.sort((a, b) => compareQuantity(requestOf(a.claim), requestOf(b.claim)))
  return { hasChoice: waiting.length > 0, on: node => choose(node, bound, waiting) }
}

function waitingClaim(claim: Claim, storageClass: StorageClass, lookups: Lookups): Waiting {
  const selected = annotationOf(claim, SELECTED_NODE)
  const found = selected === undefined ? candidatesFor(claim, lookups.volumes.ofClass(storageClass.metadata.name ?? '')) : undefined
  const { meant, free = [] } = found ?? {}
  return {
    claim,
    selected,
    meant: meant && { volume: meant, reach: nodesReaching(meant) },
    free: free
      .filter(({ volume }) => hasModes(claim, volume))
      .sort(bySize)
      .map(({ volume }) => ({ volume, reach: nodesReaching(volume) })),
    made: makingOf(claim, storageClass, lookups),
  }
}

function makingOf(claim: Claim, storageClass: StorageClass, lookups: Lookups): Making | undefined {
  const { provisioner, allowedTopologies, metadata } = storageClass
  if (!provisioner || provisioner === NO_PROVISIONER) return undefined
  const isAllowed = topologyTest(allowedTopologies ?? [])
  const isTracked = lookups.csiDriver(provisioner)?.spec?.storageCapacity === true && getOwn(claim.spec.resources.requests ?? {}, 'storage')
  if (!isTracked) return { isAllowed, capacities: undefined }
  const capacities: Capacity[] = []
  for (const { storageClassName, capacity, maximumVolumeSize, nodeTopology } of lookups.volumes.capacities()) {
    if (storageClassName !== metadata.name || !nodeTopology) continue
    const total = capacity === undefined ? undefined : parseQuantity(capacity)
    // The largest volume says more than all that is left.
    const most = maximumVolumeSize === undefined ? total : parseQuantity(maximumVolumeSize)
    if (most && integerValue(most) >= integerValue(requestOf(claim))) capacities.push({ total, most, nodes: selectorOf(nodeTopology) })
  }
  return { isAllowed, capacities }
}

type Terms = NonNullable<StorageClass['allowedTopologies']>
/** The nodes that match all of one term; without terms all do. */
function topologyTest(terms: Terms): (labels: Labels) => boolean {
  if (terms.length === 0) return () => true
  return labels =>
    terms.some(({ matchLabelExpressions: all = [] }) => {
      return all.length > 0 && all.every(({ key, values = [] }) => values.includes(getOwn(labels, key) ?? NOWHERE))
    })
}
const NOWHERE = '\0'

function choose(node: NodeInfo, bound: readonly (Reach | 'gone')[], waiting: readonly Waiting[]): Choice {
  const reasons: string[] = []
  let isGone = false
  for (const reach of bound) {
    isGone = reach === 'gone'
    if (isGone) break
    if (typeof reach === 'function' && !reach(node)) {
      reasons.push(REASONS.unreachable)
      break
    }
  }
  const chosen = chooseForWaiting(node, waiting)
  if ('reason' in chosen) reasons.push(chosen.reason)
  if (isGone) reasons.push(REASONS.volumeGone)
  return reasons.length > 0 || 'reason' in chosen ? { reasons } : chosen
}

function chooseForWaiting(node: NodeInfo, waiting: readonly Waiting[]) {
  const bindings: Binding[] = []
  const provisions: Provision[] = []
  const taken = new Set<string>()
  for (const { selected } of waiting) if (selected !== undefined && selected !== node.name) return { reason: REASONS.noVolume }
  for (const { claim, selected, meant, free, made } of waiting) {
    const found = selected === undefined ? volumeOn(node, { meant, free, taken }) : undefined
    if (found) {
      taken.add(found.metadata.name ?? '')
      bindings.push({ claim, volume: found })
      continue
    }
    if (!made?.isAllowed(node.labels)) return { reason: REASONS.noVolume }
    const capacity = made.capacities?.find(({ nodes }) => nodes.matches(node.labels))
    if (made.capacities && !capacity) return { reason: REASONS.noSpace }
    provisions.push({ claim, capacity })
  }
  return { bindings, provisions }
}

function volumeOn(node: NodeInfo, { meant, free, taken }: Pick<Waiting, 'meant' | 'free'> & { readonly taken: ReadonlySet<string> }) {
  const isGood = ({ volume, reach }: { readonly volume: Volume; readonly reach: Reach }) =>
    !taken.has(volume.metadata.name ?? '') && (!reach || reach(node))
  // One that is meant for the claim decides, also where the node cannot have it.
  if (meant) return isGood(meant) ? meant.volume : undefined
  return free.find(isGood)?.volume
}

/** How well the storage is used, from 0 to 100, by the score of a utilization. Volumes that are there count before those to be made. */
export function storageScore(choice: Choice, scoreAt: (utilization: number) => number): number {
  if ('reasons' in choice) return 0
  const byClass = new Map<string, { requested: bigint; capacity: bigint }>()
  const of = (claim: Claim) => {
    const name = classOf(claim) ?? ''
    const found = byClass.get(name) ?? { requested: 0n, capacity: 0n }
    byClass.set(name, found)
    return found
  }
  for (const { claim, volume } of choice.bindings) {
    const sum = of(claim)
    sum.requested += integerValue(requestOf(claim))
    sum.capacity += integerValue(capacityOf(volume))
  }
  if (choice.bindings.length === 0)
    for (const { claim, capacity } of choice.provisions) {
      if (!capacity?.total) continue
      const sum = of(claim)
      sum.requested += integerValue(requestOf(claim))
      sum.capacity = integerValue(capacity.total)
    }
  if (byClass.size === 0) return 0
  let total = 0
  for (const { requested, capacity } of byClass.values())
    total += scoreAt(capacity === 0n || requested > capacity ? 100 : Number((requested * 100n) / capacity))
  return Math.round(total / byClass.size)
}
