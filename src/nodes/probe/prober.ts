/** Makes the probes of a running container: the startup probe until it passes, then the others, each in its own rhythm. */
import type { Container } from '../../kinds/rules/pod/containers/container.ts'
import type { Probe } from '../../kinds/rules/pod/containers/probes.ts'
import type { Checked } from './check.ts'

export type ProbeName = 'startup' | 'readiness' | 'liveness'
export const PROBE_NAMES: readonly ProbeName[] = ['startup', 'readiness', 'liveness']

export type ProbeResult = {
  /** Whether the probe counts as passed. */
  readonly passes: boolean
  /** Whether it has reached its failure threshold. */
  readonly hasFailed: boolean
  /** The reason of the last check, if that failed. */
  readonly message: string | undefined
}

export type ProberParts = {
  readonly container: Container
  /** Whether a probe is really made. */
  readonly isMade: (probe: Probe) => boolean
  readonly check: (probe: Probe) => Promise<Checked>
  /** Milliseconds since the start of the container. */
  readonly elapsedMs: number
  readonly onChange: () => void
}

export const probeOf = (container: Container, name: ProbeName): Probe | undefined =>
  name === 'startup' ? container.startupProbe : name === 'readiness' ? container.readinessProbe : container.livenessProbe

type State = { passes: boolean; hasFailed: boolean; message: string | undefined; inRow: number; wasGood: boolean | undefined }

export class Prober {
  readonly #parts: ProberParts
  readonly #states = new Map<ProbeName, State>()
  readonly #timers = new Set<NodeJS.Timeout>()
  #isEnded = false

  constructor(parts: ProberParts) {
    this.#parts = parts
    for (const name of PROBE_NAMES) {
      const probe = probeOf(parts.container, name)
      if (probe && parts.isMade(probe))
        this.#states.set(name, { passes: name === 'liveness', hasFailed: false, message: undefined, inRow: 0, wasGood: undefined })
    }
    if (this.#states.has('startup')) this.#plan('startup', this.#firstMs('startup'))
    else this.#planOthers()
  }

  /** Undefined for a probe that is not made. */
  of(name: ProbeName): ProbeResult | undefined {
    return this.#states.get(name)
  }

  end(): void {
    this.#isEnded = true
    for (const timer of this.#timers) clearTimeout(timer)
  }

  #planOthers(): void {
    for (const name of ['readiness', 'liveness'] as const) if (this.#states.has(name)) this.#plan(name, this.#firstMs(name))
  }

  #firstMs(name: ProbeName): number {
    return Math.max(Number(probeOf(this.#parts.container, name)!.initialDelaySeconds ?? 0) * 1000 - this.#parts.elapsedMs, 0)
  }

  #plan(name: ProbeName, afterMs: number): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer)
      void this.#check(name)
    }, afterMs)
    timer.unref()
    this.#timers.add(timer)
  }

  async #check(name: ProbeName): Promise<void> {
    const probe = probeOf(this.#parts.container, name)!
    const message = await this.#parts.check(probe)
    if (this.#isEnded) return
    const isDone = this.#take(name, message)
    if (isDone && name === 'startup') this.#planOthers()
    // A container whose probe has failed for good is about to end.
    if (!isDone) this.#plan(name, Number(probe.periodSeconds ?? 10) * 1000)
  }

  /** Counts a result. Returns true when the probe is over. */
  #take(name: ProbeName, message: Checked): boolean {
    const { successThreshold = 1, failureThreshold = 3 } = probeOf(this.#parts.container, name)!
    const state = this.#states.get(name)!
    const isGood = message === undefined
    const before = { ...state }
    state.inRow = state.wasGood === isGood ? state.inRow + 1 : 1
    state.wasGood = isGood
    state.message = message
    if (isGood && state.inRow >= Number(successThreshold)) state.passes = true
    if (!isGood && state.inRow >= Number(failureThreshold)) {
      state.passes = false
      state.hasFailed = name !== 'readiness'
    }
    if (state.passes !== before.passes || state.hasFailed !== before.hasFailed || state.message !== before.message) this.#parts.onChange()
    return name === 'startup' ? state.passes || state.hasFailed : state.hasFailed
  }
}
