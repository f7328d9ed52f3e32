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

export type Understood = {
  readonly runMs: number
  readonly exitCode: number
  /** What it prints, and what it writes to the file for its last words. */
  readonly log: string
  readonly lastWords: string
}

const FOREVER: Understood = { runMs: Number.POSITIVE_INFINITY, exitCode: 0, log: '', lastWords: '' }
const SHELLS = ['sh', 'bash', 'ash', 'dash']
/** Commands that are done at once and succeed, but for false. What the others print is not known. */
const KNOWN = new Set(
  ': cat cd chmod chown cp date echo env export false hostname id ln ls mkdir mv printf pwd rm set sleep touch trap true'.split(' '),
)
const LONGEST_SCRIPT = 4096

type Command = Partial<Pick<Container, 'image' | 'command' | 'args' | 'terminationMessagePath'>>

/** Undefined when the command is not understood. */
export function understand({ image = '', command, args, terminationMessagePath = '' }: Command): Understood | undefined {
  const words = [...(command ?? []), ...(args ?? [])]
  if (!command?.length && isServer(image, args?.[0] ?? 'pause')) return FOREVER
  const [program = '', flag = '', script = ''] = words
  if (!SHELLS.includes(baseName(program))) return understandSteps([{ words, isConditional: false }], terminationMessagePath)
  const steps = /^-[a-z]*c$/.test(flag) && script.length <= LONGEST_SCRIPT ? stepsOf(script) : undefined
  return steps && understandSteps(steps, terminationMessagePath)
}

/** Images whose program runs on: pause, and the one of Kubernetes' tests with what it does, if that is to wait or to serve. */
const isServer = (image: string, does: string): boolean =>
  /(^|\/)pause(:|@|$)/.test(image) || (/(^|\/)agnhost(:|@|$)/.test(image) && SERVING.has(does))
const SERVING = new Set(
  'pause netexec nettest serve-hostname porter liveness webhook crd-conversion-webhook guestbook grpc-health-checking'.split(' '),
)

const baseName = (path: string): string => path.slice(path.lastIndexOf('/') + 1)

/** A command of a script; a conditional one is run when the one before succeeded. */
type Step = { readonly words: readonly string[]; readonly isConditional: boolean }

function understandSteps(steps: readonly Step[], lastWordsPath: string): Understood | undefined {
  const done = { runMs: 0, exitCode: 0, log: '', lastWords: '' }
  let isEndless = false
  for (const { words, isConditional } of steps) {
    const [name = '', ...args] = [baseName(words[0] ?? ''), ...words.slice(1)]
    if (isConditional && done.exitCode !== 0) continue
    if (name === 'echo') {
      const { text, file } = printed(args)
      if (file === undefined) done.log += text
      else if (file === lastWordsPath) done.lastWords = text
    }
    // Of an endless loop only what it prints is of interest.
    if (isEndless) continue
    if (name === 'exit') return /^\d{1,3}$/.test(args[0] ?? '0') ? { ...done, exitCode: Number(args[0] ?? done.exitCode) % 256 } : undefined
    const ms = name === 'sleep' ? sleepMs(args) : 0
    if (ms === undefined) return undefined
    done.runMs += ms
    isEndless = name === 'pause' || (name === 'while' && /^(true|:|1)$/.test(args[0] ?? ''))
    if (!isEndless && !KNOWN.has(name)) return undefined
    done.exitCode = name === 'false' ? 1 : 0
  }
  return isEndless ? { ...done, runMs: Number.POSITIVE_INFINITY } : done
}

/** What `echo` prints, and into which file; nothing when that depends on variables. */
function printed(args: readonly string[]): { text: string; file: string | undefined } {
  const at = args.findIndex(word => word.startsWith('>'))
  const words = at < 0 ? args : args.slice(0, at)
  const file = at < 0 ? undefined : args.slice(at).join('').replace(/^>+/, '')
  if (words.some(word => /[$`]/.test(word))) return { text: '', file }
  const text = words.filter(word => word !== '-n' && word !== '-e').join(' ')
  return { text: words.includes('-n') ? text : `${text}\n`, file }
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
  let [isConditional, isInLoop] = [false, false]
  let read = 0
  for (const [token, operator, word = ''] of text.matchAll(TOKEN)) {
    read += token.length
    if (word === 'do' && words.length === 0) isInLoop = true
    else if (operator === undefined) words.push(unquoted(word))
    // The body of a loop need not be understood.
    else if (operator !== ';' && operator !== '&&' && operator !== '\n' && !isInLoop) return undefined
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
