/** Why a pod has no node: what each node was rejected for, and the text that says so. */
import type { Rejection } from './plugin.ts'

export type NodeRejection = Rejection & { readonly plugin: string }

export type Diagnosis = {
  readonly nodes: number
  /** Why there is no node for the pod, whichever it is. */
  readonly general?: Rejection
  readonly byNode: ReadonlyMap<string, NodeRejection>
  /** Why the nodes that are not listed are out of the question. */
  readonly others?: Rejection
  /** The plugins that have rejected the pod: their queueing hints decide when it is tried again. */
  readonly rejectors: ReadonlySet<string>
}

/** `0/3 nodes are available: 1 Insufficient cpu, 2 node(s) had untolerated taint(s).` */
export function describe(
  { nodes, general, byNode, others }: Pick<Diagnosis, 'nodes' | 'general' | 'byNode' | 'others'>,
  more = '',
): string {
  const start = `0/${nodes} nodes are available:`
  const reasons = general ? general.reasons.join(', ') : countReasons({ nodes, byNode, others }).join(', ')
  return `${start}${reasons && ` ${reasons}.`}${more && ` ${more}`}`
}

function countReasons({ nodes, byNode, others }: { nodes: number; byNode: Diagnosis['byNode']; others: Rejection | undefined }): string[] {
  const counts = new Map<string, number>()
  const count = (reason: string, by: number) => counts.set(reason, (counts.get(reason) ?? 0) + by)
  for (const { reasons } of byNode.values()) for (const reason of reasons) count(reason, 1)
  if (byNode.size < nodes) for (const reason of others?.reasons ?? []) count(reason, nodes - byNode.size)
  return [...counts].map(([reason, number]) => `${number} ${reason}`).sort(byBytes)
}

const byBytes = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b))
