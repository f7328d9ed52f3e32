/** Runs the duties of a server: from the start where it is alone over its store, otherwise while it leads. */
import type { QueueMetrics } from '../../client/queue-metrics.ts'
import type { Siblings } from '../processes/siblings.ts'
import type { ControllerRunner } from './controller-runner.ts'
import type { Duties } from './duties.ts'
import type { Leadership, LeadershipParts } from './leadership.ts'

export type DutyRunnerParts = Omit<LeadershipParts, 'start'> & {
  /** Whether servers on other machines use the store as well. */
  readonly hasReplicas: boolean
  /** The other processes of this server, if there are any. */
  readonly siblings: Siblings | undefined
  readonly duties: Duties
  readonly controllers: Pick<ControllerRunner, 'run'>
}

export class DutyRunner {
  readonly #parts: DutyRunnerParts
  readonly #isAlone: boolean
  #started: { startOthers(): Promise<void> } | undefined
  #leadership: Leadership | undefined

  constructor(parts: DutyRunnerParts) {
    this.#parts = parts
    this.#isAlone = !parts.store.isShared
  }

  /** Starts the duties that the first clients rely on, and waits for them. */
  async startFirst(): Promise<void> {
    const { duties, controllers, signal } = this.#parts
    if (this.#isAlone) this.#started = await duties.start(controllers, signal)
  }

  async startOthers(): Promise<void> {
    await this.#started?.startOthers()
  }

  /**
   * Takes part in the election of a leader, where there are several servers and any duties. Of the processes of one server, the one that
   * is appointed has done the first duties when this resolves, unless another server leads.
   */
  async takePart(): Promise<void> {
    const { duties, hasReplicas, siblings } = this.#parts
    if (this.#isAlone || !duties.any) return
    const start: Duties['start'] = (runner, signal) => duties.start(runner, signal)
    if (hasReplicas || !siblings) {
      const { runWhileLeading } = await import('./leadership.ts')
      this.#leadership = runWhileLeading({ ...this.#parts, start, participant: siblings })
    } else {
      const { runWhenAppointed } = await import('./appointment.ts')
      this.#leadership = runWhenAppointed({ ...this.#parts, siblings, start })
    }
    if (siblings?.isAppointed) await this.#leadership.begun
  }

  /** The metrics of the controllers that run while this server leads. */
  queues(): readonly QueueMetrics[] {
    return this.#leadership?.queues() ?? []
  }

  /** Resolves when this server takes no part any more. */
  async ended(): Promise<void> {
    await this.#leadership?.ended
  }
}
