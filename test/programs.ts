/**
 * Finds the programs that tests run: named in the environment, on PATH, or installed from npm for tests alone
 * (scripts/install-programs.mjs), and other requirements of a machine. A test that lacks one is not run, and `npm test` says so at its end.
 */
import { accessSync, appendFileSync, constants, existsSync, realpathSync } from 'node:fs'
import { networkInterfaces } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'

type Program = {
  /** An environment variable that names paths of it, separated as in PATH. */
  readonly variable: string
  /** Its names on PATH; empty if any on PATH would be another program. */
  readonly commands: readonly string[]
  /** Its path among the packages installed from npm. */
  readonly installed?: string
  /** Finds files that are no programs. */
  readonly find?: () => readonly string[]
  /** How to get it. */
  readonly hint: string
  /** CI may run without it where it is not available: the last line still reports it. */
  readonly isOptional?: boolean
}

/** An IPv4 address of this machine that others can reach. */
export const OWN_ADDRESS = Object.values(networkInterfaces())
  .flat()
  .find(address => address?.family === 'IPv4' && !address.internal)?.address

const PROGRAMS = {
  kubectl: { variable: 'KUBECTL', commands: ['kubectl'], installed: 'bin/kubectl', hint: 'Debian: apt-get install kubernetes-client' },
  helm: {
    variable: 'HELM',
    commands: ['helm'],
    installed: 'bin/helm',
    hint: 'https://helm.sh/docs/intro/install',
    isOptional: process.arch !== 'x64',
  },
  'systemd-notify': { variable: 'SYSTEMD_NOTIFY', commands: ['systemd-notify'], hint: 'Debian: apt-get install systemd', isOptional: true },
  python3: { variable: 'PYTHON3', commands: ['python3'], hint: 'Debian: apt-get install python3' },
  go: { variable: 'GO', commands: ['go'], hint: 'Debian: apt-get install golang-go', isOptional: true },
  'kubernetes-source': {
    variable: 'KUBERNETES_SOURCE',
    commands: [],
    hint: 'a checkout of kubernetes/kubernetes, whose client-go is compiled; GO names a Go that is new enough for it',
    isOptional: true,
  },
  javac: { variable: 'JAVAC', commands: ['javac'], hint: 'Debian: apt-get install default-jdk-headless', isOptional: true },
  // Files, which the JDK runs.
  junit5: {
    variable: 'JUNIT5',
    commands: [],
    find: () => ['/usr/share/java'].filter(folder => existsSync(join(folder, 'junit-platform-console.jar'))),
    hint: 'Debian: apt-get install junit5 default-jdk-headless',
    isOptional: true,
  },
  cargo: { variable: 'CARGO', commands: ['cargo'], hint: 'Debian: apt-get install cargo', isOptional: true },
  'ansible-playbook': {
    variable: 'ANSIBLE_PLAYBOOK',
    commands: ['ansible-playbook'],
    hint: 'Debian: apt-get install ansible python3-kubernetes',
    isOptional: true,
  },
  pytest: {
    variable: 'PYTEST',
    commands: ['pytest', 'pytest-3'],
    hint: 'Debian: apt-get install python3-pytest python3-kubernetes',
    isOptional: true,
  },
  etcd: { variable: 'ETCD', commands: ['etcd'], hint: 'Debian: apt-get install etcd-server' },
  etcdctl: { variable: 'ETCDCTL', commands: ['etcdctl'], hint: 'Debian: apt-get install etcd-client', isOptional: true },
  openssl: { variable: 'OPENSSL', commands: ['openssl'], hint: 'Debian: apt-get install openssl' },
  // The headless shell takes half the processor time of a browser that could also show its pages.
  chromium: {
    variable: 'CHROMIUM',
    commands: ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome'],
    hint: 'Debian: apt-get install chromium-headless-shell',
  },
  'node-18': { variable: 'NODE_18', commands: [], installed: 'node_modules/node-18/bin/node', hint: 'node scripts/install-programs.mjs' },
  'node-20.0': {
    variable: 'NODE_20_0',
    commands: [],
    installed: 'node_modules/node-20.0/bin/node',
    hint: 'node scripts/install-programs.mjs',
  },
  jest: { variable: 'JEST', commands: [], installed: '../jest/node_modules/jest/bin/jest.js', hint: 'node scripts/install-programs.mjs' },
  'node-26': { variable: 'NODE_26', commands: [], installed: 'node_modules/node-26/bin/node', hint: 'node scripts/install-programs.mjs' },
  nsenter: {
    variable: 'NSENTER',
    commands: ['nsenter'],
    hint: 'Debian: apt-get install util-linux; user namespaces must be allowed',
    isOptional: true,
  },
  prlimit: {
    variable: 'PRLIMIT',
    commands: ['prlimit'],
    hint: 'Debian: apt-get install util-linux',
    isOptional: process.platform !== 'linux',
  },
  // Not a program, but a privilege: only root can give files to other users.
  root: {
    variable: 'KEELSON_ROOT',
    commands: [],
    find: () => (process.getuid?.() === 0 ? ['root'] : []),
    hint: 'run the tests as root',
    isOptional: true,
  },
  'another user': {
    variable: 'KEELSON_USER',
    commands: [],
    hint: 'run the tests as another user than root, or where every user may read this checkout',
    isOptional: true,
  },
  'a Node that becomes an executable': {
    variable: 'KEELSON_EXECUTABLE_NODE',
    commands: [],
    find: () => (process.platform === 'linux' && 'getAsset' in (process.getBuiltinModule?.('node:sea') ?? {}) ? [process.execPath] : []),
    hint: 'run the tests on Linux with Node 20.16 or newer',
    isOptional: process.platform !== 'linux',
  },
  // Not a program, but the kubeconfig of an API server that tests may write to.
  'another API server': {
    variable: 'KEELSON_TEST_KUBECONFIG',
    commands: [],
    find: () => pathsIn(process.env['KEELSON_TEST_KUBECONFIG']).filter(path => existsSync(path)),
    hint: 'the kubeconfig of a kube-apiserver, with an administrator',
    isOptional: true,
  },
  // Services and pods must not have loopback addresses.
  'own address': {
    variable: 'KEELSON_ADDRESS',
    commands: [],
    find: () => (OWN_ADDRESS === undefined ? [] : [OWN_ADDRESS]),
    hint: 'an IPv4 address beside the loopback',
  },
} as const satisfies Record<string, Program>

