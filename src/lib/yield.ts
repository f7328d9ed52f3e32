/**
 * Lets whatever else is waiting run, so that one large request does not delay the others. Twice, as what is asked for where the event
 * loop reads sockets is done before it reads them again.
 */
export const yieldToOthers = (): Promise<void> =>
  new Promise(resolve => {
    waiting.push(resolve)
    if (waiting.length === 1) setImmediate(() => setImmediate(goOn))
  })

const waiting: (() => void)[] = []

/** One of those that wait goes on in each iteration of the event loop. All at once would keep others waiting as if none had yielded. */
function goOn(): void {
  waiting.shift()!()
  if (waiting.length > 0) setImmediate(goOn)
}

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
