/** A node fits if the requested resources are free on it; the node with more free resources scores higher. */

import { isDeviceResource } from '../../devices/extended-resources.ts'
import type { Node } from '../../kinds/core/node.ts'
import { NodeInfo } from '../node-info.ts'
import { type Cycle, MAX_SCORE, type Plugin, type Rejection } from '../plugin.ts'
import { allocatableOf, type Resources, requestsOf } from '../resources.ts'

export const nodeResourcesFit: Plugin = {
  name: 'NodeResourcesFit',
  isLocal: true,
  weight: 1,
  filter({ info: { requests }, lookups }) {
    // Resources that devices stand for are looked after by another plugin, on nodes that do not have them themselves.
    const isElsewhere = (name: string) => isDeviceResource(name) && lookups.devices.classes.behind(name) !== undefined
    return { test: node => insufficiencyOf(requests, node, isElsewhere) }
  },
  score: ({ info: { nonZero } }) => ({
    score({ allocatable, nonZero: used }) {
      let [sum, parts] = [0, 0]
      for (const name of SCORED)
        if (allocatable[name] > 0) {
          sum += freeShare(used[name] + nonZero[name], allocatable[name])
          parts++
        }
      return parts === 0 ? 0 : Math.floor(sum / parts)
    },
  }),
  queueingHints: {
    'pod deleted': () => true,
    'pod scaled down': (pod, event) =>
      event.about === 'pod' &&
      event.before !== undefined &&
      event.after !== undefined &&
      frees(pod, event.before.requests, event.after.requests),
    'self scaled down': () => true,
    'node added': (pod, event, context) => event.about === 'node' && fitsEmpty(requestsOf(pod).requests, event.after, context),
    'node allocatable': (pod, event, context) => {
      if (event.about !== 'node') return false
      const { requests } = requestsOf(pod)
      return fitsEmpty(requests, event.after, context) && grew(requests, event.before, event.after)
    },
    'deviceClass changed': (pod, _, { lookups }) =>
      [...requestsOf(pod).requests.scalars.keys()].some(name => isDeviceResource(name) && lookups.devices.classes.behind(name)),
  },
}

/** All that is missing on the node; undefined when the pod fits. */
function insufficiencyOf(
  requests: Resources,
  { pods, requested, allocatable }: NodeInfo,
  isElsewhere: (name: string) => boolean = () => false,
): Rejection | undefined {
  let reasons: string[] | undefined
  let isUnresolvable = false
  const lacks = (reason: string, isMoreThanThereIs: boolean) => {
    ;(reasons ??= []).push(reason)
    isUnresolvable ||= isMoreThanThereIs
  }
  if (pods.size + 1 > allocatable.pods) lacks('Too many pods', false)
  for (const [name, label] of COMPUTE)
    if (requests[name] > 0 && requests[name] > allocatable[name] - requested[name])
      lacks(`Insufficient ${label}`, requests[name] > allocatable[name])
  for (const [name, amount] of requests.scalars) {
    const there = allocatable.scalars.get(name) ?? 0
    if (there === 0 && isElsewhere(name)) continue
    if (amount > 0 && amount > there - (requested.scalars.get(name) ?? 0)) lacks(`Insufficient ${name}`, amount > there)
  }
  return reasons && { reasons, isUnresolvable }
}

const SCORED = ['cpu', 'memory'] as const
const COMPUTE = [
  ['cpu', 'cpu'],
  ['memory', 'memory'],
  ['ephemeralStorage', 'ephemeral-storage'],
] as const

const freeShare = (used: number, capacity: number): number => (used > capacity ? 0 : Math.floor(((capacity - used) * MAX_SCORE) / capacity))

/** Whether a node without pods would do. */
function fitsEmpty(requests: Resources, node: Node | undefined, { lookups }: Pick<Cycle, 'lookups'>): boolean {
  if (!node) return false
  const empty = new NodeInfo('')
  empty.node = node
  return insufficiencyOf(requests, empty, name => lookups.devices.classes.behind(name) !== undefined) === undefined
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
