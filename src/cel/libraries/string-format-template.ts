/** Templates of `string.format`: text with clauses such as `%s` and `%.2f`, parsed the same way when checked and when filled in. */

import { goQuote } from '../../lib/go-text.ts'

export type ClauseVerb = 's' | 'd' | 'f' | 'e' | 'b' | 'x' | 'X' | 'o'

export interface Clause {
  readonly verb: ClauseVerb
  readonly precision: number | undefined
}

/** An error of a template or of an argument; `node` is the argument in an expression. */
export class FormatError extends Error {
  override readonly name = 'FormatError'
  readonly node: number | undefined
  constructor(message: string, node?: number) {
    super(message)
    this.node = node
  }
}

/** Formats the arguments of a template. */
export interface Filler {
  /** The number of arguments. */
  readonly count: number
  /** The formatted argument; throws FormatError. */
  fill(clause: Clause, index: number): string
}

/** Fills in a template; returns the text and the number of arguments used. Throws FormatError. */
export function fillTemplate(template: string, { count, fill }: Filler): { text: string; used: number } {
  let text = ''
  let used = 0
  for (let i = 0; i < template.length; ) {
    if (template[i] !== '%') {
      text += template[i++]
      continue
    }
    if (template[i + 1] === '%') {
      text += '%'
      i += 2
      continue
    }
    const { clause, length } = readClause(template, i + 1, { index: used, count })
    try {
      text += fill(clause, used)
    } catch (error) {
      throw error instanceof FormatError ? new FormatError(`error during formatting: ${error.message}`, error.node) : error
    }
    used++
    i += 1 + length
  }
  return { text, used }
}

const VERBS: ReadonlySet<string> = new Set(['s', 'd', 'f', 'e', 'b', 'x', 'X', 'o'])

function readClause(template: string, at: number, { index, count }: { index: number; count: number }): { clause: Clause; length: number } {
  const outOfRange = new FormatError(`index ${index} out of range`)
  if (at >= template.length) throw index >= count ? outOfRange : new FormatError('unexpected end of string')
  if (index >= count) throw outOfRange
  const fail = (why: string) => new FormatError(`could not parse formatting clause: ${why}`)
  let end = at
  let precision: number | undefined
  if (template[at] === '.') {
    end++
    while (/[0-9]/.test(template[end] ?? '')) end++
    if (end >= template.length) throw fail('error while parsing precision: could not find end of precision specifier')
    precision = readPrecision(template.slice(at + 1, end), fail)
  }
  const verb = template[end]!
  if (!VERBS.has(verb)) throw fail(`unrecognized formatting clause "${firstByte(template.slice(end))}"`)
  return { clause: { verb: verb as ClauseVerb, precision }, length: end + 1 - at }
}

function readPrecision(digits: string, fail: (why: string) => FormatError): number {
  const problem = digits === '' ? 'invalid syntax' : digits.length > 18 ? 'value out of range' : undefined
  if (problem === undefined) return Number(digits)
  throw fail(
    `error while parsing precision: error while converting precision to integer: strconv.Atoi: parsing ${goQuote(digits)}: ${problem}`,
  )
}

/** Templates are parsed byte by byte: messages show the first byte of a non-ASCII character. */
const firstByte = (text: string): string => Buffer.from(text.slice(0, 2)).toString('latin1').slice(0, 1)

/** Messages about arguments of a type that a clause does not accept. */
export const clauseProblems: Readonly<Record<ClauseVerb, string>> = {
  s: 'string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps, was given',
  d: 'decimal clause can only be used on integers, was given',
  f: 'fixed-point clause can only be used on doubles, was given',
  e: 'scientific clause can only be used on doubles, was given',
  b: 'only integers and bools can be formatted as binary, was given',
  x: 'only integers, byte buffers, and strings can be formatted as hex, was given',
  X: 'only integers, byte buffers, and strings can be formatted as hex, was given',
  o: 'octal clause can only be used on integers, was given',
}
