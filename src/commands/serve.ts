/** `keelson serve`: flags → config → start, until a signal. */
import { flagValues } from '../flag-values.ts'
import { readServeFlags } from '../flags/read-flags.ts'
import { startServer } from '../server/start.ts'
import { applyAtStart } from './apply.ts'
import type { Command } from './command.ts'
import { notifyServiceManager } from './service-manager.ts'
import { askedToStop, ENDING, parentGone } from './signals.ts'

export const serve: Command = async args => {
  const { config, apply, output, exitWithParent } = readServeFlags(args)
  const stop = Promise.race([askedToStop(ENDING), ...(exitWithParent ? [parentGone()] : [])])
  // SIGHUP does not end the server, which outlives its terminal: it reads changed files again, as in most daemons.
  let readAgain = () => {}
  process.on('SIGHUP', () => readAgain())
  const server = await startServer(config, { flags: flagValues(config) })
  readAgain = () => server.readFilesAgain('SIGHUP')
  try {
    await applyAtStart(server, apply)
  } catch (error) {
    await server.close('the manifests of --apply could not be applied')
    throw error
  }
  const ready = { url: server.url, kubeconfig: config.kubeconfig, ca: server.credentials.ca, pid: process.pid }
  const inWords = () => `keelson ready in ${Math.round(performance.now())} ms  ${server.url}  kubeconfig ${config.kubeconfig}`
  process.stdout.write(`${output === 'json' ? JSON.stringify(ready) : inWords()}\n`)
  notifyServiceManager('ready')
  const reason = await Promise.race([stop, server.failed.then(error => ({ error }))])
  notifyServiceManager('stopping')
  await server.close(typeof reason === 'string' ? reason : 'the store failed')
  if (typeof reason === 'string') return 0
  process.stderr.write(`keelson: the store failed and the server has stopped: ${(reason.error as Error)?.message ?? reason.error}\n`)
  return 1
}
