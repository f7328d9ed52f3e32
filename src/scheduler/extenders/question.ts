/** Questions to extenders about nodes for a pod, and their answers as values, so that a search for a node can go on with known answers. */
import type { Node } from '../../kinds/core/node.ts'
import type { Pod } from '../../kinds/core/pod/pod.ts'
import { messageOf } from '../../lib/error-message.ts'
import type { Extender, FilterAnswer } from './extender.ts'

export type Question = {
  readonly verb: 'filter' | 'prioritize'
  readonly extender: Extender
  readonly pod: Pod
  readonly nodes: readonly Node[]
}

export type Answer =
  | { readonly verb: 'filter'; readonly value: FilterAnswer }
  | { readonly verb: 'prioritize'; readonly value: ReadonlyMap<string, number> }
  /** There is no usable answer. */
  | { readonly verb: 'none'; readonly message: string }

/** Asks questions, takes an answer to each in their order, and ends with a result. */
export type Questioning<Result> = Generator<readonly Question[], Result, readonly Answer[]>

/** Asks the extender. Never rejects. */
export async function answerTo({ verb, extender, pod, nodes }: Question): Promise<Answer> {
  try {
    return verb === 'filter' ? { verb, value: await extender.filter(pod, nodes) } : { verb, value: await extender.prioritize(pod, nodes) }
  } catch (error) {
    return { verb: 'none', message: messageOf(error) }
  }
}
