/** `keelson envtest`: prints a folder with the programs that test harnesses start, for KUBEBUILDER_ASSETS. */
import { createHash } from 'node:crypto'
import { accessSync, constants, realpathSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join, posix, resolve, win32 } from 'node:path'
import { readFlags } from '../flags/read-flags.ts'
import { UsageError } from '../flags/usage-error.ts'
import { IS_EXECUTABLE } from '../lib/executable.ts'
import { makeFolders } from '../lib/folders.ts'
import { replaceFile } from '../lib/private-files.ts'
import { checkConfig } from '../server/config.ts'
import { trustPlace } from '../server/files/trusted-files.ts'
import { VERSION } from '../version.ts'
import { type Arguments, readArguments } from './arguments.ts'
import type { Command } from './command.ts'

const USAGE = 'keelson envtest [--dir DIR] [--controllers all|NAME,…] [--nodes N]'

export const envtest: Command = async args => {
  const given = readArguments(args, { flags: ['dir', 'controllers', 'nodes'], usage: USAGE })
  if (given.rest.length > 0) throw new UsageError(`what is ${given.rest[0]}? ${USAGE}`)
  const components = componentFlags(given)
  const programs = programsOf({ ...ownPrograms(), kubectl: kubectlOnPath(), components }, process.platform)
  const dir = given.value('dir')
  const folder = dir === undefined ? join(cacheFolder(), 'keelson', `envtest-${VERSION}-${digest(programs)}`) : resolve(dir)
  makeFolders(folder, 0o755)
  // Any other user with write permission there could change the programs before they are started.
  const { path } = trustPlace(folder, message => process.stderr.write(`keelson: ${message}\n`))
  // Replaced atomically: another run may be about to start the existing one.
  for (const [name, script] of Object.entries(programs)) replaceFile(join(path, name), script, 0o755)
  process.stdout.write(`${folder}\n`)
  return 0
}

/** The flags by which the programs run controllers and nodes as well. Throws ConfigError for names that no controller has. */
function componentFlags(given: Arguments): readonly string[] {
  const controllers = given.value('controllers')
  const flags = [
    ...(controllers === undefined ? [] : [`--controllers=${controllers === 'all' ? '*' : controllers}`]),
    ...given.only(['nodes']),
  ]
  checkConfig(readFlags(flags))
  return flags
}

/** The commands of this package, or of the single executable. */
function ownPrograms(): Pick<Programs, 'keelson' | 'etcd'> {
  const node = process.execPath
  if (IS_EXECUTABLE) return { keelson: [node], etcd: [node, 'etcd'] }
  // The command is run as `node PACKAGE/bin/keelson.js envtest`, or through npm's link to it.
  const bin = dirname(realpathSync(process.argv[1] ?? ''))
  return { keelson: [node, join(bin, 'keelson.js')], etcd: [node, join(bin, 'etcd.js')] }
}

const cacheFolder = () => process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache')
const digest = (programs: object) => createHash('sha256').update(JSON.stringify(programs)).digest('hex').slice(0, 12)
const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`

export type Programs = {
  /** The commands of `keelson` and of the stand-in for etcd. */
  readonly keelson: readonly string[]
  readonly etcd: readonly string[]
  readonly kubectl: string | undefined
  /** Flags for controllers and nodes. */
  readonly components: readonly string[]
}

/** Files by name. Scripts of a Unix shell replace themselves by their program (exec), so that signals reach it. */
export function programsOf({ keelson, etcd, kubectl, components }: Programs, platform: NodeJS.Platform): Record<string, string> {
  // No process stays behind when a harness is killed.
  const server = [...keelson, 'kube-apiserver', '--exit-with-parent', ...components]
  const commands = {
    'kube-apiserver': server,
    etcd: [...etcd, '--exit-with-parent'],
    kubectl: kubectl === undefined ? undefined : [kubectl],
  }
  const filesOf = platform === 'win32' ? commandFile : shellScript
  return Object.assign({}, ...Object.entries(commands).map(([name, command]) => filesOf(name, command))) as Record<string, string>
}

const NO_KUBECTL = 'kubectl: none was on the PATH when keelson envtest was run; install one and run it again'

function shellScript(name: string, command: readonly string[] | undefined): Record<string, string> {
  const last = command ? `exec ${command.map(quoted).join(' ')} "$@"` : `echo '${NO_KUBECTL}' >&2\nexit 127`
  return { [name]: `#!/bin/sh\n${last}\n` }
}

/**
 * For Windows: a command file, and beside it a script of Node where the program is one. The script has the arguments, so that none of them
 * has to be quoted for cmd.exe, where a percent sign begins a variable and others have a meaning of their own.
 */
function commandFile(name: string, command: readonly string[] | undefined): Record<string, string> {
  if (!command) return { [`${name}.cmd`]: `@echo ${NO_KUBECTL} 1>&2\r\n@exit /b 127\r\n` }
  const [program = '', ...args] = command
  const started = `@"${program.replaceAll('%', '%%')}"`
  const [script] = args
  if (script?.endsWith('.js'))
    return { [`${name}.cmd`]: `${started} "%~dp0${name}.cjs" %*\r\n`, [`${name}.cjs`]: nodeScript([script, ...args.slice(1)]) }
  return { [`${name}.cmd`]: `${[started, ...args.map(arg => `"${arg.replaceAll('%', '%%')}"`)].join(' ')} %*\r\n` }
}

/** Runs another script of Node in its own process, with arguments before the given ones. */
const nodeScript = (command: readonly string[]): string =>
  `process.argv.splice(1, 1, ...${JSON.stringify(command)})\nrequire(process.argv[1])\n`

/** The variables and files of the system on which a program is looked for. */
export type ProgramSearch = {
  readonly platform: NodeJS.Platform
  readonly env: Readonly<Record<string, string | undefined>>
  isProgram(path: string): boolean
}

const SYSTEM: ProgramSearch = {
  platform: process.platform,
  env: process.env,
  isProgram(path) {
    try {
      // Windows has no mode for that: files are programs by their extensions.
      accessSync(path, constants.X_OK)
      return true
    } catch {
      return false
    }
  },
}

/** The kubectl on the PATH, except one that an earlier run of this command has made. */
export function kubectlOnPath({ platform, env, isProgram }: ProgramSearch = SYSTEM): string | undefined {
  const isWindows = platform === 'win32'
  const { delimiter, join } = isWindows ? win32 : posix
  const extensions = isWindows ? (env['PATHEXT'] || '.COM;.EXE;.BAT;.CMD').split(';').filter(Boolean) : ['']
  for (const written of (env['PATH'] ?? env['Path'] ?? '').split(delimiter)) {
    // Windows allows quotes around a folder.
    const folder = isWindows ? written.replace(/^"(.*)"$/, '$1') : written
    if (folder === '' || /[\\/]keelson[\\/]envtest-[^\\/]*[\\/]?$/.test(folder)) continue
    for (const extension of extensions) {
      const program = join(folder, `kubectl${extension.toLowerCase()}`)
      if (isProgram(program)) return program
    }
  }
  return undefined
}
