/** The command line: the list of commands. Each is loaded when it is run. */
import type { ChildProcess } from 'node:child_process'
import type { Command } from './commands/command.ts'
import { reported } from './commands/failure.ts'
import type { Described } from './commands/help.ts'
import { unknownText } from './flags/usage-error.ts'
import { nearestName } from './lib/nearest-name.ts'
import { VERSION } from './version.ts'

type Entry = Described & { readonly load: () => Promise<Command> }

const COMMANDS: Readonly<Record<string, Entry>> = {
  serve: {
    usage: 'serve [flags]',
    doc: 'serve until SIGTERM or Ctrl-C; SIGHUP reads changed files again',
    load: async () => (await import('./commands/serve.ts')).serve,
  },
  run: {
    usage: 'run [flags] -- COMMAND …',
    doc: 'run a command with KUBECONFIG set to a server of its own, which ends with it',
    load: async () => (await import('./commands/run.ts')).run,
  },
  kubectl: {
    usage: 'kubectl …',
    doc: 'run kubectl on the server of a data directory',
    load: async () => (await import('./commands/kubectl.ts')).kubectl,
  },
  history: {
    usage: 'history KIND/NAME [-n NS]',
    doc: 'print an object at every revision in the history, with changes and users',
    load: async () => (await import('./commands/history.ts')).history,
  },
  console: {
    usage: 'console [--print]',
    doc: 'open the console of a server in the browser, logged in as the user of the kubeconfig',
    load: async () => (await import('./commands/console.ts')).openConsole,
  },
  envtest: {
    usage: 'envtest [flags]',
    doc: 'print a folder with kube-apiserver, etcd and kubectl for test harnesses: KUBEBUILDER_ASSETS',
    load: async () => (await import('./commands/envtest.ts')).envtest,
  },
  'kube-apiserver': {
    usage: 'kube-apiserver [flags]',
    doc: 'serve with the flags of kube-apiserver, for test harnesses; --help lists them',
    load: async () => (await import('./commands/kube-apiserver.ts')).kubeApiServer,
  },
  snapshot: {
    usage: 'snapshot ACTION …',
    doc: 'save, status, restore: back up a cluster while it runs; create, list, revert, delete: in a server for tests',
    load: async () => (await import('./commands/snapshot.ts')).snapshot,
  },
  reset: {
    usage: 'reset',
    doc: 'put a server for tests back to the state after its start',
    load: async () => (await import('./commands/test-server.ts')).reset,
  },
  clock: {
    usage: 'clock [ACTION]',
    doc: 'show the time of a server for tests; freeze, resume, advance or set it',
    load: async () => (await import('./commands/test-server.ts')).clock,
  },
  faults: {
    usage: 'faults [ACTION]',
    doc: 'list, add, remove, clear: make requests to a server for tests fail',
    load: async () => (await import('./commands/test-server.ts')).faults,
  },
  requests: {
    usage: 'requests [FILTER …]',
    doc: 'show what clients have sent to a server for tests',
    load: async () => (await import('./commands/test-server.ts')).requests,
  },
  workspace: {
    usage: 'workspace ACTION …',
    doc: 'create, list, kubeconfig, delete: isolated API servers at paths of a running one',
    load: async () => (await import('./commands/workspace.ts')).workspace,
  },
  explore: {
    usage: 'explore [flags] -- COMMAND …',
    doc: 'find what a controller does wrong when caches are stale, events are missed or it dies',
    load: async () => (await import('./commands/explore/explore.ts')).explore,
  },
  record: {
    usage: 'record FILE [flags] -- COMMAND …',
    doc: 'run a command with a server of its own, and keep requests, changes, faults and time in a file',
    load: async () => (await import('./commands/record/record.ts')).record,
  },
  replay: {
    usage: 'replay FILE [--to REVISION]',
    doc: 'bring a server to any moment of a recorded run, to look at it or to run a command again',
    load: async () => (await import('./commands/record/replay.ts')).replay,
  },
  clone: {
    usage: 'clone [flags] [-- COMMAND …]',
    doc: 'serve the objects of another cluster here, with simulated nodes, to try an upgrade, a policy or a drain',
    load: async () => (await import('./commands/clone.ts')).clone,
  },
  check: {
    usage: 'check FILE…',
    doc: 'say what is wrong with manifests, with file and line, without a cluster',
    load: async () => (await import('./commands/check/check.ts')).check,
  },
  'rbac-report': {
    usage: 'rbac-report',
    doc: 'say which permissions a run of tests needed, missed and never used',
    load: async () => (await import('./commands/rbac-report/rbac-report.ts')).rbacReport,
  },
  doctor: {
    usage: 'doctor [--fix]',
    doc: 'say what is wrong with a server or a data directory, and mend it item by item',
    load: async () => (await import('./commands/doctor.ts')).doctor,
  },
  inspect: {
    usage: 'inspect [KEY…]',
    doc: 'print records as they are stored, from a data directory, a snapshot or etcd',
    load: async () => (await import('./commands/inspect.ts')).inspect,
  },
  migrate: {
    usage: 'migrate --from … --to …',
    doc: 'copy a cluster between a data directory and etcd',
    load: async () => (await import('./commands/migrate.ts')).migrate,
  },
  kubeconfig: {
    usage: 'kubeconfig [flags]',
    doc: 'print the kubeconfig of a server, or one for --user NAME --group NAME',
    load: async () => (await import('./commands/kubeconfig.ts')).kubeconfig,
  },
  completion: {
    usage: 'completion SHELL',
    doc: 'print a script that completes commands and flags in bash, zsh or fish',
    load: async () => (await import('./commands/completion.ts')).completionOf([...Object.keys(COMMANDS), 'help', 'version']),
  },
}

/** The supervisor of several server processes runs it in each of them; it is not for users. */
const PROCESS_COMMAND = 'serve-process'

/** Runs a command; resolves with the exit code. A server process that was started before all else is the last argument. */
export async function main(args: readonly string[], early?: ChildProcess): Promise<number> {
  const isHelp = ['help', '--help', '-h'].includes(args[0] ?? 'help')
  const [name, ...rest] = isHelp ? args.slice(1) : args
  if (name === undefined) return print((await import('./commands/help.ts')).helpText(COMMANDS))
  if (name === 'version' || name === '--version') return print(`keelson ${VERSION} (Kubernetes 1.37)\n`)
  if (name === PROCESS_COMMAND) return await reported(async () => (await import('./commands/serve-process.ts')).serveProcess(rest))
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined
  if (command && (isHelp || asksForHelp(name, rest))) return print((await import('./commands/help.ts')).helpOf(name, command))
  if (!command) {
    const near = nearestName(name, [...Object.keys(COMMANDS), 'help', 'version'])
    process.stderr.write(`keelson: ${unknownText(`unknown command ${name}`, near, 'keelson help')}\n`)
    return 2
  }
  return await reported(async () => (await command.load())(rest, early))
}

/** Arguments after `--` and those of kubectl belong to another program. */
function asksForHelp(name: string, args: readonly string[]): boolean {
  if (['kubectl', 'kube-apiserver'].includes(name)) return false
  const end = args.indexOf('--')
  return (end < 0 ? args : args.slice(0, end)).some(arg => arg === '--help' || arg === '-h')
}

function print(text: string): 0 {
  process.stdout.write(text)
  return 0
}
