/** Runs shell scripts made of commands whose effect is known; `shell-commands.ts` has the commands. */
import { trimEnd } from '../../lib/trim-end.ts'
import { type Budget, OVERHEAD } from './budget.ts'
import type { ContainerInputs, FileFound } from './container-inputs.ts'
import type { Content, ShellFiles } from './file-commands.ts'
import { type CommandShell, cannotCreate, type Ending, runBuiltIn, type Target } from './shell-commands.ts'
import { baseName, CANNOT_EXECUTE } from './shell-names.ts'
import { parseScript, type Redirect, type Step, type Word } from './shell-parser.ts'
import type { Understood } from './understood.ts'

/** Further files are unknown: each lookup searches all mounts and all keys. */
const MAX_FILES = 32
/** The longest path on Linux. */
const MAX_PATH_LENGTH = 4096

export type RunOptions = {
  readonly inputs: ContainerInputs
  readonly budget: Budget
  readonly lastWordsPath: string
  /** The files that the previous run has left. */
  readonly left?: ReadonlyMap<string, string> | undefined
  /** The name of the shell, for its messages. */
  readonly shell?: string
  /** Receives every file that is written, with the time of that. */
  readonly written?: Map<string, { readonly text: string; readonly atMs: number }> | undefined
  /** Set for a command that a client runs in a container. */
  readonly exec?: ExecOptions
}

/** A command that a client runs: unlike that of a container it fails where its output is not known. */
export type ExecOptions = {
  /** The input; `unread` while the client has not sent all of it. */
  readonly stdin: string | 'unread'
  readonly variables: ReadonlyMap<string, string>
  /** Contents of files that differ from those of the container; null where a file is gone. */
  readonly files: ReadonlyMap<string, string | null>
}

/** Thrown when a command reads input that has not arrived. */
export class NeedsInput extends Error {}

export type Printed = { readonly isError: boolean; readonly text: string }

export type ExecResult = {
  readonly exitCode: number
  readonly runMs: number
  readonly outputs: readonly Printed[]
  readonly files: ReadonlyMap<string, string | null>
  readonly variables: ReadonlyMap<string, string>
  /** Whether the command was `exit`. */
  readonly hasExited: boolean
}

/** Runs a script that a client sends; undefined when its syntax is not supported. Throws BudgetExceeded, or NeedsInput. */
export function execScript(script: string, options: RunOptions): ExecResult | undefined {
  const step = parseScript(script)
  return step && new Shell(options).exec(step)
}

/** The same for a single command. */
export function execCommand(words: readonly string[], options: RunOptions): ExecResult {
  return new Shell(options).exec(commandOf(words))
}

/** The result of a script; undefined when it is not understood. Throws BudgetExceeded when it exceeds its budget. */
export function runScript(script: string, options: RunOptions): Understood | undefined {
  const step = parseScript(script)
  return step && new Shell(options).understand(step)
}

/** The same for a single command. */
export function runCommand(words: readonly string[], options: RunOptions): Understood | undefined {
  if (words.length === 0) return undefined
  return new Shell(options).understand(commandOf(words))
}

const commandOf = (words: readonly string[]): Step => ({
  type: 'command',
  words: words.map((text): Word => [{ type: 'text', text, isQuoted: true }]),
  redirects: [],
})

class Shell implements CommandShell {
  readonly inputs: ContainerInputs
  readonly budget: Budget
  readonly files: ShellFiles
  readonly isExec: boolean
  readonly #lastWordsPath: string
  readonly #shell: string
  readonly #exec: ExecOptions | undefined
  readonly #collected: RunOptions['written']
  readonly #variables: Map<string, string>
  readonly #outputs: Printed[] = []
  /** Files that are gone, of those that a client's command can see. */
  readonly #gone = new Set<string>()
  readonly #written: Map<string, string>
  readonly #writtenMs = new Map<string, number>()
  readonly #removedMs = new Map<string, number>()
  #output = ''
  /** Whether it contains all output. */
  #isOutputKnown = true
  /** Input from the pipe; undefined when it is unknown. */
  #input: string | undefined = ''
  #looked = 0
  #lastWords = ''
  #runMs = 0
  exitCode = 0
  /** Whether the last command has printed something to its files, or its output is unknown. */
  #hasOutput = false
  /** Within `$(…)` the output of commands matters. */
  #captures = 0
  /** Whether it may listen on a port: programs in endless loops are unknown. */
  #isServing = false

