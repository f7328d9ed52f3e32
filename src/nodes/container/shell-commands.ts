/** The commands of the shell, as a table: each acts on the shell that runs it and says whether the script goes on. */
import { normalName } from '../pod/sysctls.ts'
import { runAgnhost } from './agnhost.ts'
import type { Budget } from './budget.ts'
import type { ContainerInputs } from './container-inputs.ts'
import { fileCommand, type ShellFiles } from './file-commands.ts'
import { hostNameText, idText } from './identity.ts'
import { holds } from './shell-conditions.ts'
import { CANNOT_EXECUTE } from './shell-names.ts'
import { textTool } from './text-tools.ts'

/** The target of output; the path is undefined when it is unknown. */
export type Target = { readonly path: string | undefined; readonly isAppended: boolean }

/** The end of a step: the script goes on or stops. Undefined when the step is not understood. */
export type Ending = 'next' | 'exit' | undefined

/** The shell, as commands use it. */
export interface CommandShell {
  readonly inputs: ContainerInputs
  readonly budget: Budget
  readonly files: ShellFiles
  /** The exit code of the last command. */
  readonly exitCode: number
  /** Whether a client runs the command: it fails where its output is not known. */
  readonly isExec: boolean
  /** Prints to the targets, or to standard output without any, and ends the command. */
  print(text: string, files: readonly Target[], exitCode?: number): Ending
  /** Prints to standard error, and ends the command. */
  complain(text: string, exitCode: number): Ending
  end(exitCode: number): Ending
  /** Ends the script, with the exit code of the last command or another one. */
  exit(exitCode?: number): Ending
  unknownOutput(name: string): Ending
  runFor(ms: number): void
  /** The command may listen on a port. */
  serve(): void
  /** All variables, as `env` prints them. */
  environment(): string
  /** Whether a path exists, or is a directory; undefined when that is unknown. */
  has(path: string, what: 'anything' | 'directory'): boolean | undefined
  hasWritten(path: string): boolean
}

type Arguments = { readonly name: string; readonly args: readonly string[]; readonly files: readonly Target[] }
type Command = (shell: CommandShell, command: Arguments) => Ending

/** Runs a command; undefined when it is not known, or its effect is not. */
export const runBuiltIn: Command = (shell, command) => (COMMANDS.get(command.name) ?? tool)(shell, command)

const READ_ONLY = 'Read-only file system'

/** Refuses output to a file that cannot be written. */
export const cannotCreate = (shell: string, path: string): string => `${shell}: can't create ${path}: ${READ_ONLY}\n`

const exit: Command = (shell, { args: [code = String(shell.exitCode)] }) =>
  /^\d{1,3}$/.test(code) ? shell.exit(Number(code) % 256) : undefined

const sleep: Command = (shell, { args }) => {
  const ms = sleepMs(args)
  if (ms === undefined) return undefined
  shell.runFor(ms)
  return ms === Number.POSITIVE_INFINITY ? shell.exit() : shell.end(0)
}

const runForever: Command = shell => {
  shell.runFor(Number.POSITIVE_INFINITY)
  return shell.exit()
}

const env: Command = (shell, { name, args, files }) =>
  args.length > 0 ? shell.unknownOutput(name) : shell.print(shell.environment(), files)

const printenv: Command = (shell, { name, args, files }) => {
  const [variable, ...more] = args
  if (variable === undefined) return shell.print(shell.environment(), files)
  if (more.length > 0) return shell.unknownOutput(name)
  const value = shell.inputs.variables().get(variable)
  return value === undefined ? shell.end(1) : shell.print(`${value}\n`, files)
}

const identityCommand =
  (textOf: typeof idText): Command =>
  (shell, { name, args, files }) => {
    const identity = shell.inputs.identity?.()
    const text = identity && textOf(identity, args)
    return text === undefined ? shell.unknownOutput(name) : shell.print(text, files)
  }

const sysctl: Command = (shell, { name, args, files }) => {
  const asked = args.length === 1 ? normalName(args[0]!) : ''
  const value = shell.inputs.identity?.().sysctls.get(asked)
  return value === undefined ? shell.unknownOutput(name) : shell.print(`${asked} = ${value}\n`, files)
}

const cat: Command = (shell, { name, args: paths, files }) => {
  if (paths.length === 0 || (paths.length === 1 && paths[0] === '-')) {
    const input = shell.files.input()
    return input === undefined ? shell.unknownOutput(name) : shell.print(input, files)
  }
  let exitCode = 0
  let targets = files
  for (const path of paths) {
    const found = shell.files.read(path)
    if (found === 'missing') exitCode ||= 1
    if (found === undefined && shell.isExec) exitCode ||= CANNOT_EXECUTE
    const ending =
      found === undefined
        ? shell.unknownOutput(name)
        : found === 'missing'
          ? shell.complain(`cat: can't open '${path}': No such file or directory\n`, 1)
          : shell.print(found.text, targets)
    if (ending === undefined) return undefined
    // The first text replaces the content of a target, and further texts follow it.
    if (typeof found === 'object') targets = files.map(target => ({ ...target, isAppended: true }))
  }
  return shell.end(exitCode)
}

const touch: Command = (shell, { args }) => {
  const paths = pathsIn(args)
  const [closed] = paths.filter(path => shell.files.isReadOnly(path))
  if (closed !== undefined) return shell.complain(`touch: ${closed}: ${READ_ONLY}\n`, 1)
  for (const path of paths) if (!shell.hasWritten(path)) shell.files.write(path, '')
  return shell.end(0)
}

