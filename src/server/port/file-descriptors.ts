/**
 * Notices when the process has run out of file descriptors. Node then drops new connections silently, so a file is opened now
 * and then: if that fails, so would a connection.
 */
import { close, open } from 'node:fs'
import { devNull } from 'node:os'
import type { Log } from '../../http/observability/log.ts'
import { monotonicMs, startInterval, stopTimer } from '../../lib/environment.ts'
import type { Family } from '../../lib/exposition.ts'

const LOOK_EVERY_MS = 1000
/** The log repeats it once a minute while it lasts. */
const SAY_EVERY_MS = 60_000

export type FileDescriptors = { families(): Family[]; stop(): void }

export function watchFileDescriptors(log: Log): FileDescriptors {
  let exhausted = 0
  let isExhausted = false
  let saidAt = Number.NEGATIVE_INFINITY
  const looked = (error: NodeJS.ErrnoException | null) => {
    if (error && error.code !== 'EMFILE' && error.code !== 'ENFILE') return
    if (error && monotonicMs() - saidAt > SAY_EVERY_MS) {
      log.error(
        { code: error.code },
        'no file descriptors are left: new connections are dropped; raise the limit (ulimit -n) or close some',
      )
      saidAt = monotonicMs()
    }
    if (error && !isExhausted) exhausted++
    if (!error && isExhausted) {
      log.warn({}, 'file descriptors are free again: new connections are served')
      saidAt = Number.NEGATIVE_INFINITY
    }
    isExhausted = error !== null
  }
  const look = () =>
    open(devNull, 'r', (error, file) => {
      if (!error) close(file, () => {})
      looked(error)
    })
  const timer = startInterval(look, LOOK_EVERY_MS)
  timer.unref()
  return {
    stop: () => stopTimer(timer),
    families: () => [
      {
        name: 'keelson_file_descriptors_exhausted_total',
        type: 'counter',
        help: 'How often the process has run out of file descriptors.',
        samples: [[{}, exhausted]],
      },
    ],
  }
}
