/**
 * The entry of the bundle that `bin/start.js` loads in place of the whole command where it has started a server process: that loads the code
 * of the server at the same time, and the supervisor needs a fiftieth of it.
 */
import type { ChildProcess } from 'node:child_process'
import { readServeFlags, SERVE_DEFAULTS } from '../../flags/read-flags.ts'
import { checkConfig } from '../../server/config.ts'
import { reported } from '../failure.ts'
import { supervise } from './supervisor.ts'

/** Runs `serve` with several processes; resolves with the exit code, or with undefined where the flags say that there is one. */
export async function superviseEarly(args: readonly string[], early: ChildProcess): Promise<number | undefined> {
  let isOne = false
  const code = await reported(async () => {
    const options = readServeFlags(args, SERVE_DEFAULTS)
    isOne = options.processes === 1
    return isOne ? 0 : await supervise({ ...options, config: checkConfig(options.config), args, early })
  })
  return isOne ? undefined : code
}
