/**
 * Lets whatever else is waiting run, so that one large request does not delay the others. Twice, as what is asked for where the event
 * loop reads sockets is done before it reads them again.
 */
export const yieldToOthers = (): Promise<void> => new Promise(resolve => setImmediate(() => setImmediate(resolve)))

const YIELD_AFTER_MS = 20

/** Runs work that clients decide the size of to its end, and lets others run in between: it yields where it may be interrupted. */
export async function runYielding<R>(work: Iterator<unknown, R>): Promise<R> {
  for (let began = performance.now(); ; ) {
    const { done, value } = work.next()
    if (done) return value
    if (performance.now() - began < YIELD_AFTER_MS) continue
    await yieldToOthers()
    began = performance.now()
  }
}
