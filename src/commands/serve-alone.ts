/** Serves in this process, until a signal. */
import type { ServeOptions } from '../flags/flag.ts'
import type { Config } from '../server/config.ts'
import { announceReady } from './announce.ts'
import { notifyServiceManager } from './service-manager.ts'
import { askedToStop, ENDING, parentGone } from './signals.ts'
import { startFor } from './start.ts'

export async function serveAlone({ config, apply, output, exitWithParent }: ServeOptions & { readonly config: Config }): Promise<number> {
  const stop = Promise.race([askedToStop(ENDING), ...(exitWithParent ? [parentGone()] : [])])
  // SIGHUP does not end the server, which outlives its terminal: it reads changed files again, as in most daemons.
  let readAgain = () => {}
  process.on('SIGHUP', () => readAgain())
  const server = await startFor({ config, apply, flags: { processes: '1' } })
  readAgain = () => server.readFilesAgain('SIGHUP')
  announceReady({ config, output, url: server.url, ca: server.credentials.ca })
  notifyServiceManager('ready')
  const reason = await Promise.race([stop, server.failed.then(error => ({ error }))])
  notifyServiceManager('stopping')
  await server.close(typeof reason === 'string' ? reason : STORE_FAILED)
  if (typeof reason === 'string') return 0
  reportStoreFailure(reason.error)
  return 1
}

/** A reason for the log. */
export const STORE_FAILED = 'the store failed'

export function reportStoreFailure(error: unknown): void {
  process.stderr.write(`keelson: the store failed and the server has stopped: ${(error as Error)?.message ?? error}\n`)
}
