/** The commands of agnhost, the test image of Kubernetes: it waits, serves, or prints what its container was given. */
import { posix } from 'node:path'
import { goQuote } from '../../lib/go-text.ts'
import type { ContainerInputs, File, FileFound } from './container-inputs.ts'
import type { Understood } from './understood.ts'

export const isAgnhost = (image: string): boolean => /(^|\/)agnhost(:|@|$)/.test(image)

const FOREVER: Understood = { runMs: Number.POSITIVE_INFINITY, exitCode: 0, log: '', lastWords: '' }

/** Commands that serve, with the flags for their ports and the default ports; none where they are unknown. */
const SERVING: ReadonlyMap<string, Readonly<Record<string, number>> | undefined> = new Map([
  ['netexec', { 'http-port': 8080, 'udp-port': 8081, 'sctp-port': -1 }],
  ['nettest', { port: 8080 }],
  ['serve-hostname', { port: 9376 }],
  ['test-webserver', { port: 80 }],
  ['liveness', { port: 8080 }],
  ['grpc-health-checking', { port: 5000, 'http-port': 8080 }],
  ...['porter', 'webhook', 'crd-conversion-webhook', 'guestbook'].map(name => [name, undefined] as const),
])

/** Undefined for an unknown command. The first word is the program. */
export function runAgnhost(words: readonly string[], inputs: ContainerInputs): Understood | undefined {
  const [, subcommand = 'pause', ...args] = words
  if (subcommand === 'pause') return { ...FOREVER, log: 'Paused\n', ports: [] }
  if (SERVING.has(subcommand)) {
    const ports = SERVING.get(subcommand)
    const unhealthyMs = subcommand === 'liveness' ? 10_000 : subcommand === 'grpc-health-checking' ? unhealthyAfter(args) : undefined
    return { ...FOREVER, ...(ports && { ports: portsOf(ports, args) }), ...(unhealthyMs !== undefined && { unhealthyMs }) }
  }
  if (subcommand === 'etc-hosts') return printedFile('/etc/hosts', inputs)
  if (subcommand === 'logs-generator') return generatedLog(args)
  if (subcommand === 'entrypoint-tester') return { ...FOREVER, runMs: 0, log: `[${words.join(' ')}]\n` }
  return subcommand === 'mounttest' ? mountTest(args, inputs) : undefined
}

function printedFile(path: string, { file }: ContainerInputs): Understood | undefined {
  const found = file(path)
  return typeof found === 'object' && found.content !== undefined ? { ...FOREVER, runMs: 0, log: `${found.content}\n` } : undefined
}

const LOGGED_NAMESPACES = ['kube-system', 'default', 'ns']

/** Prints a number of lines over a time, as the log of an API server. */
function generatedLog(args: readonly string[]): Understood | undefined {
  const text = ` ${args.join(' ')} `
  const [, count = ''] = / (?:--log-lines-total|-t)[= ](\d{1,4}) /.exec(text) ?? []
  const [, seconds = ''] = / (?:--run-duration|-d)[= ](\d{1,6})s /.exec(text) ?? []
  if (count === '' || seconds === '') return undefined
  const lines = Array.from(
    { length: Number(count) },
    (_, i) => `${i} GET /api/v1/namespaces/${LOGGED_NAMESPACES[i % 3]}/pods/pod-${i} 200\n`,
  )
  return { ...FOREVER, runMs: Number(seconds) * 1000, log: lines.join(''), ports: [] }
}

const portsOf = (ports: Readonly<Record<string, number>>, args: readonly string[]): number[] =>
  Object.entries(ports).map(([flag, usual]) => Number(flagOf(args, flag) ?? usual))

/** The value of a flag, `--port 80` or `--port=80`. */
const flagOf = (args: readonly string[], flag: string): string | undefined =>
  new RegExp(`(?:^| )--?${flag}[= ](\\d{1,9})(?: |$)`).exec(args.join(' '))?.[1]

