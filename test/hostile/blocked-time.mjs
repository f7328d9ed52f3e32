/**
 * Loaded into a server before it starts (`--import`): measures how long its event loop is blocked. On SIGUSR2 it writes to standard error
 * the longest time since the last signal, the total time of the main thread, and the processor time of all threads, as `blocked
 * MILLISECONDS of MILLISECONDS, all MILLISECONDS`. The first two are processor time of the main thread where the system reports it, so that
 * other processes on the machine do not count, and elapsed time elsewhere.
 */
import { readFileSync } from 'node:fs'
import { isMainThread } from 'node:worker_threads'

const SAMPLE_MS = 2

function cpuMs() {
  try {
    return Number(readFileSync('/proc/thread-self/schedstat', 'latin1').split(' ')[0]) / 1e6
  } catch {
    return performance.now()
  }
}

if (isMainThread) {
  let longest = 0
  let last = cpuMs()
  let told = last
  let used = process.cpuUsage()
  setInterval(() => {
    const now = cpuMs()
    longest = Math.max(longest, now - last)
    last = now
  }, SAMPLE_MS).unref()
  process.on('SIGUSR2', () => {
    const now = cpuMs()
    const { user, system } = process.cpuUsage(used)
    process.stderr.write(`blocked ${longest.toFixed(1)} of ${(now - told).toFixed(1)}, all ${((user + system) / 1000).toFixed(1)}\n`)
    longest = 0
    told = cpuMs()
    used = process.cpuUsage()
  })
}
