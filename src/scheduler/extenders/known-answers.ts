/**
 * Searches for nodes that wait for nothing: they use the answers of extenders that are known. A search that needs another one ends with
 * `MissingAnswers`. The caller takes back its decisions, has the extenders asked, and decides again. So one decision about several pods
 * can depend on extenders, and yet is made at once.
 */
import type { Cycle } from '../plugin.ts'
import type { Placement, SchedulingParts } from '../schedule-pod.ts'
import type { Extenders } from './extenders.ts'
import { type Answer, answerTo, type Question } from './question.ts'

/** A decision needs answers that are not known. */
export class MissingAnswers extends Error {
  readonly questions: readonly Question[]

  constructor(questions: readonly Question[]) {
    super('answers of extenders are missing')
    this.questions = questions
  }
}

export class KnownAnswers {
  readonly #extenders: Pick<Extenders, 'search'>
  /** Keyed by verb, pod and nodes: the same question is asked once. */
  #known = new Map<Question['extender'], Map<string, Answer>>()

  constructor(extenders: Pick<Extenders, 'search'>) {
    this.#extenders = extenders
  }

  /** Throws MissingAnswers, and PluginError as `Extenders` does. */
  schedulePod(cycle: Cycle, parts: SchedulingParts): Placement {
    const search = this.#extenders.search(cycle, parts)
    let step = search.next()
    while (!step.done) {
      const missing = step.value.filter(question => !this.#answerTo(question))
      if (missing.length > 0) throw new MissingAnswers(missing)
      step = search.next(step.value.map(question => this.#answerTo(question)!))
    }
    return step.value
  }

  async ask({ questions }: MissingAnswers): Promise<void> {
    await Promise.all(
      questions.map(async question => {
        const { extender } = question
        const answer = await answerTo(question)
        let known = this.#known.get(extender)
        if (!known) this.#known.set(extender, (known = new Map()))
        known.set(keyOf(question), answer)
      }),
    )
  }

  #answerTo(question: Question): Answer | undefined {
    return this.#known.get(question.extender)?.get(keyOf(question))
  }
}

const keyOf = ({ verb, pod, nodes }: Question): string => [verb, pod.metadata.uid, ...nodes.map(({ metadata: { name } }) => name)].join(' ')
