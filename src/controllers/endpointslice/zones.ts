/** Reads the zones of a cluster, and their share of CPU, from nodes. */

import type { Node } from '../../kinds/core/node.ts'
import { milliValue, parseQuantity } from '../../lib/quantity.ts'
import { isConditionTrue } from '../../schema/conditions.ts'
import type { ZoneRatios } from './hints.ts'

export const ZONE = 'topology.kubernetes.io/zone'
const CONTROL_PLANE = ['node-role.kubernetes.io/control-plane', 'node-role.kubernetes.io/master']

export const isNodeReady = (node: Node | undefined): boolean => isConditionTrue(node?.status?.conditions, 'Ready')

/** The share of CPU of each zone among ready nodes that run workloads; undefined when some do not tell, or there is one zone alone. */
export function zoneRatiosOf(nodes: Iterable<Node>): ZoneRatios | undefined {
  const cpus = new Map<string, number>()
  for (const node of nodes) {
    const { labels = {} } = node.metadata
    if (CONTROL_PLANE.some(label => labels[label] !== undefined) || !isNodeReady(node)) continue
    const cpu = Number(milliValue(parseQuantity(node.status?.allocatable?.['cpu'] ?? '0')))
    if (!labels[ZONE] || cpu === 0) return undefined
    cpus.set(labels[ZONE], (cpus.get(labels[ZONE]) ?? 0) + cpu)
  }
  const total = [...cpus.values()].reduce((sum, cpu) => sum + cpu, 0)
  return cpus.size < 2 ? undefined : new Map(Array.from(cpus, ([zone, cpu]) => [zone, cpu / total]))
}
