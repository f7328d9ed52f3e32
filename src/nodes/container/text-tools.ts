/** Text tools in their common forms: `head`, `tail`, `grep`, `cut`, `awk` and `wc`. */

import { OVERHEAD } from './budget.ts'

export type ToolOutput = { readonly text: string; readonly exitCode: number }
export type TextTool = {
  /** The files to read; the pipe is read where there are none. */
  readonly files: readonly string[]
  readonly run: (input: string, spend: Spend) => ToolOutput
}
/** Charges the bytes that a tool has read; throws when the budget is exceeded. */
type Spend = (bytes: number) => void

/** Undefined for unknown programs and options. */
export function textTool(name: string, args: readonly string[]): TextTool | undefined {
  switch (name) {
    case 'head':
    case 'tail':
      return partOfLines(name, args)
    case 'grep':
      return lookingFor(args)
    case 'cut':
      return oneField(args)
    case 'wc': {
      const [option = '', ...files] = args
      const counted = Object.hasOwn(COUNTED, option) ? COUNTED[option] : undefined
      if (!counted || files.length > 1) return undefined
      return { files, run: (input, spend) => outputOf(`${[counted(input, spend), ...files].join(' ')}\n`) }
    }
    case 'awk': {
      const [program = '', ...files] = args
      const [, field] = /^\s*\{\s*print\s+\$(\d{1,3})\s*;?\s*\}\s*$/.exec(program) ?? []
      return field === undefined
        ? undefined
        : { files, run: (input, spend) => outputOf(textOf(linesOf(input, spend).map(line => wordOf(line, Number(field), spend)))) }
    }
    default:
      return undefined
  }
}

const outputOf = (text: string, exitCode = 0): ToolOutput => ({ text, exitCode })

/** Drops the terminator of the last line. */
function linesOf(text: string, spend: Spend): string[] {
  const lines: string[] = []
  for (let at = 0; at < text.length; ) {
    const found = text.indexOf('\n', at)
    const end = found < 0 ? text.length : found
    spend(end - at + OVERHEAD)
    lines.push(text.slice(at, end))
    at = end + 1
  }
  return lines
}
const textOf = (lines: readonly string[]): string => lines.map(line => `${line}\n`).join('')

/** Fields are numbered from 1; number 0 is the whole line. */
const wordOf = (line: string, number: number, spend: Spend): string => {
  if (number === 0) return line
  spend(line.length)
  return partOf(line.trim(), /\s+/, number)
}
/** The field with a number; the rest of the text is not split. */
const partOf = (text: string, separator: RegExp | string, number: number): string => text.split(separator, number)[number - 1] ?? ''

const COUNTED: Readonly<Record<string, (text: string, spend: Spend) => number>> = {
  '-l': (text, spend) => linesOf(text, spend).length - (text === '' || text.endsWith('\n') ? 0 : 1),
  '-w': (text, spend) => {
    let count = 0
    for (const line of linesOf(text, spend)) {
      spend(line.length * WORD_COST)
      for (const word of line.split(/\s+/)) if (word !== '') count++
    }
    return count
  },
  '-c': (text, spend) => {
    spend(text.length)
    return Buffer.byteLength(text)
  },
}
/** Every second character may begin a word. */
const WORD_COST = OVERHEAD / 2

function partOfLines(name: 'head' | 'tail', args: readonly string[]): TextTool | undefined {
  const { options, rest: files } = withOptions(args, 'n')
  const countText = options.get('n') ?? [...options.keys()].find(key => /^\d+$/.test(key)) ?? '10'
  if (options.size > 1 || (options.size === 1 && !options.has('n') && countText === '10' && !options.has('10'))) return undefined
  if (!/^\d{1,6}$/.test(countText)) return undefined
  const count = Number(countText)
  const part = (lines: string[]) => (name === 'head' ? lines.slice(0, count) : count === 0 ? [] : lines.slice(-count))
  return { files, run: (input, spend) => outputOf(textOf(part(linesOf(input, spend)))) }
}

/** Searching every line for a longer pattern would take too long. */
const MAX_PATTERN_LENGTH = 1000

/** Patterns without special characters. */
function lookingFor(args: readonly string[]): TextTool | undefined {
  const { options, rest } = withOptions(args, '')
  const [pattern = '', ...files] = rest
  if (
    pattern.length > MAX_PATTERN_LENGTH ||
    !/^[\w ,:=@%/"-]+$/.test(pattern) ||
    files.length > 1 ||
    [...options.keys()].some(key => !'qvciFE'.includes(key))
  )
    return undefined
  const folded = (text: string) => (options.has('i') ? text.toLowerCase() : text)
  const run = (input: string, spend: Spend): ToolOutput => {
    const needle = folded(pattern)
    const found = linesOf(input, spend).filter(line => folded(line).includes(needle) !== options.has('v'))
    const exitCode = found.length > 0 ? 0 : 1
    if (options.has('q')) return outputOf('', exitCode)
    return outputOf(options.has('c') ? `${found.length}\n` : textOf(found), exitCode)
  }
  return { files, run }
}

function oneField(args: readonly string[]): TextTool | undefined {
  const { options, rest: files } = withOptions(args, 'fd')
  const [field = '', separator = '\t'] = [options.get('f'), options.get('d')]
  if (!/^[1-9]\d{0,3}$/.test(field) || separator.length !== 1 || [...options.keys()].some(key => !'fd'.includes(key))) return undefined
  // A line without a separator is printed whole.
  const part = (line: string) => (line.includes(separator) ? partOf(line, separator, Number(field)) : line)
  return { files, run: (input, spend) => outputOf(textOf(linesOf(input, spend).map(part))) }
}

/** Options of one letter, some with a value, `-n 3` or `-n3`; numbers are options, too: `-3`. */
function withOptions(args: readonly string[], valued: string): { options: ReadonlyMap<string, string>; rest: string[] } {
  const options = new Map<string, string>()
  let at = 0
  for (; at < args.length && /^-./.test(args[at]!); at++) {
    const text = args[at]!.slice(1)
    const letter = text[0]!
    if (valued.includes(letter)) options.set(letter, text.length > 1 ? text.slice(1) : (args[++at] ?? ''))
    else if (/^\d+$/.test(text)) options.set(text, '')
    else for (const each of text) options.set(each, '')
  }
  return { options, rest: args.slice(at) }
}
