/** `keelson serve`: flags → config → a server in this process, or several processes that serve as one. */
import { readServeFlags, SERVE_DEFAULTS } from '../flags/read-flags.ts'
import { checkConfig } from '../server/config.ts'
import type { Command } from './command.ts'

export const serve: Command = async (args, early) => {
  const options = readServeFlags(args, SERVE_DEFAULTS)
  if (options.processes === 1) return await (await import('./serve-alone.ts')).serveAlone(options)
  const { supervise } = await import('./supervisor/supervisor.ts')
  return await supervise({ ...options, config: checkConfig(options.config), args, early })
}
