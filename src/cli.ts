/** The command line: which commands there are. Each is loaded when it is run. */

import type { Command } from './commands/command.ts'
import { FLAGS } from './flags/serve-flags.ts'
import { ConfigError } from './server/config.ts'
import { FeatureGateError } from './server/feature-gates.ts'
import { StoreUnavailable } from './storage/store.ts'
import { VERSION } from './version.ts'

type Entry = { readonly usage: string; readonly doc: string; readonly load: () => Promise<Command> }

const COMMANDS: Readonly<Record<string, Entry>> = {
  serve: {
    usage: 'serve [flags]',
    doc: 'serve until SIGTERM, SIGHUP or Ctrl-C',
    load: async () => (await import('./commands/serve.ts')).serve,
  },
  run: {
    usage: 'run [flags] -- COMMAND …',
    doc: 'run a command with KUBECONFIG set to a server of its own, which ends with it',
    load: async () => (await import('./commands/run.ts')).run,
  },
  kubectl: {
    usage: 'kubectl …',
    doc: 'run kubectl on the server of ./keelson-data; --data-dir DIR before the rest names another',
    load: async () => (await import('./commands/kubectl.ts')).kubectl,
  },
  history: {
    usage: 'history KIND/NAME [-n NS]',
    doc: 'print what an object was at every revision that is still known, and what changed; takes --data-dir',
    load: async () => (await import('./commands/history.ts')).history,
  },
  envtest: {
    usage: 'envtest [--dir DIR]',
    doc: 'print a folder with kube-apiserver, etcd and kubectl for test harnesses: KUBEBUILDER_ASSETS',
    load: async () => (await import('./commands/envtest.ts')).envtest,
  },
  'kube-apiserver': {
    usage: 'kube-apiserver [flags]',
    doc: 'serve with the flags of kube-apiserver; harnesses start it',
    load: async () => (await import('./commands/kube-apiserver.ts')).kubeApiServer,
  },
  migrate: {
    usage: 'migrate --from … --to …',
    doc: 'copy a cluster between a data directory and etcd; see below',
    load: async () => (await import('./commands/migrate.ts')).migrate,
  },
  kubeconfig: {
    usage: 'kubeconfig [flags]',
    doc: 'print the kubeconfig of a data directory; takes --data-dir and --kubeconfig',
    load: async () => (await import('./commands/kubeconfig.ts')).kubeconfig,
  },
}

const MIGRATE_FLAGS = [
  ['--from embedded:DIR | etcd:URL,…', 'the cluster to copy: a data directory, or the members of an etcd'],
  ['--to embedded:DIR | etcd:URL,…', 'where to: a directory that is empty or not there, or an etcd with nothing below --etcd-prefix'],
  ['--skip-unreadable', 'leave behind records that cannot be read, and name them'],
  ['--etcd-cafile, --etcd-prefix, …', 'how etcd is reached, as for serve; --group-domain if it is not k8s.io'],
] as const

const HELP = () => `keelson — a Kubernetes-compatible API server that starts in milliseconds

Usage
${Object.values(COMMANDS)
  .map(({ usage, doc }) => `  keelson ${usage.padEnd(26)} ${doc}`)
  .join('\n')}
  keelson ${'version'.padEnd(26)} print the version
  keelson ${'help'.padEnd(26)} print this

The first minute
  keelson serve &
  export KUBECONFIG=$PWD/keelson-data/admin.kubeconfig
  kubectl create configmap hello --from-literal=who=world
  kubectl get configmaps

Flags of migrate
Stop the servers of both sides first. Nothing is written over; one that was cut off goes on when it is run again.

${MIGRATE_FLAGS.map(([flag, doc]) => `  ${flag.padEnd(38)} ${doc}`).join('\n')}

Flags of serve and run
Write --name value or --name=value. Lists are separated by commas; given several times, they add up.

${FLAGS.map(f => `  ${`--${f.name} ${f.takes ?? ''}`.padEnd(38)} ${f.doc}`).join('\n')}
`

/** Runs a command; resolves with the exit code. */
export async function main(args: readonly string[]): Promise<number> {
  const [name = 'help', ...rest] = args
  if (name === 'version' || name === '--version') return print(`keelson ${VERSION} (Kubernetes 1.37)\n`)
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined
  if (['help', '--help', '-h'].includes(name) || (command && asksForHelp(name, rest))) return print(HELP())
  if (!command) {
    process.stderr.write(`keelson: unknown command ${name}; see keelson help\n`)
    return 2
  }
  try {
    return await (await command.load())(rest)
  } catch (error) {
    const expected = error instanceof ConfigError || error instanceof FeatureGateError || error instanceof StoreUnavailable
    process.stderr.write(`keelson: ${expected ? error.message : (error as Error).stack}\n`)
    return 1
  }
}

/** What stands after `--`, or is meant for kubectl, is not for us. */
function asksForHelp(name: string, args: readonly string[]): boolean {
  if (['kubectl', 'kube-apiserver'].includes(name)) return false
  const end = args.indexOf('--')
  return (end < 0 ? args : args.slice(0, end)).some(arg => arg === '--help' || arg === '-h')
}

function print(text: string): 0 {
  process.stdout.write(text)
  return 0
}
