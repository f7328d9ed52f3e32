/** The output of `keelson help` (all commands) and `keelson help COMMAND` (all flags of one). */
import { FLAGS } from '../flags/serve-flags.ts'
import { RECORD_FLAGS } from './record-flags.ts'

/** A command in the usage. */
export type Described = { readonly usage: string; readonly doc: string }
type DescribedFlag = readonly [flag: string, doc: string]

const SERVE_FLAGS: readonly DescribedFlag[] = FLAGS.map(({ name, takes, doc }) => [`--${name} ${takes}`.trimEnd(), doc])

/** Flags that a command shares with serve. */
const asForServe = (...names: readonly string[]): readonly DescribedFlag[] => {
  const starts = names.map(name => `--${name} `)
  return SERVE_FLAGS.filter(([flag]) => starts.some(start => `${flag} `.startsWith(start)))
}

const SERVER: readonly DescribedFlag[] = [
  ['--data-dir DIR', 'data directory of the server (default ./keelson-data)'],
  ['--kubeconfig FILE', 'the kubeconfig that the server writes (default DATA_DIR/admin.kubeconfig)'],
  ['--context-name NAME', 'the context of the server in that kubeconfig (default keelson)'],
]

const FOR_TESTS = 'For a server with --test-endpoints, as that of keelson run is; inside of keelson run it is found by the environment.'

