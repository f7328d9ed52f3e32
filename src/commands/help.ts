/** What `keelson help` and `keelson COMMAND --help` print: every command and every flag. */
import { FLAGS } from '../flags/serve-flags.ts'

/** A command as the usage lists it. */
export type Described = { readonly usage: string; readonly doc: string }
type DescribedFlag = readonly [flag: string, doc: string]

const SERVE_FLAGS: readonly DescribedFlag[] = FLAGS.map(({ name, takes, doc }) => [`--${name} ${takes}`.trimEnd(), doc])

/** Flags that a command has in common with serve. */
const asForServe = (...names: readonly string[]): readonly DescribedFlag[] => {
  const starts = names.map(name => `--${name} `)
  return SERVE_FLAGS.filter(([flag]) => starts.some(start => `${flag} `.startsWith(start)))
}

const SERVER: readonly DescribedFlag[] = [
  ['--data-dir DIR', 'data directory of the server (default ./keelson-data)'],
  ['--kubeconfig FILE', 'the kubeconfig that the server was told to write (default DATA_DIR/admin.kubeconfig)'],
]

/** The flags of each command; kubectl and kube-apiserver have help of their own. */
const FLAGS_OF: Readonly<Record<string, { readonly note?: string; readonly flags: readonly DescribedFlag[] }>> = {
  serve: {
    note: 'Write --name value or --name=value. Lists are separated by commas; given several times, they add up.',
    flags: SERVE_FLAGS,
  },
  run: {
    note: 'Those of serve (keelson serve --help), with other defaults: --store memory, --secure-port 0 and a data directory that is removed\nat the end. The command finds KUBECONFIG and KEELSON_URL in its environment, and keelson exits as it does.',
    flags: [],
  },
  kubectl: { flags: [['--data-dir DIR', 'before the arguments of kubectl: data directory of the server (default ./keelson-data)']] },
  history: {
    note: 'KIND is a plural, singular or short name or a kind, with its group where that is needed: deployments.apps.',
    flags: [['-n, --namespace NAMESPACE', 'namespace of the object (default default)'], ...SERVER],
  },
  envtest: {
    note: 'For harnesses: export KUBEBUILDER_ASSETS=$(keelson envtest).',
    flags: [['--dir DIR', 'the folder to put them in (default: one in the cache of the user)']],
  },
  migrate: {
    note: 'Stop the servers of both sides first. Nothing is written over; one that was cut off goes on when it is run again.',
    flags: [
      ['--from embedded:DIR | etcd:URL,…', 'the cluster to copy: a data directory, or the members of an etcd'],
      ['--to embedded:DIR | etcd:URL,…', 'where to: a directory that is empty or not there, or an etcd with nothing below --etcd-prefix'],
      ['--skip-unreadable', 'leave behind records that cannot be read, and name them'],
      ...asForServe('etcd-cafile', 'etcd-certfile', 'etcd-keyfile', 'etcd-prefix', 'group-domain'),
    ],
  },
  kubeconfig: { flags: SERVER },
}

/** Commands, and the flags of all of them: those of serve, which are many, last. */
export function helpText(commands: Readonly<Record<string, Described>>): string {
  const others = Object.keys(FLAGS_OF).filter(name => name !== 'serve')
  return `keelson — a Kubernetes-compatible API server that starts in milliseconds

Usage
${Object.values(commands).map(usageLine).join('\n')}
  keelson ${'version'.padEnd(26)} print the version
  keelson ${'help'.padEnd(26)} print this; keelson COMMAND --help prints what is about one command

The first minute
  keelson serve &
  export KUBECONFIG=$PWD/keelson-data/admin.kubeconfig
  kubectl create configmap hello --from-literal=who=world
  kubectl get configmaps

${[...others, 'serve'].map(flagsOf).join('\n')}`
}

/** The same about one command. */
export const helpOf = (name: string, command: Described): string => `Usage\n${usageLine(command)}\n\n${flagsOf(name)}`

const usageLine = ({ usage, doc }: Described) => `  keelson ${usage.padEnd(26)} ${doc}`

function flagsOf(name: string): string {
  const { note, flags } = FLAGS_OF[name] ?? { flags: [] }
  const lines = [`Flags of ${name}`, ...(note === undefined ? [] : [note]), ...(flags.length > 0 ? ['', ...flags.map(flagLines)] : [])]
  return `${lines.join('\n')}\n`
}

const FLAG_WIDTH = 38
const flagLines = ([flag, doc]: DescribedFlag) =>
  flag.length <= FLAG_WIDTH ? `  ${flag.padEnd(FLAG_WIDTH)} ${doc}` : `  ${flag}\n  ${' '.repeat(FLAG_WIDTH)} ${doc}`
