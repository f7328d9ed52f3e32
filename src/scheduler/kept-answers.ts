/**
 * Answers to questions about the pods of all nodes, kept between decisions. An answer that was given before is brought up to date by
 * the pods that have come and gone since, so that it costs as much as has changed, not as much as there is:
 *
 *     placement 41   spreading of app=web?   counted over all nodes
 *     placement 42   spreading of app=web?   the same, and the pod of placement 41
 */
import type { NodeInfo } from './node-info.ts'
import type { PodInfo } from './pod-info.ts'

/** A pod that has come to a node or has left it. */
export type PodMove = { readonly pod: PodInfo; readonly node: NodeInfo; readonly sign: 1 | -1 }

export type Question<A> = {
  /** The same for questions that have the same answer. */
  readonly key: string
  /** Answers it from scratch. */
  readonly answer: () => A
  /** Takes one move into an answer. */
  readonly update: (answer: A, move: PodMove) => void
}

/** `upTo` is the number of moves that the answer has taken in. */
type Kept = { readonly answer: unknown; upTo: number }

/** How many moves are remembered: an answer that has missed more is given from scratch. */
const MAX_MOVES = 4096
/** How many answers are kept; the one that was not asked for longest goes first. */
const MAX_ANSWERS = 64

export class KeptAnswers {
  /** The last moves; number n is at n modulo their maximum. */
  readonly #moves: PodMove[] = []
  #count = 0
  readonly #answers = new Map<string, Kept>()

  moved(move: PodMove): void {
    this.#moves[this.#count++ % MAX_MOVES] = move
  }

  /** Nodes have come, gone, or changed in a way that answers may depend on: all of them are void. */
  nodesChanged(): void {
    this.#answers.clear()
  }

  /** The answer as of now. It is good until the next question, and must not be changed. */
  to<A>({ key, answer, update }: Question<A>): A {
    let kept = this.#answers.get(key)
    this.#answers.delete(key)
    if (kept && this.#count - kept.upTo <= MAX_MOVES) {
      for (; kept.upTo < this.#count; kept.upTo++) update(kept.answer as A, this.#moves[kept.upTo % MAX_MOVES]!)
    } else kept = { answer: answer(), upTo: this.#count }
    this.#answers.set(key, kept)
    if (this.#answers.size > MAX_ANSWERS) this.#answers.delete(this.#answers.keys().next().value!)
    return kept.answer as A
  }
}
