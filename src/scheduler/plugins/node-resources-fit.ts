/** A node fits if the requested resources are free on it; the node with more free resources scores higher. */

import type { Node } from '../../kinds/core/node.ts'
import type { Pod } from '../../kinds/core/pod/pod.ts'
import { isExtendedResourceName } from '../../kinds/rules/pod/resources/resource-rules.ts'
import type { Lookups } from '../lookups.ts'
import { NodeInfo } from '../node-info.ts'
import type { Cycle, Plugin, Rejection } from '../plugin.ts'
import { isResizeDeferred } from '../pod-info.ts'
import { CPU_AND_MEMORY, type ScoringStrategy, strategyScorer } from '../resource-scoring.ts'
import { allocatableOf, type Resources, requestsOf } from '../resources.ts'
import { COMPUTE, Shortages } from '../room.ts'

export type FitArgs = {
  /** Extended resources, and the groups of such, that others look after: they are not compared. */
  readonly ignoredResources?: readonly string[]
  readonly ignoredResourceGroups?: readonly string[]
  readonly scoringStrategy: ScoringStrategy
}

export function nodeResourcesFitWith({ ignoredResources = [], ignoredResourceGroups = [], scoringStrategy }: FitArgs): Plugin {
  const [names, groups] = [new Set(ignoredResources), new Set(ignoredResourceGroups)]
  const isIgnored = (name: string) =>
    names.size + groups.size > 0 && isExtendedResourceName(name) && (names.has(name) || groups.has(name.split('/', 1)[0]!))
  const scorerFor = strategyScorer(scoringStrategy)
  return {
    name: 'NodeResourcesFit',
    isLocal: true,
    seesResizes: true,
    weight: 1,
    filter({ pod, info, lookups }) {
      // The requests of a pod on a node count that node's status too, and a resize is about the spec.
      const isResize = info.isResizeDeferred
      const requests = isResize ? requestsOf({ spec: pod.spec }).requests : info.requests
      const ownOn = ({ pods }: NodeInfo) => (isResize ? pods.get(info.uid)?.requests : undefined)
      const isElsewhere = elsewhereIn(lookups)
      return { test: node => insufficiencyOf(requests, node, { isIgnored, isElsewhere, own: ownOn(node) }) }
    },
    score: ({ info }) => ({ score: scorerFor(info) }),
    queueingHints: {
      'pod deleted': (pod, event) => event.about === 'pod' && isWhereRoomHelps(pod, event.before?.nodeName),
      'pod scaled down': (pod, event) =>
        event.about === 'pod' &&
        event.before !== undefined &&
        event.after !== undefined &&
        isWhereRoomHelps(pod, event.after.nodeName) &&
        frees(pod, event.before.requests, event.after.requests),
      // A resize for which there was room needs others to leave when they take that room, or when it wants more.
      'pod scaled up': (pod, event) => event.about === 'pod' && isResizeDeferred(pod) && isWhereRoomHelps(pod, event.after?.nodeName),
      'self scaled down': () => true,
      'node added': (pod, event, context) =>
        event.about === 'node' &&
        isWhereRoomHelps(pod, event.after?.metadata.name) &&
        fitsEmpty(requestsOf(pod).requests, event.after, { ...context, isIgnored }),
      'node allocatable': (pod, event, context) => {
        if (event.about !== 'node' || !isWhereRoomHelps(pod, event.after?.metadata.name)) return false
        const { requests } = requestsOf(pod)
        return fitsEmpty(requests, event.after, { ...context, isIgnored }) && grew(requests, event.before, event.after)
      },
      'deviceClass changed': (pod, _, { lookups }) => [...requestsOf(pod).requests.scalars.keys()].some(elsewhereIn(lookups)),
    },
  }
}

export const nodeResourcesFit = nodeResourcesFitWith({ scoringStrategy: { type: 'LeastAllocated', resources: CPU_AND_MEMORY } })

/** Resources that devices stand for are looked after by another plugin, on nodes that do not have them themselves. */
const elsewhereIn =
  (lookups: Lookups) =>
  (name: string): boolean =>
    lookups.devices.classes.behind(name) !== undefined

/** A pod that wants more room has it on its own node, and on no other. */
const isWhereRoomHelps = (pod: Pod, node: string | undefined): boolean => !isResizeDeferred(pod) || pod.spec.nodeName === node

type Exceptions = {
  readonly isIgnored: (name: string) => boolean
  /** Whether a resource may be had even where the node has none. */
  readonly isElsewhere: (name: string) => boolean
  /** The share of the requests on the node that is the pod's own, if it is there already. */
  readonly own?: Resources | undefined
}

/** All that is missing on the node; undefined when the pod fits. */
function insufficiencyOf(requests: Resources, node: NodeInfo, { isIgnored, isElsewhere, own }: Exceptions): Rejection | undefined {
  const shortages = new Shortages()
  if (node.pods.size + 1 > node.allocatable.pods) shortages.add('Too many pods', { isMoreThanThereIs: false })
  const counts = (name: string, there: number) => !isIgnored(name) && !(there === 0 && isElsewhere(name))
  shortages.addMissing(requests, node, { counts, own })
  return shortages.rejection
}

/** Whether a node without pods would do. */
function fitsEmpty(
  requests: Resources,
  node: Node | undefined,
  { lookups, isIgnored }: Pick<Cycle, 'lookups'> & Pick<Exceptions, 'isIgnored'>,
): boolean {
  if (!node) return false
  const empty = new NodeInfo('')
  empty.node = node
  return insufficiencyOf(requests, empty, { isIgnored, isElsewhere: elsewhereIn(lookups) }) === undefined
}

/** Whether more of a requested resource became available. */
function grew(requests: Resources, before: Node | undefined, after: Node | undefined): boolean {
  const [old, now] = [allocatableOf(before?.status?.allocatable), allocatableOf(after?.status?.allocatable)]
  if (now.pods > old.pods) return true
  if (COMPUTE.some(([name]) => requests[name] > 0 && now[name] > old[name])) return true
  return [...requests.scalars].some(([name, amount]) => amount > 0 && (now.scalars.get(name) ?? 0) > (old.scalars.get(name) ?? 0))
}

/** Whether a pod that now asks for less gives back something that another one asks for. */
function frees(pod: Parameters<typeof requestsOf>[0], before: Resources, after: Resources): boolean {
  const { requests } = requestsOf(pod)
  if (COMPUTE.some(([name]) => requests[name] > 0 && before[name] > after[name])) return true
  return [...requests.scalars].some(([name, amount]) => amount > 0 && (before.scalars.get(name) ?? 0) > (after.scalars.get(name) ?? 0))
}