/** The flags of each command; kubectl and kube-apiserver have help of their own. */
const FLAGS_OF: Readonly<Record<string, { readonly note?: string; readonly flags: readonly DescribedFlag[] }>> = {
  serve: {
    note: 'Write --name value or --name=value. Lists are separated by commas; repeated flags add up.',
    flags: SERVE_FLAGS,
  },
  run: {
    note: 'The flags of serve (keelson serve --help), with other defaults: --store memory, --secure-port 0 and a data directory that is removed\nat the end. The command has KUBECONFIG and KEELSON_URL in its environment, and keelson exits with its exit code.',
    flags: [],
  },
  kubectl: { flags: [['--data-dir DIR', 'before the arguments of kubectl: data directory of the server (default ./keelson-data)']] },
  history: {
    note: 'KIND is a plural, singular or short name or a kind, with its group if necessary: deployments.apps.',
    flags: [['-n, --namespace NAMESPACE', 'namespace of the object (default default)'], ...SERVER],
  },
  console: {
    note: `Prints a link that logs in once, within a minute, and opens it in the browser. The console then has the rights of that user; keelson
kubeconfig --user makes kubeconfigs of others. See docs/console.md.`,
    flags: [['--print', 'only print the link'], ...SERVER],
  },
  envtest: {
    note: 'For harnesses: export KUBEBUILDER_ASSETS=$(keelson envtest).',
    flags: [
      ['--dir DIR', 'the folder for the programs (default: one in the cache of the user)'],
      [
        '--controllers all|NAME,…',
        'controllers that run with the server: namespace, garbagecollector and others (default: none, as in envtest)',
      ],
      ['--nodes N', 'simulated nodes, on which pods run, with all controllers unless --controllers names some (default 0)'],
    ],
  },
  snapshot: {
    note: `save FILE      all records at one revision, from the server of a data directory while it runs, or from a directory without a server;
               needs the right to get the nonResourceURL /keelson/v1/store/snapshot
status FILE    checks every byte; prints revision, objects by kind, size, hash, and what is encrypted
restore FILE   makes a data directory; revisions move forward, so that clients list again

create [NAME]  in a server with --test-endpoints: keeps its state in memory; list shows such snapshots
revert NAME    puts that server back to the state, in milliseconds; delete NAME forgets it

For servers on etcd use etcdctl snapshot save; keelson migrate copies a cluster between the two. See docs/backup.md.`,
    flags: [
      ...SERVER,
      ['--output text|json', 'for status (default text)'],
      ['--bump-revision N', 'for restore: how far revisions move (default: 1000000000, and 1000 for each millisecond since the snapshot)'],
    ],
  },
  reset: { note: FOR_TESTS, flags: SERVER },
  clock: {
    note: `keelson clock                   prints the time of the server
keelson clock freeze            stops it; resume lets it go on from there
keelson clock advance 24h       timers on the way fire in order and at their time
keelson clock set TIME          the same, to a time in RFC 3339 that is not before the server's

${FOR_TESTS}`,
    flags: SERVER,
  },
  faults: {
    note: `keelson faults                  lists them, with how often each matched and struck
keelson faults add '{"verb": "create", "resource": "pods", "status": 503}'
keelson faults remove ID        keelson faults clear removes all

${FOR_TESTS} See docs/testing-controllers.md for all fields.`,
    flags: SERVER,
  },
  requests: {
    note: `keelson requests                          those since the start or the last reset, oldest first
keelson requests verb=create status=4xx   filters: user, userAgent, verb, resource, namespace, name, status

${FOR_TESTS} Others record from the first look on.`,
    flags: [...SERVER, ['--output text|json', 'a table, or a line of JSON for each (default text)']],
  },
  workspace: {
    note: `keelson workspace create [NAME]       makes one and prints its kubeconfig
keelson workspace list
keelson workspace kubeconfig NAME     prints the kubeconfig again
keelson workspace delete NAME         deletes it with everything in it

For a server that was started with --workspaces. See docs/workspaces.md.`,
    flags: [
      ['--from workspace/NAME|snapshot/NAME', 'begin as a copy of another workspace, or with a snapshot of the server'],
      ['--controllers LIST', 'controllers that run in it, as serve takes them (default: none)'],
      ['--nodes N', 'simulated nodes in it (default 0)'],
      ['--api SET', "built-in kinds in it: none, minimal or all (default: the server's)"],
      ['--output FILE', 'write the kubeconfig to a file'],
      ...SERVER,
    ],
  },
  explore: {
    note: `COMMAND is a controller, which has KUBECONFIG and KEELSON_URL in its environment. It runs beside a workload, first undisturbed and then
again and again with one perturbation: a restart at a server that is behind (stale), an event and its opposite that are not seen
(unobserved), kill -9 between two writes (intermediate), a conflict, a timeout with the write made or not. A final state that differs is a
finding, and so is a broken invariant. Exits with 0 without findings, 3 with some, 1 when nothing was explored. See docs/explore.md.
The flags of serve (keelson serve --help) are for the server, which is in memory: --apply for definitions, for example.`,
    flags: [
      ['--objects FILE|DIR,…', 'manifests to apply once the command runs'],
      ['--workload COMMAND', 'a command of sh that acts as users do, with the rights of the administrator; its end is the end of a run'],
      ['--user NAME', 'the user of the command, with the rights of its roles (default: program, who may do everything)'],
      ['--user-agent TEXT', 'only requests with this text in their User-Agent are those of the program'],
      ['--restart always|on-failure|never', 'when the command is started again; with never it is not killed (default on-failure)'],
      ['--perturbations KIND,…', 'stale, unobserved, intermediate, conflict, timeout (default: all)'],
      ['--invariants FILE', 'conditions on every final state, in YAML'],
      ['--ignore KIND[:FIELD],…', 'differences that do not matter, such as Widget:status.attempts'],
      ['--budget DURATION', 'when no further perturbation is begun (default 5m)'],
      ['--seed N', 'decides the order in which perturbations are tried (default 1)'],
      ['--only ID', 'try the perturbation of a finding alone'],
      ['--quiet DURATION', 'a run is over when nothing has happened for this time (default 500ms)'],
      ['--patience DURATION', 'how long nothing must happen before a difference is a finding (default 10s)'],
      ['--show-output', 'show the output of the command and the workload'],
      ['--verbose', 'print each perturbation when it is tried'],
      ['--output text|json', 'for people or for programs (default text)'],
    ],
  },
  record: {
    note: `As keelson run, with the flags of serve (keelson serve --help); the server is in memory. FILE gets the state before the command, every
change with its revision and time, the requests, the faults and their seed. Secrets are in it. Exits with the exit code of the command.`,
    flags: [],
  },
  replay: {
    note: `Starts a server with the objects, the time and the faults of a moment of a run that keelson record has kept. Without a command it is
there to look at until Ctrl-C: no controller runs, and the clock stands still. With a command after two dashes, the server has the flags
of the recorded one, and those that are given here. resourceVersions go on from the start of this server.`,
    flags: [
      ['--to REVISION', 'the moment: after this revision and before the next one (default: the last one)'],
      ['--list', 'print the revisions, requests and faults of the run, and start nothing'],
    ],
  },
  clone: {
    note: `Reads all objects that the user of a kubeconfig may list, and changes nothing there. Here they keep their names, uids and status, without
admission; nodes are simulated, with their names, labels, capacity and taints. Values of secrets are replaced. Serves until Ctrl-C, or as
long as a command after two dashes runs, with KUBECONFIG in its environment. keelson reset brings the clone back to its beginning.
The flags of serve (keelson serve --help) are for the server here, which is in memory unless --store embedded and a new --data-dir say
otherwise.`,
    flags: [
      ['--from KUBECONFIG', 'the cluster to clone (default: $KUBECONFIG, or ~/.kube/config)'],
      ['--context NAME', 'the context in it (default: the current one)'],
      ['--include-secrets', 'clone the values of secrets, too'],
      ['--include-webhooks', 'clone the configurations of webhooks, which cannot be reached here unless they have URLs'],
    ],
  },
  check: {
    note: `Checks files and folders of YAML and JSON by everything Kubernetes 1.37 checks: fields, rules, CEL, policies, quotas, Pod Security and
deprecations. Objects are created in a server in memory that ends with the command: custom kinds are known if their definitions are among
the manifests or the policies, and quotas add up. Exits with 0 when nothing is wrong, 3 when something is, 1 when nothing was checked.`,
    flags: [
      ['--policies FILE|DIR,…', 'manifests to apply before: policies, definitions, quotas, namespaces with Pod Security labels'],
      ['--skip-unknown-kinds', 'say nothing about objects of custom kinds whose definitions are not there'],
      ['--fail-on error|warning', 'exit with 3 for these (default error)'],
      ['--output text|json|sarif', 'for people, for programs, or for code hosts (default text)'],
    ],
  },
  'rbac-report': {
    note: `Reports on every user with roles who has sent requests since the start: what was refused, which permissions of their roles no request
needed, and the smallest roles that allow what was done, as YAML. Administrators (system:masters) need no roles and are left out.

${FOR_TESTS}`,
    flags: [
      ['--user NAME', 'this user alone: jane, or system:serviceaccount:NAMESPACE:NAME'],
      ['--include-refused', 'the smallest roles allow what was refused, too'],
      ['--output text|yaml|json', 'the report, the smallest roles alone, or everything for programs (default text)'],
      ...SERVER,
    ],
  },
  doctor: {
    note: `Looks at the store and every record in it, certificates, webhooks, APIServices, deletions that are stuck, slow requests and clocks: of
the server of a data directory while it runs, with the right to get the nonResourceURL /keelson/v1/doctor, or of a directory without a
server. Changes nothing without --fix. Exits with 0 when all is well, 3 when something is wrong, 1 when nothing could be examined.`,
    flags: [
      ['--fix', 'mend what can be mended, one by one: remove unreadable records, renew certificates, close files'],
      ['--yes', 'with --fix: remove unreadable records without asking'],
      ['--output text|json', 'for people or for programs (default text)'],
      ...SERVER,
    ],
  },
  inspect: {
    note: `KEY is a key as it is stored (/registry/pods/default/a, /core/pods/default/a), or kind, namespace and name (pod/default/a, node/a,
widgets.example.com/default/a). A part of one, such as pods, pods/default or /registry/pods/, lists the keys that begin so; no KEY lists
all resources. A data directory is read while no server uses it; of a running server, save
a snapshot and read that.`,
    flags: [
      ['--data-dir DIR', 'read the data directory of a server (default ./keelson-data)'],
      ['--snapshot FILE', 'read a file of keelson snapshot save'],
      ['--output yaml|json|raw', 'yaml: the object after comments with revision, size and checksum; raw: the bytes (default yaml)'],
      ...asForServe('etcd-servers', ...RECORD_FLAGS),
    ],
  },
  migrate: {
    note: 'Stop the servers of both sides first. Nothing is overwritten; an interrupted migration continues when it is run again.',
    flags: [
      ['--from embedded:DIR | etcd:URL,…', 'the cluster to copy: a data directory, or the members of an etcd'],
      ['--to embedded:DIR | etcd:URL,…', 'the destination: an empty or new directory, or an etcd with nothing below --etcd-prefix'],
      ['--skip-unreadable', 'skip records that cannot be read, and list them'],
      ...asForServe(...RECORD_FLAGS),
    ],
  },
  kubeconfig: {
    note: 'Only the context of the server, whatever else is in the file. With --user, for a user of the server with that data directory:\nthe certificate is valid for a year, and permissions come from roles bound to the user or the groups.',
    flags: [['--user NAME', 'user to certify (default: the admin)'], ['--group NAME,…', 'groups of that user'], ...SERVER],
  },
  completion: {
    note: 'bash: source <(keelson completion bash)   zsh: source <(keelson completion zsh)   fish: keelson completion fish | source',
    flags: [],
  },
}

