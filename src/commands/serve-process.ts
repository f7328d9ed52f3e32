/** One of the processes of `keelson serve --processes N`. Its supervisor starts it; it is not for users. */
import { flagValues } from '../flag-values.ts'
import { readServeFlags, SERVE_DEFAULTS } from '../flags/read-flags.ts'
import { UsageError } from '../flags/usage-error.ts'
import type { Config } from '../server/config.ts'
import { Siblings } from '../server/processes/siblings.ts'
import type { Server } from '../server/running-server.ts'
import { startServer } from '../server/start.ts'
import { applyAtStart } from './apply.ts'
import type { Command } from './command.ts'
import { failureOf } from './failure.ts'
import { reportStoreFailure, STORE_FAILED } from './serve-alone.ts'
import { askedToStop } from './signals.ts'
import { NOT_APPLIED } from './start.ts'

export const serveProcess: Command = async args => {
  if (!process.send) throw new UsageError('serve-process is run by keelson serve --processes')
  // A terminal sends these to all processes; the supervisor decides about them.
  for (const signal of ['SIGINT', 'SIGHUP'] as const) process.on(signal, () => {})
  const siblings = await Siblings.join(process)
  const stop = Promise.race([askedToStop(['SIGTERM']), siblings.stopped])
  const { config, apply, processes } = readServeFlags(args, SERVE_DEFAULTS)
  let server: Server
  try {
    server = await startOne({ config, apply, processes }, siblings)
  } catch (error) {
    const failure = failureOf(error)
    await siblings.failed(failure)
    return failure.code
  }
  siblings.onReadFiles = reason => server.readFilesAgain(reason)
  siblings.ready({ url: server.url, ca: server.credentials.ca })
  const reason = await Promise.race([stop, server.failed.then(error => ({ error }))])
  await server.close(typeof reason === 'string' ? reason : STORE_FAILED)
  if (typeof reason === 'string') return 0
  reportStoreFailure(reason.error)
  return 1
}

type Start = { readonly config: Config; readonly apply: readonly string[]; readonly processes: number }

async function startOne({ config, apply, processes }: Start, siblings: Siblings): Promise<Server> {
  const { isFirst, isFirstStart } = siblings
  // One of them writes the kubeconfig, which leads to all.
  const server = await startServer(
    { ...config, kubeconfig: isFirst ? config.kubeconfig : undefined },
    { siblings, flags: { ...flagValues(config), processes: String(processes) } },
  )
  try {
    if (isFirst && isFirstStart) await applyAtStart(server, apply)
    return server
  } catch (error) {
    await server.close(NOT_APPLIED)
    throw error
  }
}
