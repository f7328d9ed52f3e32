/** The signals that end a server. */

const SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const

/** Resolves with the first signal that asks for the end. A second one ends the process at once. */
export function askedToStop(): Promise<NodeJS.Signals> {
  return new Promise(resolve => {
    let asked = false
    for (const signal of SIGNALS)
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
