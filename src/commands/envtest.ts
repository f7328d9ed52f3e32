/** `keelson envtest`: prints a folder with the programs that test harnesses start, for KUBEBUILDER_ASSETS. */
import { createHash } from 'node:crypto'
import { accessSync, constants, realpathSync } from 'node:fs'
import { homedir } from 'node:os'
import { delimiter, dirname, join, resolve } from 'node:path'
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

/** Scripts by name. Those of a Unix shell replace themselves by their program (exec), so that signals reach it. */
export function programsOf({ keelson, etcd, kubectl, components }: Programs, platform: NodeJS.Platform): Record<string, string> {
  const isWindows = platform === 'win32'
  const { suffix, script, none } = isWindows ? COMMAND_FILES : SHELL_SCRIPTS
  return {
    // No process stays behind when a harness is killed.
    [`kube-apiserver${suffix}`]: script([...keelson, 'kube-apiserver', '--exit-with-parent', ...components]),
    [`etcd${suffix}`]: script([...etcd, '--exit-with-parent']),
    [`kubectl${suffix}`]: kubectl === undefined ? none : script([kubectl]),
  }
}

const NO_KUBECTL = 'kubectl: none was on the PATH when keelson envtest was run; install one and run it again'

const SHELL_SCRIPTS = {
  suffix: '',
  script: (command: readonly string[]) => `#!/bin/sh\nexec ${command.map(quoted).join(' ')} "$@"\n`,
  none: `#!/bin/sh\necho '${NO_KUBECTL}' >&2\nexit 127\n`,
}

/** For Windows: a percent sign begins a variable there, and is written twice. */
const COMMAND_FILES = {
  suffix: '.cmd',
  script: (command: readonly string[]) => `@${command.map(part => `"${part.replaceAll('%', '%%')}"`).join(' ')} %*\r\n`,
  none: `@echo ${NO_KUBECTL} 1>&2\r\n@exit /b 127\r\n`,
}

function kubectlOnPath(): string | undefined {
  for (const folder of (process.env['PATH'] ?? '').split(delimiter)) {
    const program = join(folder, 'kubectl')
    // Not the one that an earlier run has created.
    if (folder === '' || /\/keelson\/envtest-[^/]*\/?$/.test(folder)) continue
    try {
      accessSync(program, constants.X_OK)
      return program
    } catch {}
  }
  return undefined
}
