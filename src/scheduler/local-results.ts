/**
 * Results of the plugins that look at nothing but a node and the room that a pod takes, kept for the next pod that takes the same
 * room. After a placement one node has changed, so that one node is looked at again.
 */
import type { NodeRejection } from './diagnosis.ts'
import type { NodeInfo } from './node-info.ts'
import type { Cycle } from './plugin.ts'

/** Results by the slot of the node. One is known as long as the node is of the generation that it was found for. */
export class LocalResults {
  readonly #generations: number[] = []
  readonly #rejections: (NodeRejection | undefined)[] = []
  /** The sums of the weighted scores; NaN until one is needed. */
  readonly #scores: number[] = []

  isKnown({ slot, generation }: NodeInfo): boolean {
    return this.#generations[slot] === generation
  }

  /** Why the pod cannot be on a node whose result is known. */
  rejection({ slot }: NodeInfo): NodeRejection | undefined {
    return this.#rejections[slot]
  }

  setRejection({ slot, generation }: NodeInfo, rejection: NodeRejection | undefined): void {
    // Arrays without holes, whichever node comes first.
    for (let next = this.#generations.length; next < slot; next++) this.#set(next, NO_GENERATION, undefined)
    this.#set(slot, generation, rejection)
  }

  /** Undefined when it is not known. */
  score(node: NodeInfo): number | undefined {
    const score = this.#scores[node.slot]
    return score !== undefined && this.isKnown(node) && !Number.isNaN(score) ? score : undefined
  }

  setScore(node: NodeInfo, score: number): void {
    if (this.isKnown(node)) this.#scores[node.slot] = score
  }

  #set(slot: number, generation: number, rejection: NodeRejection | undefined): void {
    this.#generations[slot] = generation
    this.#rejections[slot] = rejection
    this.#scores[slot] = Number.NaN
  }
}

/** No node is ever of this generation. */
const NO_GENERATION = 0

/** For how many different rooms results are kept. */
const MAX_ROOMS = 32

export class KeptResults {
  readonly #byRoom = new Map<string, LocalResults>()

  /** The results that are known for pods that take the same room. */
  for(room: string): LocalResults {
    const known = this.#byRoom.get(room) ?? new LocalResults()
    this.#byRoom.delete(room)
    this.#byRoom.set(room, known)
    if (this.#byRoom.size > MAX_ROOMS) this.#byRoom.delete(this.#byRoom.keys().next().value!)
    return known
  }
}

/**
 * The room that a pod takes on a node, and which nodes it accepts, as a text. Undefined for pods that have room on their node and
 * want more.
 */
export function roomOf({ pod: { spec }, info, lookups }: Pick<Cycle, 'pod' | 'info' | 'lookups'>): string | undefined {
  const { requests, nonZero, ports, isResizeDeferred } = info
  if (isResizeDeferred) return undefined
  const { cpu, memory, ephemeralStorage } = requests
  // Devices may stand for a resource: a node then need not have it itself.
  const scalars = [...requests.scalars].map(([name, amount]) => [name, amount, lookups.devices.classes.behind(name) !== undefined])
  const accepted = [spec.nodeName, spec.nodeSelector, spec.affinity?.nodeAffinity, spec.tolerations]
  return JSON.stringify([cpu, memory, ephemeralStorage, scalars, nonZero.cpu, nonZero.memory, ports, accepted])
}
