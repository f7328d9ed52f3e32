/** Runs scripts of a shell with the commands whose effect is known. */
import type { ContainerInputs, FileFound } from './container-inputs.ts'
import { holds } from './shell-conditions.ts'
import { parseScript, type Redirect, type Step, type Word } from './shell-parser.ts'

export type Understood = {
  readonly runMs: number
  readonly exitCode: number
  /** What it prints, and what it writes to the file for its last words. */
  readonly log: string
  readonly lastWords: string
  /** When it removes files for good, and from when on what asks for its health is told that it is ill; after its start. */
  readonly removedMs?: ReadonlyMap<string, number>
  readonly unhealthyMs?: number
}

/** Commands that are done at once and succeed. What they print is not known. */
const DONE_AT_ONCE = new Set(': cd chmod chown cp date export hostname id ln ls mkdir mv printf pwd set touch trap true'.split(' '))
/** A script that prints more is not understood: what it prints is made again at every look. */
const MOST_OUTPUT = 256 * 1024
/** Of files beyond these nothing is known: each is looked for among all mounts and all keys. */
const MOST_FILES = 32

export type RunOptions = { readonly inputs: ContainerInputs; readonly lastWordsPath: string }

/** Undefined when it is not understood. */
export function runScript(script: string, options: RunOptions): Understood | undefined {
  const step = parseScript(script)
  return step && new Shell(options).understand(step)
}

/** The same for a single command. */
export function runCommand(words: readonly string[], options: RunOptions): Understood | undefined {
  if (words.length === 0) return undefined
  const literal = words.map((text): Word => [{ type: 'text', text, isQuoted: true }])
  return new Shell(options).understand({ type: 'command', words: literal, redirects: [] })
}

/** How a step ends: what follows is run, or not. Undefined when it is not understood. */
type Ending = 'next' | 'exit' | undefined

class Shell {
  readonly #inputs: ContainerInputs
  readonly #lastWordsPath: string
  readonly #variables = new Map<string, string>()
  readonly #written = new Map<string, string>()
  readonly #removedMs = new Map<string, number>()
  #output = ''
  #printed = 0
  #looked = 0
  #lastWords = ''
  #runMs = 0
  #exitCode = 0
  /** Within `$(…)` what commands print matters. */
  #captures = 0

  constructor({ inputs, lastWordsPath }: RunOptions) {
    this.#inputs = inputs
    this.#lastWordsPath = lastWordsPath
  }

