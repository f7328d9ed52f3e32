/**
 * The behaviour of a container, as far as its command tells. A few commands are understood, alone or in a shell script:
 *
 *     ["sleep", "30"]                           runs for 30 s, then exits with 0
 *     ["sh", "-c", "echo $GREETING; exit 3"]    prints the value of a variable and fails with 3
 *     ["sh", "-c", "while true; do …; done"]    runs on
 *     ["sh", "-c", "[ -f /data/x ] && exit 0; touch /data/x; exit 1"]    fails once, if /data is an emptyDir of its own
 *
 * Every other command is an unknown program.
 */
import type { Container } from '../../kinds/rules/pod/containers/container.ts'
import { isAgnhost, runAgnhost } from '../container/agnhost.ts'
import { Budget, BudgetExceeded, exceededText } from '../container/budget.ts'
import { type ContainerInputs, NO_INPUTS } from '../container/container-inputs.ts'
import { expand } from '../container/expansion.ts'
import { type ExecOptions, type ExecResult, execCommand, execScript, NeedsInput, runCommand, runScript } from '../container/shell.ts'
import { baseName, CANNOT_EXECUTE, isShell } from '../container/shell-names.ts'
import { exceededRun, type Understood } from '../container/understood.ts'

const FOREVER: Understood = { runMs: Number.POSITIVE_INFINITY, exitCode: 0, log: '', lastWords: '', ports: [] }
/** A command of more words is not understood, just as a script that is too long. */
const MAX_WORDS = 1_000
const isAgnhostProgram = (word: string): boolean => /^agnhost(-2)?$/.test(baseName(word))

export type Command = Partial<Pick<Container, 'image' | 'command' | 'args' | 'terminationMessagePath'>>

/** A run can depend on the files that previous runs have left; from this run on the result is assumed to stay the same. */
export const MAX_RUNS = 8

/** Runs a command once, given the files that the previous run has left. */
type RunOnce = (left: Left | undefined) => Promise<Understood | undefined>
type Left = ReadonlyMap<string, string>

/** The result of a run, the first of which is number 0, after all runs before it; undefined when the command is not understood. */
export async function followRuns(run: number, runOnce: RunOnce): Promise<Understood | undefined> {
  let understood = await runOnce(undefined)
  let left: Left = new Map()
  for (let i = 1; i <= Math.min(run, MAX_RUNS) && understood?.left && !isSame(understood.left, left); i++) {
    left = understood.left
    understood = await runOnce(left)
  }
  return understood
}

const isSame = (a: Left, b: Left): boolean => a.size === b.size && [...a].every(([path, text]) => b.get(path) === text)

export type RunOptions = {
  /** All of them are unknown by default. */
  readonly inputs?: ContainerInputs
  readonly left?: Left | undefined
  readonly budget?: Budget
  /** Receives every file that is written, with the time of that. */
  readonly written?: Map<string, { readonly text: string; readonly atMs: number }> | undefined
}

/** Undefined when the command is not understood. */
export function understand(
  command: Command,
  { inputs = NO_INPUTS, left, budget = new Budget(), written }: RunOptions = {},
): Understood | undefined {
  try {
    return runIn(command, { inputs, left, budget, written })
  } catch (error) {
    if (error instanceof BudgetExceeded) return exceededRun(error.message)
    throw error
  }
}

export type ExecRun = Pick<ExecOptions, 'variables' | 'files'> & {
  readonly command: readonly string[]
  readonly stdin: ExecOptions['stdin']
  readonly inputs: ContainerInputs
  readonly budget: Budget
}

/** Runs a command that a client sends. `input` says that it reads input which has not arrived. */
export function execute({ command, stdin, variables, files, inputs, budget }: ExecRun): ExecResult | 'input' {
  const [program = '', flag = '', script = ''] = command
  const isScript = isShell(program) && /^-[a-z]*c$/.test(flag)
  const options = { inputs, budget, lastWordsPath: '', exec: { stdin, variables, files }, shell: isScript ? baseName(program) : 'sh' }
  const failed = (text: string, exitCode: number): ExecResult => ({
    exitCode,
    runMs: 0,
    outputs: [{ isError: true, text: `${text}\n` }],
    files,
    variables,
    hasExited: false,
  })
  if (command.length > MAX_WORDS) return failed(exceededText(`${MAX_WORDS} words`), CANNOT_EXECUTE)
  try {
    if (!isScript) return execCommand(command, options)
    return execScript(script, options) ?? failed(`${program}: ${NOT_UNDERSTOOD}`, CANNOT_EXECUTE)
  } catch (error) {
    if (error instanceof NeedsInput) return 'input'
    if (error instanceof BudgetExceeded) return failed(error.message, CANNOT_EXECUTE)
    throw error
  }
}
const NOT_UNDERSTOOD = 'not simulated: this container has no process, and the simulated shell does not understand the script'

function runIn(
  { image = '', command, args, terminationMessagePath = '' }: Command,
  { inputs, left, budget, written: collected }: Required<RunOptions>,
): Understood | undefined {
  const expanded = (word: string) => (word.includes('$') ? expand(word, name => inputs.variables().get(name)) : word)
  const written = [...(command ?? []), ...(args ?? [])]
  if (written.length > MAX_WORDS) return undefined
  for (const word of written) budget.spend('bytes', word.length)
  const words = written.map(expanded)
  const agnhost = isAgnhost(image) && (command?.length ? isAgnhostProgram(words[0]!) && words : ['/agnhost', ...words])
  if (agnhost) {
    const understood = runAgnhost(agnhost, inputs)
    budget.spend('bytes', understood?.log.length ?? 0)
    return understood
  }
  if (!command?.length && /(^|\/)pause(:|@|$)/.test(image)) return FOREVER
  const [program = '', flag = '', script = ''] = words
  const options = { inputs, budget, lastWordsPath: terminationMessagePath, left, shell: program, written: collected }
  if (!isShell(program)) return runCommand(words, options)
  return /^-[a-z]*c$/.test(flag) ? runScript(script, options) : undefined
}
