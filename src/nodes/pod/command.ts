/**
 * What a container would do, as far as its command tells. A handful of commands are understood, alone or in a script of a shell:
 *
 *     ["sleep", "30"]                           runs for 30 s, then exits with 0
 *     ["sh", "-c", "echo hello; exit 3"]        prints hello and fails with 3
 *     ["sh", "-c", "while true; do …; done"]    runs on
 *
 * Everything else is some program that nothing is known of.
 */
import type { Container } from '../../kinds/shapes/pod/containers/container.ts'

export type Understood = { readonly runMs: number; readonly exitCode: number; readonly log: string }

const FOREVER: Understood = { runMs: Number.POSITIVE_INFINITY, exitCode: 0, log: '' }
const SHELLS = ['sh', 'bash', 'ash', 'dash']
/** Commands that are done at once and succeed. What they print is not known. */
const QUICK = new Set('cat cd chmod chown cp date env export hostname id ln ls mkdir mv printf pwd rm set touch trap'.split(' '))
const LONGEST_SCRIPT = 4096

/** Undefined when the command is not understood. */
export function understand({ image = '', command, args }: Container): Understood | undefined {
  const words = [...(command ?? []), ...(args ?? [])]
  const [program = '', ...rest] = words
  const name = program.slice(program.lastIndexOf('/') + 1)
  if (!command?.length && /(^|\/)pause(:|@|$)/.test(image)) return FOREVER
  if (SHELLS.includes(name)) {
    const [flag = '', script = ''] = rest
    return /^-[a-z]*c$/.test(flag) ? understandScript(script) : undefined
  }
  return understandSteps([{ words: [name, ...rest], isConditional: false }])
}

/** A command of a script; a conditional one is run when the one before succeeded. */
type Step = { readonly words: readonly string[]; readonly isConditional: boolean }

function understandScript(script: string): Understood | undefined {
  if (script.length > LONGEST_SCRIPT) return undefined
  const steps = stepsOf(script)
  return steps && understandSteps(steps)
}

function understandSteps(steps: readonly Step[]): Understood | undefined {
  const done = { runMs: 0, exitCode: 0, log: '' }
  for (const { words, isConditional } of steps) {
    if (isConditional && done.exitCode !== 0) continue
    const [name = '', ...args] = words
    if (name === 'while' && /^(true|:|1)$/.test(args[0] ?? '')) return { ...FOREVER, log: done.log }
    if (name === 'exit') return /^\d{1,3}$/.test(args[0] ?? '0') ? { ...done, exitCode: Number(args[0] ?? done.exitCode) % 256 } : undefined
    if (name === 'pause') return { ...FOREVER, log: done.log }
    if (name === 'sleep') {
      const ms = sleepMs(args)
      if (ms === undefined) return undefined
      done.runMs += ms
    } else if (name === 'echo') done.log += textOf(args)
    else if (name !== 'true' && name !== ':' && name !== 'false' && !QUICK.has(name)) return undefined
    done.exitCode = name === 'false' ? 1 : 0
  }
  return done
}

/** What `echo` prints; nothing when that depends on variables or goes to a file. */
function textOf(args: readonly string[]): string {
  return args.some(word => /[$`>]/.test(word)) ? '' : `${args.filter(word => word !== '-n' && word !== '-e').join(' ')}\n`
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

const TOKEN = /[ \t]*(?:(\n|;|&&|\|\||\||&)|((?:'[^']*'|"(?:[^"\\]|\\.)*"|\\.|>&|[^\s;&|'"\\])+))/gy

/** The commands of a script; undefined when it has more than a list of them: pipes, conditions, functions. */
function stepsOf(script: string): Step[] | undefined {
  const steps: Step[] = []
  const text = `${script.trim()}\n`
  let words: string[] = []
  let isConditional = false
  let read = 0
  for (const [token, operator, word = ''] of text.matchAll(TOKEN)) {
    read += token.length
    // The body of an endless loop need not be understood.
    if (word === 'do' && words.length === 0 && steps.at(-1)?.words[0] === 'while') return steps
    if (operator === undefined) words.push(unquoted(word))
    else if (operator !== ';' && operator !== '&&' && operator !== '\n') return undefined
    else {
      if (words.length > 0) steps.push({ words, isConditional })
      if (words.length > 0) isConditional = operator === '&&'
      words = []
    }
  }
  return read === text.length ? steps : undefined
}

const unquoted = (word: string): string =>
  word.replace(
    /'([^']*)'|"((?:[^"\\]|\\.)*)"|\\(.)/g,
    (_, single, double, escaped) => single ?? double?.replace(/\\(["\\$`])/g, '$1') ?? escaped,
  )