/** All commands, one per line; their flags are in `keelson help COMMAND`. */
export function helpText(commands: Readonly<Record<string, Described>>): string {
  return `keelson — a Kubernetes-compatible API server that starts in milliseconds

Usage
${Object.values(commands).map(usageLine).join('\n')}
  keelson ${'version'.padEnd(26)} print the version
  keelson ${'help [COMMAND]'.padEnd(26)} print this, or the flags of a command: keelson help serve

The first minute
  keelson serve &
  export KUBECONFIG=$PWD/keelson-data/admin.kubeconfig
  kubectl create configmap hello --from-literal=who=world && kubectl get configmaps
`
}

/** One command with its flags. */
export const helpOf = (name: string, command: Described): string => `Usage\n${usageLine(command)}\n\n${flagsOf(name)}`

const usageLine = ({ usage, doc }: Described) => `  keelson ${usage.padEnd(26)} ${doc}`

function flagsOf(name: string): string {
  const { note, flags } = FLAGS_OF[name] ?? { flags: [] }
  const lines = [`Flags of ${name}`, ...(note === undefined ? [] : [note]), ...(flags.length > 0 ? ['', ...flags.map(flagLines)] : [])]
  return `${lines.join('\n')}\n`
}

const FLAG_WIDTH = 38
/** Commands that take the flags of the server that they start. */
const WITH_SERVER: ReadonlySet<string> = new Set(['run', 'explore', 'record', 'replay', 'clone'])
/** The names of a command's flags, for completion. */
export const flagNamesOf = (name: string): string[] =>
  (FLAGS_OF[name]?.flags ?? [])
    .flatMap(([flag]) => flag.match(/--[a-z0-9-]+/g) ?? [])
    .concat(WITH_SERVER.has(name) ? flagNamesOf('serve') : [])

const flagLines = ([flag, doc]: DescribedFlag) =>
  flag.length <= FLAG_WIDTH ? `  ${flag.padEnd(FLAG_WIDTH)} ${doc}` : `  ${flag}\n  ${' '.repeat(FLAG_WIDTH)} ${doc}`
