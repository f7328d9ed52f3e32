/**
 * Assertions in pairs: a property of records is checked when one is written, and again when it is read, each time from the data at hand.
 * A bug of the server, of its store or of a disk then shows where it happens, and not later in its consequences. The checks are cheap and
 * always on: a request that fails one is answered with 500 and the reason, and the failure is counted and logged.
 *
 * | assertion | when written | when read |
 * |---|---|---|
 * | revision_order | a write gets a later revision than the object it replaces | events of the store come in the order of revisions |
 * | history_complete | a write is among the events once its revision is reached | no revision is missing between two events |
 * | owned_once | no field manager has two entries in an object that is stored | nor in an object that is about to be replaced |
 * | allocated_once | an item that is given to an object is nobody else's | an item that an object has is nobody else's |
 */
import type { Family } from '../lib/exposition.ts'
import { internalError, outcomeUnknown, type StatusError } from './status-error.ts'

const ASSERTIONS = ['revision_order', 'history_complete', 'owned_once', 'allocated_once'] as const
export type Assertion = (typeof ASSERTIONS)[number]

export class Assertions {
  readonly #report: (assertion: Assertion, problem: string) => void
  readonly #failures = new Map<Assertion, number>(ASSERTIONS.map(name => [name, 0]))

  constructor(report: (assertion: Assertion, problem: string) => void = () => {}) {
    this.#report = report
  }

  /** Counts and reports a failure. The error is for the request; `isStored` where the write has been made all the same. */
  failed(assertion: Assertion, problem: string, { isStored = false }: { readonly isStored?: boolean } = {}): StatusError {
    this.#failures.set(assertion, this.#failures.get(assertion)! + 1)
    this.#report(assertion, problem)
    const message = `assertion ${assertion} failed: ${problem}`
    return isStored ? outcomeUnknown(message) : internalError(message)
  }

  families(): Family[] {
    return [
      {
        name: 'keelson_assertion_failures_total',
        type: 'counter',
        help: 'Checks of the server itself that have failed: each is a bug, or damage of the store.',
        samples: Array.from(this.#failures, ([assertion, count]) => [{ assertion }, count] as const),
      },
    ]
  }
}
