/** The signals that end a server, and the one that does not. */

/** Signals that ask for the end. The last one is sent when the terminal closes. */
export const ENDING = ['SIGTERM', 'SIGINT'] as const
export const ENDING_WITH_TERMINAL = [...ENDING, 'SIGHUP'] as const

/** Resolves with the first of some signals. A second one ends the process at once. */
export function askedToStop(signals: readonly NodeJS.Signals[]): Promise<NodeJS.Signals> {
  return new Promise(resolve => {
    let asked = false
    for (const signal of signals)
      process.on(signal, () => {
        if (asked) process.exit(1)
        asked = true
        resolve(signal)
      })
  })
}

const LOOK_EVERY_MS = 250

/** Resolves when the process that has started this one is gone, however it ended. */
export function parentGone(): Promise<string> {
  const parent = process.ppid
  return new Promise(resolve => {
    const timer = setInterval(() => {
      if (process.ppid === parent) return
      clearInterval(timer)
      resolve('the process that started it has ended')
    }, LOOK_EVERY_MS)
    timer.unref()
  })
}
