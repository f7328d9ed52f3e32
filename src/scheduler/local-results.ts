/**
 * Results of the plugins that look at nothing but a node and the room that a pod takes, kept for the next pod that takes the same
 * room. After a placement one node has changed, so that one node is looked at again.
 */
import type { Pod } from '../kinds/core/pod/pod.ts'
import type { NodeRejection } from './diagnosis.ts'
import type { NodeInfo } from './node-info.ts'
import type { PodInfo } from './pod-info.ts'

/** The result on one node, as of a generation of it. */
export type LocalResult = {
  readonly generation: number
  readonly rejection: NodeRejection | undefined
  /** The sum of the weighted scores; undefined until it was needed. */
  score: number | undefined
}

/** Results by node. */
export type LocalResults = Map<NodeInfo, LocalResult>

/** For how many different rooms results are kept. */
const MAX_ROOMS = 32

export class KeptResults {
  readonly #byRoom = new Map<string, LocalResults>()

  /** The results that are known for pods that take the same room, in a cluster with so many nodes. */
  for(room: string, nodes: number): LocalResults {
    const known = this.#byRoom.get(room) ?? new Map<NodeInfo, LocalResult>()
    // Most of them are about nodes that are gone.
    if (known.size > 2 * nodes) known.clear()
    this.#byRoom.delete(room)
    this.#byRoom.set(room, known)
    if (this.#byRoom.size > MAX_ROOMS) this.#byRoom.delete(this.#byRoom.keys().next().value!)
    return known
  }
}

/**
 * The room that a pod takes on a node, and which nodes it accepts, as a text. Undefined for pods with resources beside CPU, memory
 * and storage: what they mean depends on the classes of devices. Undefined also for pods that have room on their node and want more.
 */
export function roomOf({ spec }: Pod, { requests, nonZero, ports, isResizeDeferred }: PodInfo): string | undefined {
  if (requests.scalars.size > 0 || isResizeDeferred) return undefined
  const { cpu, memory, ephemeralStorage } = requests
  const accepted = [spec.nodeName, spec.nodeSelector, spec.affinity?.nodeAffinity, spec.tolerations]
  return JSON.stringify([cpu, memory, ephemeralStorage, nonZero.cpu, nonZero.memory, ports, accepted])
}
