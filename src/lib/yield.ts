/**
 * Lets others run: twice around the event loop, since requests that it has just read begin before it reads again. Steps of work do so at
 * a bare `yield` when their pace says that it is time (`step.ts`, `pace.ts`); work that is sent piece by piece does so between pieces.
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
