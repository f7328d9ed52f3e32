/** Errors of a YAML text, in the words of go-yaml and with the line that it names. */

type Problem = {
  readonly text: string
  /** Where it is found: go-yaml counts lines from one where it splits the text, and from zero where it reads what it has split. */
  readonly by: 'scanner' | 'parser'
  /** Lines after the one where our parser stops. */
  readonly later?: number
}

/** The problem at a line, counted from zero, which our parser gives a reason for. */
export function yamlProblem(source: string, line: number, reason: string): string {
  const { text, by, later = 0 } = problemOf(source, line, reason)
  const at = Math.max(0, line + later)
  const shown = at === 0 ? 0 : by === 'scanner' ? at + 1 : at
  return shown === 0 ? `yaml: ${text}` : `yaml: line ${shown}: ${text}`
}

function problemOf(source: string, line: number, reason: string): Problem {
  const [, found] = REASONS.find(([pattern]) => pattern.test(reason)) ?? []
  return found?.(lineOf(source, line), source) ?? { text: reason, by: 'scanner' }
}

const NO_TOKEN: Problem = { text: 'found character that cannot start any token', by: 'scanner' }

/** Messages of our parser, each with the one that go-yaml has for the same text, given the line and the whole. */
const REASONS: readonly (readonly [RegExp, (line: string, source: string) => Problem])[] = [
  [/^unexpected end of the stream within a flow collection/, (_, source) => unclosed(source)],
  [
    /^unexpected end of the (stream|document) within a (single|double) quoted/,
    () => ({ text: 'found unexpected end of stream', by: 'scanner' }),
  ],
  [/^tab characters must not be used/, () => NO_TOKEN],
  [/^unknown escape sequence/, () => ({ text: 'found unknown escape character', by: 'scanner' })],
  [/^expected ':' after a mapping key/, () => ({ text: "could not find expected ':'", by: 'scanner', later: 1 })],
  [/^expected hexadecimal character/, () => ({ text: 'did not find expected hexdecimal number', by: 'scanner' })],
  [/^a line break is expected/, () => ({ text: 'did not find expected comment or line break', by: 'scanner' })],
  [/^expected the node content/, () => ({ text: 'did not find expected node content', by: 'parser' })],
  [/^missed comma between flow/, (_, source) => ({ text: unclosed(source).text, by: 'parser' })],
  [
    /^null byte is not allowed|non-printable characters/,
    () => ({ text: 'control characters are not allowed', by: 'parser', later: Number.NEGATIVE_INFINITY }),
  ],
  [/^bad indentation of a mapping entry/, (line, source) => misplaced(line, source)],
  [
    /^end of the stream or a document separator is expected/,
    (_, source) => ({ text: source.startsWith('- ') ? "did not find expected '-' indicator" : 'did not find expected key', by: 'parser' }),
  ],
]

/** An entry where none can be: a value that is a mapping, on its line or below it, or the end of the entry before. */
function misplaced(line: string, source: string): Problem {
  if (/:\s+[@`%]/.test(line)) return NO_TOKEN
  const indent = (text: string) => text.length - text.trimStart().length
  const before = source.slice(0, Math.max(0, source.indexOf(line) - 1))
  const isDeeper = indent(line) > indent(before.slice(before.lastIndexOf('\n') + 1))
  const isMapping = /:(\s|$)/.test(line) && (isDeeper || /:\s+[^\s"'[{].*:(\s|$)/.test(line))
  return isMapping
    ? { text: 'mapping values are not allowed in this context', by: 'scanner' }
    : { text: 'did not find expected key', by: 'parser' }
}

/** A list or mapping in brackets that does not end: the missing character depends on the last one. */
function unclosed(source: string): Problem {
  const last = source.trimEnd().at(-1) ?? ''
  if ('[{,:'.includes(last)) return { text: 'did not find expected node content', by: 'parser', later: 1 }
  const closing = source.lastIndexOf('{') > source.lastIndexOf('[') ? '}' : ']'
  return { text: `did not find expected ',' or '${closing}'`, by: 'parser', later: 1 }
}

function lineOf(source: string, line: number): string {
  let start = 0
  for (let i = 0; i < line; i++) {
    const end = source.indexOf('\n', start)
    if (end === -1) break
    start = end + 1
  }
  const end = source.indexOf('\n', start)
  return source.slice(start, Math.min(end === -1 ? source.length : end, start + MAX_LINE_LENGTH))
}
const MAX_LINE_LENGTH = 1024
