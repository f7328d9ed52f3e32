/** The signals that end a server, and SIGHUP, which does not. */

/** Signals that request termination. The last one is sent when the terminal closes. */
export const ENDING = ['SIGTERM', 'SIGINT'] as const
export const ENDING_WITH_TERMINAL = [...ENDING, 'SIGHUP'] as const

/** Resolves with the first of some signals. A second one exits immediately. */
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

/** The parent of this process, as the system tells it. */
export type ParentProcess = { readonly ppid: number; isAlive(pid: number): boolean }

const SYSTEM: ParentProcess = {
  get ppid() {
    return process.ppid
  },
  isAlive(pid) {
    try {
      process.kill(pid, 0)
      return true
    } catch (error) {
      return (error as NodeJS.ErrnoException).code === 'EPERM'
    }
  },
}

/**
 * Resolves when the parent process has exited, for whatever reason. Unix gives an orphan another parent; Windows keeps the number of the
 * former one, which is no process any more.
 */
export function parentGone(system: ParentProcess = SYSTEM): Promise<string> {
  const parent = system.ppid
  return new Promise(resolve => {
    const timer = setInterval(() => {
      if (system.ppid === parent && system.isAlive(parent)) return
      clearInterval(timer)
      resolve('the process that started it has ended')
    }, LOOK_EVERY_MS)
    timer.unref()
  })
}
