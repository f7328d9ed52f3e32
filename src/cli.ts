/** The command: flags → config → start. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { FLAGS, readFlags } from './cli-flags.ts'
import { ConfigError } from './server/config.ts'
import { FeatureGateError } from './server/feature-gates.ts'
import { startServer } from './server/start.ts'
import { StoreUnavailable } from './storage/store.ts'
import { VERSION } from './version.ts'

const HELP = `keelson — a Kubernetes-compatible API server that starts in milliseconds

Usage
  keelson serve [flags]        serve until SIGTERM, SIGHUP or Ctrl-C
  keelson kubeconfig [flags]   print the kubeconfig of a data directory
  keelson version              print the version
  keelson help                 print this

The first minute
  keelson serve &
  export KUBECONFIG=$PWD/keelson-data/admin.kubeconfig
  kubectl create configmap hello --from-literal=who=world
  kubectl get configmaps

Flags of serve (and kubeconfig takes --data-dir and --kubeconfig)
Write --name value or --name=value. Lists are separated by commas; given several times, they add up.

${FLAGS.map(f => `  ${`--${f.name} ${f.takes ?? ''}`.padEnd(38)} ${f.doc}`).join('\n')}
`

/** Runs the command; resolves with the exit code. */
export async function main(args: readonly string[]): Promise<number> {
  const [command = 'help', ...rest] = args
  if (['help', '--help', '-h'].includes(command) || rest.includes('--help') || rest.includes('-h')) return print(HELP)
  if (command === 'version' || command === '--version') return print(`keelson ${VERSION} (Kubernetes 1.37)\n`)
  try {
    if (command === 'serve') return await serve(rest)
    if (command === 'kubeconfig') return showKubeconfig(rest)
  } catch (error) {
    const expected = error instanceof ConfigError || error instanceof FeatureGateError || error instanceof StoreUnavailable
    process.stderr.write(`keelson: ${expected ? error.message : (error as Error).stack}\n`)
    return 1
  }
  process.stderr.write(`keelson: unknown command ${command}; see keelson help\n`)
  return 2
}

async function serve(args: readonly string[]): Promise<number> {
  const config = readFlags(args)
  const stop = new Promise<string>(resolve => {
    let asked = false
    const onSignal = (signal: string) => {
      // A second signal means now.
      if (asked) process.exit(1)
      asked = true
      resolve(signal)
    }
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(signal, onSignal)
  })
  const server = await startServer(config)
  print(`keelson ready in ${Math.round(performance.now())} ms  ${server.url}  kubeconfig ${config.kubeconfig}\n`)
  const reason = await Promise.race([stop, server.failed.then(error => ({ error }))])
  await server.close(typeof reason === 'string' ? reason : 'the store failed')
  if (typeof reason === 'string') return 0
  process.stderr.write(`keelson: the store failed and the server has stopped: ${(reason.error as Error)?.message ?? reason.error}\n`)
  return 1
}

function showKubeconfig(args: readonly string[]): number {
  const { dataDir, kubeconfig } = readFlags(args)
  const file = kubeconfig ?? join(dataDir, 'admin.kubeconfig')
  try {
    return print(readFileSync(file, 'utf8'))
  } catch {
    throw new ConfigError(`${file} is not there; it is written when a server starts: keelson serve --data-dir ${dataDir}`)
  }
}

function print(text: string): 0 {
  process.stdout.write(text)
  return 0
}
