/** Checks that the events of a store follow one another; a pair of `revision_order` and `history_complete` (`schema/assertions.ts`). */
import type { Assertion, Assertions } from '../schema/assertions.ts'
import type { StatusError } from '../schema/status-error.ts'
import type { Event, Revision } from '../storage/store.ts'

/** Events of the store contradict each other. */
export class WrongEvents extends Error {
  /** The error for the clients of the watches that end. */
  readonly failure: StatusError

  constructor(failure: StatusError) {
    super(failure.message)
    this.failure = failure
  }
}

export class EventOrder {
  readonly #assertions: Assertions
  readonly #isShared: boolean

  constructor(assertions: Assertions, { isShared = false }: { readonly isShared?: boolean }) {
    this.#assertions = assertions
    this.#isShared = isShared
  }

  /** Throws unless an event follows the last one. Several keys of a shared store may change in one revision, and some are not ours. */
  check({ key, revision, after }: Event, last: Revision): void {
    if (revision < last || (revision === last && !this.#isShared) || (after && after.modified !== revision))
      throw this.#wrong('revision_order', `after ${last} came ${key} at ${revision}${after ? `, written at ${after.modified}` : ''}`)
    if (revision !== last + 1 && !this.#isShared)
      throw this.#wrong('history_complete', `between ${last} and ${key} at ${revision} an event is missing`)
  }

  /** Throws unless a batch that claims to have all events up to a revision has. */
  checkEnd(revision: Revision, last: Revision): void {
    if (this.#isShared ? revision < last : revision !== last)
      throw this.#wrong('history_complete', `events up to ${last} came as all up to ${revision}`)
  }

  #wrong(assertion: Assertion, problem: string): WrongEvents {
    return new WrongEvents(this.#assertions.failed(assertion, problem))
  }
}
