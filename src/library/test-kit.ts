/**
 * A server under test: its clock, faults and recordings, and its whole state, saved and restored. The library's interface and the
 * endpoints below `/keelson/v1` are two ways to this.
 */
import { Faults } from '../faults/faults.ts'
import type { Handler } from '../http/exchange.ts'
import { RequestLog } from '../http/observability/request-log.ts'
import { parseDuration } from '../lib/duration.ts'
import { LateBound } from '../lib/late-bound.ts'
import type { Server } from '../server/running-server.ts'
import type { StartParts } from '../server/start-parts.ts'
import { KeptSnapshots } from './kept-snapshots.ts'
import { MovableClock } from './movable-clock.ts'
import { Recorder } from './recorder.ts'
import { type Restoring, restoreSettled, restoreState, type SavedState, saveState } from './state.ts'

/** A server, and its state once it had settled for the first time. */
type Attached = {
  readonly server: Server
  readonly base: Promise<SavedState>
  readonly restoring: Restoring
  readonly end: AbortController
}

/** Sees and changes how the requests of a server are handled, beside the faults. */
export interface Perturbing {
  /** Wraps the handling of authenticated requests. */
  readonly disturb: (next: Handler) => Handler
  /** Wraps the registry that clients reach. */
  readonly around: NonNullable<StartParts['around']>
}

export type TestKitOptions = { readonly clock?: MovableClock; readonly perturber?: Perturbing }

export class TestKit {
  readonly clock: MovableClock
  readonly faults = new Faults()
  readonly recorder = new Recorder(() => this.clock.now())
  /** The requests that `/keelson/v1/requests` shows. */
  readonly requestLog: RequestLog
  readonly snapshots = new KeptSnapshots()
  readonly #attached = new LateBound<Attached>('the server')
  /** While it is pending, clients may read and their writes wait. */
  #held: Promise<unknown> | undefined
  /** The last operation on the whole state: there is one at a time. */
  #last: Promise<unknown> = Promise.resolve()
  readonly #perturber: Perturbing | undefined

  constructor({ clock = new MovableClock(), perturber }: TestKitOptions = {}) {
    this.clock = clock
    this.requestLog = new RequestLog(clock)
    this.#perturber = perturber
  }

  /** The parts of a server that are made before it. */
  get start(): StartParts {
    const { faults, recorder, requestLog, clock } = this
    const perturber = this.#perturber
    const hold = perturber ? (next: Handler) => this.#hold(perturber.disturb(next)) : this.#hold
    return {
      clock,
      faults,
      requestLog,
      surroundings: { record: recorder.record, hold },
      auditWatcher: recorder.auditSink,
      ...(perturber && { around: perturber.around }),
    }
  }

  /**
   * Takes over a server that has just started. The state for `reset` is the one in which it first settles, after `prepare`; until then the
   * writes of clients wait, so that they are told apart from those of components.
   */
  attach(server: Server, prepare: () => Promise<unknown> = async () => {}): void {
    const { client, store } = server
    const settled = () => server.settled()
    const end = new AbortController()
    const base = prepare()
      .then(settled)
      .then(() => saveState(store))
    base.then(
      () => this.recorder.follow(client, end.signal),
      () => {},
    )
    const release = () => {
      this.#held = undefined
    }
    this.#held = base.then(release, release)
    this.#attached.set({ server, base, restoring: { store, resources: () => client.resources(), settled }, end })
  }

  /** Resolves when the state for `reset` is saved. */
  async ready(): Promise<void> {
    await this.#attached.get().base
  }

  async settled(): Promise<void> {
    await this.#attached.get().server.settled()
  }

  /** Restores the state after the start; faults and recordings are gone, and time goes on. */
  reset(): Promise<void> {
    return this.#alone(async () => {
      const { base, restoring } = this.#attached.get()
      this.faults.clear()
      this.clock.resume()
      const before = await base
      await this.recorder.unrecorded(() => restoreSettled(before, restoring))
      this.forget()
    })
  }

  /** Clears the recorded requests and changes. */
  forget(): void {
    this.recorder.clear()
    this.requestLog.clear()
  }

  save(): Promise<SavedState> {
    return this.#alone(() => saveState(this.#attached.get().server.store))
  }

  restore(saved: SavedState): Promise<void> {
    return this.#alone(() => restoreState(saved, this.#attached.get().restoring))
  }

  /** Advances the clock; `millisecondsOf` reads the duration. */
  advance(ms: number): Promise<void> {
    return this.#alone(async () => {
      await this.ready()
      await this.clock.advance(ms, () => this.settled())
    })
  }

  /** Ends the recording. */
  end(): void {
    this.#attached.peek()?.end.abort()
  }

  #alone<T>(run: () => Promise<T>): Promise<T> {
    const result = this.#last.then(run)
    this.#last = result.catch(() => {})
    return result
  }

  readonly #hold = (next: Handler): Handler => {
    return exchange => {
      const { verb } = exchange.route.attributes
      return this.#held && !READS.includes(verb) ? this.#held.then(() => next(exchange)) : next(exchange)
    }
  }
}

const READS = ['get', 'list', 'watch', 'head', 'options']

/** Milliseconds, or a duration such as `24h`. Time cannot go back. Throws TypeError. */
export function millisecondsOf(duration: number | string): number {
  const ms = typeof duration === 'number' ? duration : Number(parseDuration(duration)) / 1e6
  if (!(ms >= 0 && ms < Number.POSITIVE_INFINITY))
    throw new TypeError(`the clock can be put forward only: by milliseconds, 0 or more, or a duration such as '24h', not by ${duration}`)
  return ms
}
