/** The server of all runs: it is put back to its beginning before each of them, which is faster than a new one. */
import type { Perturbing } from '../test-kit.ts'
import type { Perturber } from './perturber.ts'
import type { Host, Started, Subject } from './run.ts'

export class RunHost implements Host {
  #started: Started | undefined
  #perturber: Perturber | undefined
  #isFresh = true

  static async open(subject: Pick<Subject, 'start'>): Promise<RunHost> {
    const host = new RunHost()
    host.#started = await subject.start(host.#switch)
    return host
  }

  /** The server as it is after its start, whose requests a perturber sees from now on. */
  async begin(perturber: Perturber): Promise<Started> {
    const started = this.#started!
    // Nobody may write while the state is restored: writes of the last program do not reach the next perturber.
    this.#perturber = perturber
    if (!this.#isFresh) await started.access.reset()
    this.#isFresh = false
    return started
  }

  async close(): Promise<void> {
    await this.#started?.close()
  }

  /** Hands requests to the perturber of the current run. */
  readonly #switch: Perturbing = {
    disturb: next => exchange => (this.#perturber ? this.#perturber.disturb(next)(exchange) : next(exchange)),
    around: inner => ({ handle: (call, ctx, body) => (this.#perturber?.around(inner) ?? inner).handle(call, ctx, body) }),
  }
}