const rm: Command = (shell, { args }) => {
  for (const path of pathsIn(args)) shell.files.remove(path)
  return shell.end(0)
}

const expr: Command = (shell, { args, files }) => {
  const result = calculated(args)
  return result === undefined ? undefined : shell.print(`${result}\n`, files, result === 0 ? 1 : 0)
}

/** `test`, and the same in brackets, whose last argument is the closing one. */
const condition: Command = (shell, { name, args }) => {
  const met = holds(name === 'test' ? args : args.slice(0, -1), (path, what) => shell.has(path, what))
  return met === undefined ? undefined : shell.end(met ? 0 : 1)
}

const tail: Command = (shell, command) =>
  (command.args.some(arg => /^(-[a-z]*[fF]|--follow)/.test(arg)) ? runForever : runTextTool)(shell, command)

const agnhost: Command = (shell, { args }) => {
  const understood = runAgnhost(['/agnhost', ...args], shell.inputs)
  if (!understood) return undefined
  shell.runFor(understood.runMs)
  const ending = shell.print(understood.log, [], understood.exitCode)
  if (understood.ports === undefined || understood.ports.length > 0) shell.serve()
  return ending !== undefined && understood.runMs === Number.POSITIVE_INFINITY ? shell.exit() : ending
}

/** Commands about files and about text, and those that succeed at once and print nothing. */
const tool: Command = (shell, command) =>
  runFileCommand(shell, command) ?? (SILENT.has(command.name) ? shell.end(0) : runTextTool(shell, command))

/** Undefined when the command, or a file that it needs, is unknown. */
const runFileCommand: Command = (shell, { name, args, files }) => {
  const done = fileCommand(name, args, shell.files)
  if (!done) return undefined
  if (done.error !== undefined) shell.complain(done.error, done.exitCode)
  return shell.print(done.text, files, done.exitCode)
}

const runTextTool: Command = (shell, { name, args, files }) => {
  const found = textTool(name, args)
  if (!found) return DONE_AT_ONCE.has(name) ? shell.unknownOutput(name) : undefined
  let input = found.files.length === 0 ? shell.files.input() : ''
  for (const path of found.files) {
    const content = shell.files.read(path)
    if (content === 'missing') return shell.complain(`${name}: ${path}: No such file or directory\n`, name === 'grep' ? 2 : 1)
    input = content === undefined || input === undefined ? undefined : input + content.text
  }
  if (input === undefined) return shell.unknownOutput(name)
  const { text, exitCode } = found.run(input, bytes => shell.budget.spend('bytes', bytes))
  return shell.print(text, files, exitCode)
}

const COMMANDS: ReadonlyMap<string, Command> = new Map([
  ['echo', (shell, { args, files }) => shell.print(echoed(args), files)],
  ['exit', exit],
  ['sleep', sleep],
  ['pause', runForever],
  ['false', shell => shell.end(1)],
  ['env', env],
  ['printenv', printenv],
  ['hostname', identityCommand(hostNameText)],
  ['id', identityCommand(idText)],
  ['sysctl', sysctl],
  ['cat', cat],
  ['touch', touch],
  ['rm', rm],
  ['expr', expr],
  ['test', condition],
  ['[', condition],
  ['[[', condition],
  ['tail', tail],
  ['agnhost', agnhost],
] satisfies [string, Command][])

/** Commands that succeed at once and print nothing, and commands whose output is unknown. */
const SILENT = new Set(': cd chgrp chmod chown cp export ln mkdir mv set sync trap true umask'.split(' '))
const DONE_AT_ONCE = new Set(
  'awk base64 basename cut date df dirname du find free grep head ls md5sum mount nproc printf ps pwd readlink sed seq sha256sum sort stat tail tee tr uname uniq wc whoami xargs'.split(
    ' ',
  ),
)

const pathsIn = (args: readonly string[]): string[] => args.filter(arg => !arg.startsWith('-'))

function echoed(args: readonly string[]): string {
  const text = args.filter(word => word !== '-n' && word !== '-e').join(' ')
  return args.includes('-n') ? text : `${text}\n`
}

/** Two whole numbers and the operator between them. */
function calculated([left = '', operator, right = '', ...more]: readonly string[]): number | undefined {
  if (more.length > 0 || !/^-?\d{1,9}$/.test(left) || !/^-?\d{1,9}$/.test(right)) return undefined
  const [a, b] = [Number(left), Number(right)]
  if (operator === '+') return a + b
  if (operator === '-') return a - b
  if (operator === '*') return a * b
  if (b === 0) return undefined
  return operator === '/' ? Math.trunc(a / b) : operator === '%' ? a % b : undefined
}

const UNITS: Readonly<Record<string, number>> = { '': 1000, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }

function sleepMs(args: readonly string[]): number | undefined {
  let sum = 0
  for (const arg of args) {
    const [, number = '', unit = ''] = /^(\d+(?:\.\d+)?)([smhd]?)$/.exec(arg) ?? []
    if (arg === 'infinity' || arg === 'inf') sum = Number.POSITIVE_INFINITY
    else if (number === '') return undefined
    else sum += Number(number) * UNITS[unit]!
  }
  return args.length === 0 ? undefined : sum
}
