/** The resource usage of a node and its pods. */
import type { Node } from '../../kinds/core/node.ts'
import type { Pod } from '../../kinds/core/pod/pod.ts'
import { millisecondsAt } from '../../lib/time.ts'
import { type Measured, measure, OF_NODE } from './usage.ts'

/** A node and its pods at a time. */
export type Look = { readonly node: Node; readonly pods: readonly Pod[]; readonly now: number }

export type Running = { readonly pod: Pod; readonly containers: readonly Measured[] }

export function running({ pods, now }: Look): Running[] {
  return pods.flatMap(pod => {
    const containers = measure(pod, now)
    return containers ? [{ pod, containers }] : []
  })
}

export const bytesOf = (milli: bigint): number => Number(milli / 1000n)
export const total = (containers: readonly Measured[]) => ({
  cpuMs: containers.reduce((sum, { cpuMs }) => sum + cpuMs, 0),
  cpu: containers.reduce((sum, { amounts }) => sum + amounts.cpu, 0n),
  memory: containers.reduce((sum, { amounts }) => sum + amounts.memory, 0n),
})
const startOf = ({ metadata }: Node): number => millisecondsAt(metadata.creationTimestamp)

/** The usage of the node itself and its pods. */
export function wholeNode(look: Look) {
  const own = total(running(look).flatMap(({ containers }) => containers))
  const upMs = Math.max(0, look.now - startOf(look.node))
  return { cpuMs: own.cpuMs + (upMs * Number(OF_NODE.cpu)) / 1000, cpu: own.cpu + OF_NODE.cpu, memory: own.memory + OF_NODE.memory }
}