export type ProgramName = keyof typeof PROGRAMS

const INSTALLED = join(dirname(fileURLToPath(import.meta.url)), 'programs', `${process.platform}-${process.arch}`)

/** Every program of a name, each once, the preferred one first. */
export function programsNamed(name: ProgramName): string[] {
  const { variable, commands, installed, find }: Program = PROGRAMS[name]
  if (find) return [...find()]
  const named = pathsIn(process.env[variable])
  const onPath = commands.flatMap(command => pathsIn(process.env['PATH']).map(folder => join(folder, command)))
  const fromNpm = installed === undefined ? [] : [join(INSTALLED, installed)]
  // The second kubectl on PATH must not be used.
  const found = [...named.filter(isProgram), ...onPath.filter(isProgram).slice(0, 1), ...fromNpm.filter(isProgram)]
  return [...new Set(found.map(path => realpathSync(path)))]
}

/** A test that runs a program and receives its path. */
export function testWith(
  name: ProgramName,
  title: string,
  options: { readonly timeout?: number },
  body: (t: TestContext, program: string) => Promise<void>,
): void {
  const [program] = programsNamed(name)
  if (program !== undefined) test(title, options, t => body(t, program))
  else skip(name, title)
}

/** A test that runs several programs, whose paths it is handed by their names. */
export function testWithAll<Name extends ProgramName>(
  names: readonly Name[],
  title: string,
  options: { readonly timeout?: number },
  body: (t: TestContext, programs: Readonly<Record<Name, string>>) => Promise<void>,
): void {
  const missing = names.find(name => programsNamed(name).length === 0)
  const programs = Object.fromEntries(names.map(name => [name, programsNamed(name)[0]])) as Record<Name, string>
  if (missing === undefined) test(title, options, t => body(t, programs))
  else skip(missing, title)
}

/** One test for each program of a name. */
export function testWithEach(
  name: ProgramName,
  title: (program: string) => string,
  options: { readonly timeout?: number },
  body: (t: TestContext, program: string) => Promise<void>,
): void {
  const programs = programsNamed(name)
  for (const program of programs) test(title(program), options, t => body(t, program))
  if (programs.length === 0) skip(name, title(name))
}

/** Skips a test, and records that in the file where `npm test` (scripts/test.mjs) collects it. */
function skip(name: ProgramName, title: string): void {
  test(title, { skip: noteNotRun(name, title) })
}

/** Records that a test was not run because a program is missing, and returns the reason. */
export function noteNotRun(name: ProgramName, title: string): string {
  const { hint, isOptional = false }: Program = PROGRAMS[name]
  const collected = process.env['KEELSON_TESTS_NOT_RUN']
  if (collected !== undefined) appendFileSync(collected, `${JSON.stringify({ program: name, hint, title, isOptional })}\n`)
  return `this machine lacks ${name} (${hint})`
}

const pathsIn = (list = '') => list.split(delimiter).filter(path => path !== '')

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