function unhealthyAfter(args: readonly string[]): number | undefined {
  const seconds = flagOf(args, 'delay-unhealthy-sec')
  return seconds === undefined ? undefined : Number(seconds) * 1000
}

const NEW_CONTENT = 'mount-tester new file\n'
const NEW_FILES: Readonly<Record<string, number>> = {
  new_file_0644: 0o644,
  new_file_0666: 0o666,
  new_file_0660: 0o660,
  new_file_0777: 0o777,
}

/** Prints facts about files, in a fixed order. */
function mountTest(args: readonly string[], inputs: ContainerInputs): Understood | undefined {
  const flags = new Map(args.map(arg => /^--?(\w+)(?:=(.*))?$/s.exec(arg) ?? []).map(([, name = '', value = 'true']) => [name, value]))
  const written = new Map<string, File>()
  const at = (path: string): FileFound => written.get(path) ?? inputs.file(path)
  let log = ''
  let failed = false
  for (const [flag, tell] of TELLING) {
    const path = flags.get(flag)
    if (path === undefined) continue
    if (Object.hasOwn(NEW_FILES, flag)) written.set(path, newFile(path, NEW_FILES[flag]!, inputs))
    const found = at(path)
    const facts = found === 'unknown' ? undefined : tell(path, found)
    if (facts === undefined) return undefined
    failed ||= found === 'missing'
    log += facts
  }
  const isLooping = flags.has('file_content_in_loop') && flags.get('break_on_expected_content') === 'false'
  const runMs = isLooping ? Number(flags.get('retry_time') ?? 180) * 1000 : 0
  return Number.isNaN(runMs) ? undefined : { runMs, exitCode: failed ? 1 : 0, log, lastWords: '' }
}

/** A new file belongs to its writer, and to the group of its directory where a kubelet has set one. */
function newFile(path: string, mode: number, { identity, file }: ContainerInputs): File {
  const directory = file(posix.dirname(path))
  const { user = 0, group: own = 0 } = identity?.() ?? {}
  const group = typeof directory === 'object' && directory.group !== 0 ? directory.group : own
  return { content: NEW_CONTENT, mode, owner: user, group }
}

type Tell = (path: string, found: File | 'missing') => string | undefined

const NOT_THERE = 'no such file or directory'
const stated =
  (about: (path: string, file: File) => string | undefined): Tell =>
  (path, found) =>
    found === 'missing' ? `error from Stat(${goQuote(path)}): stat ${path}: ${NOT_THERE}\n` : about(path, found)

const contentOf: Tell = (path, found) => {
  if (found === 'missing') return `error reading file content for ${goQuote(path)}: open ${path}: ${NOT_THERE}\n`
  return found.content === undefined ? undefined : `content of file ${goQuote(path)}: ${found.content}\n`
}

const TELLING: readonly (readonly [string, Tell])[] = [
  ['fs_type', stated((path, { fileSystem }) => (fileSystem === undefined ? undefined : `mount type of ${goQuote(path)}: ${fileSystem}\n`))],
  ...Object.keys(NEW_FILES).map(flag => [flag, contentOf] as const),
  ['file_mode', stated((path, { mode, isDirectory }) => `mode of file ${goQuote(path)}: ${isDirectory ? 'd' : '-'}${bits(mode)}\n`)],
  ['file_perm', stated((path, { mode }) => `perms of file ${goQuote(path)}: -${bits(mode)}\n`)],
  [
    'file_owner',
    stated((path, { owner = 0, group }) => `owner UID of ${goQuote(path)}: ${owner}\nowner GID of ${goQuote(path)}: ${group}\n`),
  ],
  ['file_content', contentOf],
  [
    'file_content_in_loop',
    (path, found) => (found === 'missing' ? `Error reading file ${path}: open ${path}: ${NOT_THERE}, retrying\n` : contentOf(path, found)),
  ],
]

const bits = (mode: number): string => [...'rwxrwxrwx'].map((bit, i) => ((mode >> (8 - i)) & 1 ? bit : '-')).join('')