  constructor({ inputs, budget, lastWordsPath, left, shell = 'sh', exec, written }: RunOptions) {
    this.inputs = inputs
    this.budget = budget
    this.#shell = shell
    this.#written = new Map(left)
    this.#lastWordsPath = lastWordsPath
    this.#exec = exec
    this.isExec = exec !== undefined
    this.files = {
      read: path => this.#content(path),
      names: path => this.#names(path),
      isDirectory: path => this.has(path, 'directory'),
      isReadOnly: path => this.#isReadOnly(path),
      write: (path, text) => this.#write(path, text),
      remove: path => this.#remove(path),
      input: () => this.#readInput(),
      isInteractive: this.isExec,
      identity: () => this.inputs.identity?.(),
    }
    this.#collected = written
    this.#variables = new Map(exec?.variables)
    for (const [path, text] of exec?.files ?? [])
      if (text === null) this.#gone.add(path)
      else this.#written.set(path, text)
  }

  exec(step: Step): ExecResult {
    const ending = this.#run(step)
    const files = new Map<string, string | null>(this.#written)
    for (const path of this.#gone) files.set(path, null)
    return {
      exitCode: this.exitCode,
      runMs: this.#runMs,
      outputs: this.#outputs,
      files,
      variables: this.#variables,
      hasExited: ending === 'exit',
    }
  }

  understand(step: Step): Understood | undefined {
    if (this.#run(step) === undefined) return undefined
    for (const [path, text] of this.#written) this.#collected?.set(path, { text, atMs: this.#writtenMs.get(path) ?? 0 })
    const left = new Map([...this.#written].filter(([path]) => this.inputs.isOwn?.(path)))
    return {
      runMs: this.#runMs,
      exitCode: this.exitCode,
      log: this.#output,
      lastWords: this.#lastWords,
      ...(this.#writtenMs.size > 0 && { writtenMs: this.#writtenMs }),
      ...(this.#removedMs.size > 0 && { removedMs: this.#removedMs }),
      ...(left.size > 0 && { left }),
      ...(!this.#isServing && { ports: [] }),
    }
  }

  #run(step: Step): Ending {
    switch (step.type) {
      case 'command':
        return this.#command(step.words, step.redirects)
      case 'list':
        return this.#each(step.steps)
      case 'and':
      case 'or': {
        const ending = this.#run(step.left)
        if (ending !== 'next' || (this.exitCode === 0) !== (step.type === 'and')) return ending
        return this.#run(step.right)
      }
      case 'pipe':
        return this.#pipe(step.steps)
      case 'not': {
        const ending = this.#run(step.step)
        return ending === 'next' ? this.end(this.exitCode === 0 ? 1 : 0) : ending
      }
      case 'background': {
        const beganMs = this.#runMs
        if (this.#run(step.step) === undefined) return undefined
        this.#runMs = beganMs
        return this.end(0)
      }
      case 'for':
        return this.#for(step)
      case 'if': {
        const ending = this.#run(step.condition)
        if (ending !== 'next') return ending
        const chosen = this.exitCode === 0 ? step.then : step.otherwise
        this.exitCode = 0
        return this.#run(chosen)
      }
      case 'endless': {
        if (this.#captures > 0) return undefined
        for (const each of step.body) if (each.type === 'command' && plainText(each.words[0] ?? []) === 'echo') this.#run(each)
        this.#runMs = Number.POSITIVE_INFINITY
        this.exitCode = 0
        this.#isServing = true
        return 'exit'
      }
    }
  }

  #each(steps: readonly Step[]): Ending {
    for (const step of steps) {
      const ending = this.#run(step)
      if (ending !== 'next') return ending
    }
    return 'next'
  }

  /** Runs the commands of a pipeline, each with the output of the previous one as its input. They run at the same time. */
  #pipe(steps: readonly Step[]): Ending {
    const [input, beganMs] = [this.#input, this.#runMs]
    let endedMs = beganMs
    let ending: Ending = 'next'
    for (const [i, step] of steps.entries()) {
      this.#runMs = beganMs
      if (i === steps.length - 1) ending = this.#run(step)
      else {
        const printed = this.#captured(step)
        ending = printed.ending
        this.#input = printed.text
      }
      if (ending === undefined) return undefined
      endedMs = Math.max(endedMs, this.#runMs)
    }
    this.#input = input
    this.#runMs = endedMs
    // `exit` ends its part of the pipeline, not the script.
    if (endedMs !== Number.POSITIVE_INFINITY) return 'next'
    this.exitCode = 0
    return 'exit'
  }

  #for({ name, words, body }: Extract<Step, { type: 'for' }>): Ending {
    const values = words.map(word => this.#expand(word))
    if (!values.every(value => value !== undefined)) return undefined
    this.exitCode = 0
    for (const value of values.flat()) {
      this.budget.spend('steps', 1)
      this.#variables.set(name, value)
      const ending = this.#run(body)
      if (ending !== 'next') return ending
    }
    return 'next'
  }

  #command(words: readonly Word[], redirects: readonly Redirect[]): Ending {
    this.budget.spend('steps', 1)
    const assigned = words.findIndex(word => !ASSIGNMENT.test(plainStart(word)))
    for (const word of assigned < 0 ? words : []) {
      const [, name = '', value = ''] = ASSIGNMENT.exec(this.#expand(word)?.join(' ') ?? '') ?? []
      if (name === '') return undefined
      this.#variables.set(name, value)
    }
    if (assigned < 0) return this.end(0)
    const [first, ...rest] = words.slice(assigned)
    const name = baseName(this.#expand(first!)?.[0] ?? '')
    const args = rest.map(word => this.#expand(word))
    const files = redirects
      .filter(({ isError }) => !isError)
      .map(({ to, isAppended }): Target => ({ path: this.#expand(to)?.join(' '), isAppended }))
    const known = args.every(arg => arg !== undefined) ? args.flat() : undefined
    // Output that may depend on something unknown is unknown.
    if (!known) return name === 'echo' || this.#exec ? this.unknownOutput(name) : undefined
    const [closed] = files.filter(({ path }) => path !== undefined && this.#isReadOnly(path))
    if (closed) return this.complain(cannotCreate(this.#shell, closed.path!), 1)
    this.#hasOutput = false
    const ending = runBuiltIn(this, { name, args: known, files })
    if (ending !== undefined && !this.#hasOutput) this.#open(files)
    return ending === undefined && this.#exec ? this.unknownOutput(name) : ending
  }

  /** Makes the files for the output of a command that has printed nothing to them: a shell opens them before the command runs. */
  #open(files: readonly Target[]): void {
    for (const { path, isAppended } of files) {
      if (path === undefined || path.startsWith('/dev/')) continue
      if (path !== this.#lastWordsPath) this.#write(path, isAppended ? this.#textIn(path) : '')
      else if (!isAppended) this.#lastWords = ''
    }
  }

  /** The text that is in a file, as far as it is known. */
  #textIn(path: string): string {
    const written = this.#written.get(path)
    if (written !== undefined) return written
    const found = this.#content(path)
    return typeof found === 'object' ? found.text : ''
  }

  end(exitCode: number): Ending {
    this.exitCode = exitCode
    return 'next'
  }

  exit(exitCode = this.exitCode): Ending {
    this.exitCode = exitCode
    return 'exit'
  }

  runFor(ms: number): void {
    this.#runMs += ms
  }

  serve(): void {
    this.#isServing = true
  }

  hasWritten(path: string): boolean {
    return this.#written.has(path)
  }

  /** For a client, a command whose output is unknown fails as one that cannot be executed. */
  unknownOutput(name: string): Ending {
    this.#hasOutput = true
    if (this.#exec) return this.complain(`${this.#shell}: ${name}: ${NOT_SIMULATED}\n`, CANNOT_EXECUTE)
    this.#isOutputKnown = false
    return this.end(0)
  }

  /** Standard error goes to the log, and not into captured output. */
  complain(text: string, exitCode: number): Ending {
    if (this.#captures > 0 && !this.#exec) return this.end(exitCode)
    if (!this.#exec) return this.print(text, [], exitCode)
    this.budget.spend('output', text.length)
    this.#outputs.push({ isError: true, text })
    return this.end(exitCode)
  }

  /** The input of a command that reads it: that of its pipe, or of the client. */
  #readInput(): string | undefined {
    if (this.#captures === 0 && this.#input === '' && this.#exec) {
      if (this.#exec.stdin === 'unread') throw new NeedsInput()
      return this.#exec.stdin
    }
    return this.#input
  }

  #remove(path: string): void {
    if (this.#written.delete(path)) this.#removedMs.set(path, this.#runMs)
    if (this.#exec) this.#gone.add(path)
  }

  /** The names in a directory, of files that are there and those that were written; undefined when they are unknown. */
  #names(path: string): readonly string[] | undefined {
    const directory = path === '/' ? '' : trimEnd(path, '/')
    const known = this.inputs.list?.(path)
    const names = new Set(known)
    for (const each of this.#written.keys())
      if (each.startsWith(`${directory}/`)) names.add(each.slice(directory.length + 1).split('/')[0]!)
    for (const each of this.#gone) if (each.startsWith(`${directory}/`)) names.delete(each.slice(directory.length + 1))
    return known === undefined && names.size === 0 ? undefined : [...names].sort()
  }

  print(text: string, files: readonly Target[], exitCode = 0): Ending {
    // Output to a file or a variable is bounded by the budget of written bytes.
    const isShown = files.length === 0 || files.some(({ path }) => path === '/dev/stdout' || path === '/dev/stderr')
    this.budget.spend(isShown && this.#captures === 0 ? 'output' : 'bytes', text.length)
    if (files.length === 0) this.#show(text, false)
    else this.#hasOutput = true
    for (const { path, isAppended } of files) {
      if (path === undefined) continue
      if (path === this.#lastWordsPath) this.#lastWords = isAppended ? this.#lastWords + text : text
      else if (path === '/dev/stdout' || path === '/dev/stderr') this.#show(text, path === '/dev/stderr')
      else if (path !== '/dev/null') this.#write(path, isAppended ? this.#textIn(path) + text : text)
    }
    return this.end(exitCode)
  }

  #show(text: string, isError: boolean): void {
    if (this.#exec && (isError || this.#captures === 0)) {
      if (text !== '') this.#outputs.push({ isError, text })
      return
    }
    this.#output += text
  }

  #write(path: string, text: string): void {
    this.#gone.delete(path)
    if (!this.#written.has(path)) {
      this.budget.spend('files', path.length > MAX_PATH_LENGTH ? Number.POSITIVE_INFINITY : 1)
      this.#writtenMs.set(path, this.#runMs)
    }
    this.#written.set(path, text)
    this.#removedMs.delete(path)
  }

  /** The content of a file; undefined when it is unknown. */
  #content(path: string): Content | 'missing' | undefined {
    const written = this.#written.get(path)
    const found = written === undefined ? this.#file(path) : { content: written }
    if (found === 'missing') return found
    if (found === 'unknown' || found.content === undefined) return undefined
    this.budget.spend('bytes', found.content.length)
    return { text: found.content }
  }

  #isReadOnly(path: string): boolean {
    return path !== this.#lastWordsPath && this.inputs.isReadOnly?.(path) === true
  }

  #file(path: string): FileFound {
    if (this.#gone.has(path)) return 'missing'
    if (++this.#looked > MAX_FILES) return 'unknown'
    const found = this.inputs.file(path)
    return found === 'unknown' && this.inputs.isOwn?.(path) ? 'missing' : found
  }

  /** Whether a path exists, or is a directory; undefined when that is unknown. */
  has(path: string, what: 'anything' | 'directory'): boolean | undefined {
    if (this.#written.has(path)) return what === 'anything'
    const found = this.#file(path)
    if (found === 'unknown' || found === 'missing') return found === 'missing' ? false : undefined
    return what === 'anything' || found.isDirectory === true
  }

  environment(): string {
    for (const [name, value] of this.inputs.variables()) this.budget.spend('bytes', name.length + value.length + OVERHEAD)
    return [...new Map([...this.inputs.variables(), ...this.#variables])].map(([name, value]) => `${name}=${value}\n`).join('')
  }

  /** The fields that a word expands to; undefined when they are unknown. */
  #expand(word: Word): string[] | undefined {
    const fields: string[] = []
    let field: string | undefined
    for (const piece of word) {
      const text = piece.type === 'text' ? piece.text : piece.type === 'variable' ? this.#variable(piece) : this.#outputOf(piece.script)
      if (text === undefined) return undefined
      this.budget.spend('bytes', text.length)
      if (piece.isQuoted || piece.type === 'text') {
        field = (field ?? '') + text
        continue
      }
      const [head = '', ...parts] = text.split(/[ \t\n]+/)
      this.budget.spend('bytes', parts.length * OVERHEAD)
      if (head !== '' || field !== undefined) field = (field ?? '') + head
      for (const part of parts) {
        if (field !== undefined) fields.push(field)
        field = part === '' ? undefined : part
      }
    }
    if (field !== undefined) fields.push(field)
    return fields
  }

  #variable({ name, orElse }: { readonly name: string; readonly orElse: string | undefined }): string | undefined {
    if (name === '?') return String(this.exitCode)
    return this.#variables.get(name) ?? this.inputs.variables().get(name) ?? orElse
  }

  #outputOf(script: Step): string | undefined {
    const { ending, text } = this.#captured(script)
    if (ending === undefined || text === undefined) return undefined
    return trimEnd(text, '\n')
  }

  /** Runs a step and captures its output, which is undefined when it is unknown. */
  #captured(step: Step): { readonly ending: Ending; readonly text: string | undefined } {
    const [output, isKnown] = [this.#output, this.#isOutputKnown]
    this.#output = ''
    this.#isOutputKnown = true
    this.#captures++
    const ending = this.#run(step)
    this.#captures--
    const text = this.#isOutputKnown ? this.#output : undefined
    this.#output = output
    this.#isOutputKnown = isKnown
    return { ending, text }
  }
}

export const NOT_SIMULATED = 'not simulated: this container has no process, and the simulated shell does not know the result'
const ASSIGNMENT = /^([A-Za-z_]\w*)=([\s\S]*)$/

const plainText = ([first, ...more]: Word): string => (first?.type === 'text' && more.length === 0 ? baseName(first.text) : '')
const plainStart = ([first]: Word): string => (first?.type === 'text' && !first.isQuoted ? first.text : '')
