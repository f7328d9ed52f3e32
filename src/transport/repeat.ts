/** Repeats calls of webhooks that fail, with growing pauses: as Kubernetes' clients do. */

const MAX_ATTEMPTS = 5
const PAUSE_FACTOR = 1.5
const PAUSE_JITTER = 0.2

export type Repetition<T> = {
  /** Whether the outcome is final: a success, or a failure that no repetition changes. */
  readonly isFinal: (outcome: T) => boolean
  /** The pause before the second attempt. */
  readonly firstPauseMs: number
  /** Resolves after the pause: false if there must be no further attempt. */
  readonly pause: (ms: number) => Promise<boolean>
  readonly random?: () => number
}

/** The first final outcome, or that of the last attempt. */
export async function repeat<T>(
  attempt: () => Promise<T>,
  { isFinal, firstPauseMs, pause, random = Math.random }: Repetition<T>,
): Promise<T> {
  let ms = firstPauseMs
  for (let nth = 1; ; nth++) {
    const outcome = await attempt()
    if (isFinal(outcome) || nth === MAX_ATTEMPTS || !(await pause(ms * (1 + random() * PAUSE_JITTER)))) return outcome
    ms *= PAUSE_FACTOR
  }
}
