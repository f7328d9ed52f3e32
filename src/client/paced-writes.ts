/** Writes at a pace: however much controllers have to do at once, the requests of clients are served in between. */
import type { Backend } from './backend.ts'

/** How many are begun in one turn of the event loop: a client waits for no more than those. */
const IN_ONE_TURN = 4
/** How many are under way at once: so many are stored together, and followed up together. */
const AT_ONCE = 32

/** The same writes, begun in the order in which they came, a few in each turn of the event loop while there is room. */
export function pacedWrites(write: Backend['write']): Backend['write'] {
  const waiting: (() => void)[] = []
  let underWay = 0
  let isPlanned = false

  function plan(): void {
    if (isPlanned || waiting.length === 0 || underWay >= AT_ONCE) return
    isPlanned = true
    setImmediate(() => {
      isPlanned = false
      for (const begin of waiting.splice(0, Math.min(IN_ONE_TURN, AT_ONCE - underWay))) {
        underWay++
        begin()
      }
      plan()
    })
  }

  return async request => {
    await new Promise<void>(begin => {
      waiting.push(begin)
      plan()
    })
    try {
      return await write(request)
    } finally {
      underWay--
      plan()
    }
  }
}
