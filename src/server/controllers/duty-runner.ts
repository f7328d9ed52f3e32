/** Runs the duties of a server: from the start where it is alone over its store, otherwise while it leads. */
import type { QueueMetrics } from '../../client/queue-metrics.ts'
import type { ControllerRunner } from './controller-runner.ts'
import type { Duties } from './duties.ts'
import type { Leadership, LeadershipParts } from './leadership.ts'

export type DutyRunnerParts = Omit<LeadershipParts, 'start'> & {
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

  /** Takes part in the election of a leader, where there are several servers and any duties. */
  async takePart(): Promise<void> {
    const { duties } = this.#parts
    if (this.#isAlone || !duties.any) return
    const { runWhileLeading } = await import('./leadership.ts')
    const start: LeadershipParts['start'] = async (runner, signal) => (await duties.start(runner, signal)).startOthers()
    this.#leadership = runWhileLeading({ ...this.#parts, start })
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
