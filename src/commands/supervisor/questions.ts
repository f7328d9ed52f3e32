/** Questions of one server process to all others, and their answers. */
import { startTimer, stopTimer, type Timer } from '../../lib/environment.ts'
import { type Answer, COUNTED, type ToProcess, type ToSupervisor } from '../../server/processes/messages.ts'

/** A process that takes longer is held up, as a server that does not answer its probes. */
const ANSWER_MS = 2_000

/** The part of a process that is used. */
type Member = { readonly number: number; send(message: ToProcess): void }

type PendingQuestion = {
  readonly by: Member
  /** The number that the asking process gave it. */
  readonly id: number
  readonly isAboutCounts: boolean
  readonly answers: Map<Member, string | undefined>
  readonly timer: Timer
}

export class Questions {
  readonly #asked = new Map<number, PendingQuestion>()
  #count = 0
  /** The metrics that each process has counted, as it said last. */
  readonly #counted = new Map<Member, string>()
  /** The metrics of processes that have ended. */
  #countedBefore: string | undefined

  ask({ id, topic, body }: Extract<ToSupervisor, { type: 'question' }>, by: Member, others: readonly Member[]): void {
    const number = ++this.#count
    const answers = new Map<Member, string | undefined>(others.map(each => [each, undefined]))
    const timer = startTimer(() => this.#finish(number), ANSWER_MS)
    const isAboutCounts = topic === COUNTED
    this.#asked.set(number, { by, id, isAboutCounts, answers, timer })
    if (isAboutCounts) this.#counted.set(by, body)
    for (const other of others) other.send({ type: 'question', id: number, topic, body: isAboutCounts ? '' : body })
    this.#look(number)
  }

  answer({ id, body }: Extract<ToSupervisor, { type: 'answer' }>, by: Member): void {
    const asked = this.#asked.get(id)
    if (!asked?.answers.has(by)) return
    asked.answers.set(by, body)
    if (asked.isAboutCounts) this.#counted.set(by, body)
    this.#look(id)
  }

  /** Nobody waits for the answers of a process that has ended. */
  gone(process: Member): void {
    const counted = this.#counted.get(process)
    this.#counted.delete(process)
    if (counted !== undefined) void this.#keep(counted)
    for (const [number, { answers }] of this.#asked) if (answers.delete(process)) this.#look(number)
  }

  #look(number: number): void {
    if ([...this.#asked.get(number)!.answers.values()].every(body => body !== undefined)) this.#finish(number)
  }

  #finish(number: number): void {
    const { by, id, isAboutCounts, answers, timer } = this.#asked.get(number)!
    stopTimer(timer)
    this.#asked.delete(number)
    const bodies = Array.from(answers, ([process, body]): Answer => ({ number: process.number, ...(body !== undefined && { body }) }))
    const before = isAboutCounts && this.#countedBefore !== undefined ? [{ number: 0, body: this.#countedBefore }] : []
    by.send({ type: 'answers', id, answers: [...bodies, ...before] })
  }

  async #keep(counted: string): Promise<void> {
    const { combinedFamilies, countersOf, familiesText, parseFamilies } = await import('../../lib/combined-families.ts')
    const texts = this.#countedBefore === undefined ? [counted] : [this.#countedBefore, counted]
    this.#countedBefore = familiesText(combinedFamilies(texts.map(text => countersOf(parseFamilies(text)))))
  }
}
