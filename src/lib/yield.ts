/**
 * Lets others run: twice around the event loop, since requests that it has just read begin before it reads again. Steps of work do so at
 * a bare `yield` when their pace says that it is time (`step.ts`, `pace.ts`); work that is sent piece by piece does so between pieces.
 */
import { isSimulated, nextIteration } from './environment.ts'
export const yieldToOthers = (): Promise<void> =>
  new Promise(resolve => {
    // In a simulation several servers share the process, and one that is killed must not take along the others that wait.
    if (isSimulated()) return nextIteration(() => nextIteration(resolve))
    waiting.push(resolve)
    if (waiting.length === 1) nextIteration(() => nextIteration(goOn))
  })

const waiting: (() => void)[] = []

/** One of those that wait goes on in each iteration of the event loop. All at once would keep others waiting as if none had yielded. */
function goOn(): void {
  waiting.shift()!()
  if (waiting.length > 0) nextIteration(goOn)
}
