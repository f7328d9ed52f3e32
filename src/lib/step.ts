/**
 * The one way to wait and to yield. A step of work is a generator: `yield promise` waits for the promise, a bare `yield` lets others run
 * if the pace of the work says that it is time. Work that waits for nothing has its result at once, without a promise: for most
 * requests promises would cost more than the work between them.
 */

/** Work that may wait, and that stops wherever others may run before it goes on. */
export type Step<R> = Generator<Promise<unknown> | undefined, R, unknown>

/** The result of work, or the work where it may have to wait or is long. */
export type MaybeStep<R> = R | Step<R>

/** Decides when work lets others run; see `pace.ts`. */
export interface Pacing {
  /** A promise to wait for before the work goes on; undefined if it may go on at once. */
  pause(): Promise<void> | undefined
}

/** Waits for a result inside of a step, if it is a promise. A rejection is thrown where the step waits. */
export function* waitFor<T>(result: T | Promise<T>): Step<T> {
  return result instanceof Promise ? ((yield result) as T) : result
}

/**
 * The result, or the work of waiting for it if it is a promise. The promise may reject before anybody waits: whoever waits gets the error then.
 */
export function stepOf<T>(result: T | Promise<T>): MaybeStep<T> {
  if (!(result instanceof Promise)) return result
  result.catch(() => {})
  return waitFor(result)
}

/** Drives work to its end: its result, or a promise of it once the work had to wait. Failures are thrown or reject alike. */
export function run<R>(work: Step<R>, pace: Pacing): R | Promise<R> {
  for (let stop = work.next(); ; stop = work.next()) {
    if (stop.done) return stop.value
    const waiting = stop.value ?? pace.pause()
    if (waiting) return runAfter(waiting, work, pace)
  }
}

async function runAfter<R>(first: Promise<unknown>, work: Step<R>, pace: Pacing): Promise<R> {
  for (let waiting: Promise<unknown> | undefined = first; ; ) {
    let outcome: unknown
    let hasFailed = false
    try {
      outcome = await waiting
    } catch (error) {
      outcome = error
      hasFailed = true
    }
    let stop = hasFailed ? work.throw(outcome) : work.next(outcome)
    for (; !stop.done; stop = work.next()) {
      waiting = stop.value ?? pace.pause()
      if (waiting) break
    }
    if (stop.done) return stop.value
  }
}

/** Does work that waits for nothing to its end, where nobody else has to run meanwhile. */
export function finish<R>(work: Step<R>): R {
  for (let stop = work.next(); ; stop = work.next()) {
    if (stop.done) return stop.value
    if (stop.value) throw new Error('the work has to wait')
  }
}

/** Whether this is work that is yet to be done rather than a result. */
export const isStep = <R>(work: MaybeStep<R>): work is Step<R> =>
  typeof work === 'object' && work !== null && Symbol.iterator in work && 'throw' in work
