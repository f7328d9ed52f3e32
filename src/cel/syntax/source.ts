/** The source of an expression, and the format of its errors. */

/** A position in a source: lines from 1, columns in code points from 0; -1 when unknown. */
export interface Location {
  readonly line: number
  readonly column: number
}

export interface CelIssue {
  readonly location: Location
  readonly message: string
}

export interface Source {
  readonly text: string
  /** The name of the source in messages. */
  readonly description: string
  /** The position of an offset in UTF-16 units. */
  locate(offset: number): Location
  /** A line without its line break. */
  line(number: number): string | undefined
}

/** An expression cannot be parsed or does not type-check; the message is cel-go's, one paragraph per issue. */
export class CelError extends Error {
  readonly issues: readonly CelIssue[]
  constructor(source: Source, issues: readonly CelIssue[]) {
    super(formatIssues(source, issues))
    this.name = 'CelError'
    this.issues = issues
  }
}

export const nowhere: Location = { line: -1, column: -1 }

/** A source of one expression. */
export function createSource(text: string, description = '<input>'): Source {
  let starts: number[] | undefined
  let ascii: boolean | undefined
  // The last position: errors are mostly reported in order, and thousands on one line must not each count from its start.
  let known = { start: -1, offset: 0, column: 0 }
  const lineStarts = (): number[] => {
    if (starts) return starts
    starts = [0]
    for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) starts.push(at + 1)
    return starts
  }
  const columnOf = (start: number, offset: number): number => {
    ascii ??= !/[\u0080-\uffff]/.test(text)
    if (ascii) return offset - start
    if (known.start !== start || known.offset > offset) known = { start, offset: start, column: 0 }
    known = { start, offset, column: known.column + codePoints(text, known.offset, offset) }
    return known.column
  }
  return {
    text,
    description,
    locate(offset) {
      const all = lineStarts()
      let low = 0
      let high = all.length - 1
      while (low < high) {
        const middle = (low + high + 1) >> 1
        if (all[middle]! <= offset) low = middle
        else high = middle - 1
      }
      return { line: low + 1, column: columnOf(all[low]!, offset) }
    },
    line(number) {
      const all = lineStarts()
      const start = all[number - 1]
      if (start === undefined) return undefined
      const next = all[number]
      return text.slice(start, next === undefined ? text.length : next - 1)
    },
  }
}

/** The number of code points between two offsets. */
export function codePoints(text: string, from: number, to: number): number {
  let count = 0
  for (let at = from; at < to; count++) at += (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1
  return count
}

/** The number of issues in a message; the others are only counted. */
export const MAX_ISSUES = 100
const MAX_SNIPPET_BYTES = 16_384

/** The issues in cel-go's format, in order of position. */
function formatIssues(source: Source, issues: readonly CelIssue[]): string {
  const shown = issues.slice(0, MAX_ISSUES)
  shown.sort((a, b) => a.location.line - b.location.line || a.location.column - b.location.column)
  const lines = shown.map(issue => formatIssue(source, issue))
  if (issues.length > MAX_ISSUES) lines.push(`${issues.length - MAX_ISSUES} more errors were truncated`)
  return lines.join('\n')
}

function formatIssue(source: Source, { location, message }: CelIssue): string {
  const heading = `ERROR: ${source.description}:${location.line}:${location.column + 1}: ${message}`
  const line = source.line(location.line)
  if (line === undefined || Buffer.byteLength(line) > MAX_SNIPPET_BYTES) return heading
  const snippet = line.replaceAll('\t', ' ')
  return `${heading}\n | ${snippet}\n | ${pointer(snippet, location.column)}`
}

// Non-ASCII characters count as wide, as in cel-go, so that the caret stands below them.
function pointer(snippet: string, column: number): string {
  let out = ''
  let at = 0
  for (let i = 0; i < column && at < snippet.length; i++) {
    const code = snippet.codePointAt(at)!
    out += code > 0x7f ? '\uff0e' : '.'
    at += code > 0xffff ? 2 : 1
  }
  const code = snippet.codePointAt(at)
  return out + (code !== undefined && code > 0x7f ? '\uff3e' : '^')
}