  understand(step: Step): Understood | undefined {
    if (this.#run(step) === undefined || this.#printed > MOST_OUTPUT) return undefined
    const done = { runMs: this.#runMs, exitCode: this.#exitCode, log: this.#output, lastWords: this.#lastWords }
    return this.#removedMs.size === 0 ? done : { ...done, removedMs: this.#removedMs }
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
        if (ending !== 'next' || (this.#exitCode === 0) !== (step.type === 'and')) return ending
        return this.#run(step.right)
      }
      case 'if': {
        const ending = this.#run(step.condition)
        if (ending !== 'next') return ending
        const chosen = this.#exitCode === 0 ? step.then : step.otherwise
        this.#exitCode = 0
        return this.#run(chosen)
      }
      case 'endless': {
        if (this.#captures > 0) return undefined
        for (const each of step.body) if (each.type === 'command' && plainText(each.words[0] ?? []) === 'echo') this.#run(each)
        this.#runMs = Number.POSITIVE_INFINITY
        this.#exitCode = 0
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

  #command(words: readonly Word[], redirects: readonly Redirect[]): Ending {
    const assigned = words.findIndex(word => !ASSIGNMENT.test(plainStart(word)))
    for (const word of assigned < 0 ? words : []) {
      const [, name = '', value = ''] = ASSIGNMENT.exec(this.#expand(word)?.join(' ') ?? '') ?? []
      if (name === '') return undefined
      this.#variables.set(name, value)
    }
    if (assigned < 0) return this.#end(0)
    const [first, ...rest] = words.slice(assigned)
    const name = baseName(this.#expand(first!)?.[0] ?? '')
    const args = rest.map(word => this.#expand(word))
    const files = redirects.filter(({ isError }) => !isError).map(({ to }) => this.#expand(to)?.join(' '))
    const known = args.every(arg => arg !== undefined) ? args.flat() : undefined
    // What is printed may depend on what is not known; then nothing is.
    if (name === 'echo') return known ? this.#print(echoed(known), files) : this.#unknownOutput()
    if (!known) return undefined
    return this.#builtIn(name, known, files)
  }

  #builtIn(name: string, args: readonly string[], files: readonly (string | undefined)[]): Ending {
    switch (name) {
      case 'exit': {
        const [code = String(this.#exitCode)] = args
        if (!/^\d{1,3}$/.test(code)) return undefined
        this.#exitCode = Number(code) % 256
        return 'exit'
      }
      case 'sleep': {
        const ms = sleepMs(args)
        if (ms === undefined) return undefined
        this.#runMs += ms
        return ms === Number.POSITIVE_INFINITY ? 'exit' : this.#end(0)
      }
      case 'pause':
        this.#runMs = Number.POSITIVE_INFINITY
        return 'exit'
      case 'false':
        return this.#end(1)
      case 'env':
      case 'printenv':
        return args.length > 0 ? this.#unknownOutput() : this.#print(this.#environment(), files)
      case 'cat':
        return this.#cat(args, files)
      case 'rm':
        for (const path of args) if (this.#written.delete(path)) this.#removedMs.set(path, this.#runMs)
        return this.#unknownOutput()
      case 'expr': {
        const result = calculated(args)
        return result === undefined ? undefined : this.#print(`${result}\n`, files, result === 0 ? 1 : 0)
      }
      case 'test':
      case '[':
      case '[[': {
        const met = holds(name === 'test' ? args : args.slice(0, -1), path => this.#has(path))
        return met === undefined ? undefined : this.#end(met ? 0 : 1)
      }
      default:
        return DONE_AT_ONCE.has(name) ? this.#unknownOutput() : undefined
    }
  }

  #end(exitCode: number): Ending {
    this.#exitCode = exitCode
    return 'next'
  }

  #unknownOutput(): Ending {
    return this.#captures > 0 ? undefined : this.#end(0)
  }

  #print(text: string, files: readonly (string | undefined)[], exitCode = 0): Ending {
    this.#printed += text.length
    if (this.#printed > MOST_OUTPUT) return undefined
    if (files.length === 0) this.#output += text
    for (const file of files) {
      if (file === undefined) continue
      if (file === this.#lastWordsPath) this.#lastWords = text
      else if (file === '/dev/stdout' || file === '/dev/stderr') this.#output += text
      else {
        this.#written.set(file, text)
        this.#removedMs.delete(file)
      }
    }
    return this.#end(exitCode)
  }

  #cat(paths: readonly string[], files: readonly (string | undefined)[]): Ending {
    let ending = this.#unknownOutput()
    for (const path of paths) {
      const written = this.#written.get(path)
      const found = written === undefined ? this.#file(path) : { content: written, isDirectory: undefined }
      if (found === 'missing') {
        ending = this.#print(`cat: can't open '${path}': No such file or directory\n`, [], 1)
      } else if (found !== 'unknown' && found.content !== undefined) ending = this.#print(found.content, files)
      else if (this.#unknownOutput() === undefined) return undefined
      if (ending === undefined) return undefined
    }
    return ending
  }

  #file(path: string): FileFound {
    return ++this.#looked > MOST_FILES ? 'unknown' : this.#inputs.file(path)
  }

  /** Whether there is something at a path; undefined when nobody knows. */
  #has(path: string): boolean | undefined {
    if (this.#written.has(path)) return true
    const found = this.#file(path)
    return found === 'unknown' ? undefined : found !== 'missing'
  }

  #environment(): string {
    return [...new Map([...this.#inputs.variables(), ...this.#variables])].map(([name, value]) => `${name}=${value}\n`).join('')
  }

  /** The fields that a word becomes; undefined when they are not known. */
  #expand(word: Word): string[] | undefined {
    const fields: string[] = []
    let field: string | undefined
    for (const piece of word) {
      const text = piece.type === 'text' ? piece.text : piece.type === 'variable' ? this.#variable(piece) : this.#outputOf(piece.script)
      if (text === undefined) return undefined
      this.#printed += piece.type === 'text' ? 0 : text.length
      if (this.#printed > MOST_OUTPUT) return undefined
      if (piece.isQuoted || piece.type === 'text') {
        field = (field ?? '') + text
        continue
      }
      const [head = '', ...parts] = text.split(/[ \t\n]+/)
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
    return this.#variables.get(name) ?? this.#inputs.variables().get(name) ?? orElse
  }

  #outputOf(script: Step): string | undefined {
    const before = this.#output
    this.#output = ''
    this.#captures++
    const ending = this.#run(script)
    this.#captures--
    const printed = this.#output.replace(/\n+$/, '')
    this.#output = before
    return ending === undefined ? undefined : printed
  }
}

const ASSIGNMENT = /^([A-Za-z_]\w*)=([\s\S]*)$/

const plainText = ([first, ...more]: Word): string => (first?.type === 'text' && more.length === 0 ? baseName(first.text) : '')
const plainStart = ([first]: Word): string => (first?.type === 'text' && !first.isQuoted ? first.text : '')

export const baseName = (path: string): string => path.slice(path.lastIndexOf('/') + 1)

function echoed(args: readonly string[]): string {
  const text = args.filter(word => word !== '-n' && word !== '-e').join(' ')
  return args.includes('-n') ? text : `${text}\n`
}

/** Two whole numbers and what is between them. */
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
