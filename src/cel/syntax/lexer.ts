/** Splits the source of an expression into tokens. */

/** Token types. */
export const T = numbered({
  eof: 0,
  equals: 1,
  notEquals: 2,
  in: 3,
  less: 4,
  lessEquals: 5,
  greaterEquals: 6,
  greater: 7,
  and: 8,
  or: 9,
  leftBracket: 10,
  rightBracket: 11,
  leftBrace: 12,
  rightBrace: 13,
  leftParen: 14,
  rightParen: 15,
  dot: 16,
  comma: 17,
  minus: 18,
  not: 19,
  question: 20,
  colon: 21,
  plus: 22,
  star: 23,
  slash: 24,
  percent: 25,
  true: 26,
  false: 27,
  null: 28,
  float: 31,
  int: 32,
  uint: 33,
  string: 34,
  bytes: 35,
  identifier: 36,
  escapedIdentifier: 37,
  /** Input that begins no token; the last token before the end. */
  unreadable: 38,
})

// Typed as plain numbers: literal types would get in the way of a parser that advances.
function numbered<Name extends string>(types: Record<Name, number>): Readonly<Record<Name, number>> {
  return types
}

export interface Token {
  readonly type: number
  readonly start: number
  readonly end: number
}

/** The tokens of a source without spaces and comments, up to input that begins no token; the last is the end. */
export function tokenize(text: string): readonly Token[] {
  const tokens: Token[] = []
  let at = 0
  while (at < text.length) {
    const start = at
    const type = scan(text, at)
    if (type === problem) {
      // The character at which the match failed is part of it.
      at = Math.min(text.length, end + ((text.codePointAt(end) ?? 0) > 0xffff ? 2 : 1))
      tokens.push({ type: T.unreadable, start, end: at })
      break
    }
    at = end
    if (type !== hidden) tokens.push({ type, start, end })
  }
  tokens.push({ type: T.eof, start: text.length, end: text.length })
  return tokens
}

const hidden = -1
const problem = -2

// Where the last scan ended: after its token, or at the character that did not match. Module state saves an object per token.
let end = 0

const singles = new Map<number, number>(
  Object.entries({
    '[': T.leftBracket,
    ']': T.rightBracket,
    '{': T.leftBrace,
    '}': T.rightBrace,
    '(': T.leftParen,
    ')': T.rightParen,
    ',': T.comma,
    '-': T.minus,
    '?': T.question,
    ':': T.colon,
    '+': T.plus,
    '*': T.star,
    '%': T.percent,
  }).map(([text, type]) => [text.charCodeAt(0), type]),
)

const keywords = new Map<string, number>([
  ['in', T.in],
  ['true', T.true],
  ['false', T.false],
  ['null', T.null],
])

const space = /[\t \r\n\f]+/y
const comment = /\/\/[^\n]*/y
const word = /[A-Za-z_][A-Za-z0-9_]*/y
const float = /(?:[0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+|\.[0-9]+(?:[eE][+-]?[0-9]+)?)/y
const integer = /(?:0x[0-9a-fA-F]+|[0-9]+)[uU]?/y
const escapes = String.raw`\\(?:[abfnrtv"'\\?${'`'}]|[0-3][0-7][0-7]|[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})`
const quoted = new RegExp(
  `(?:"""(?:${escapes}|[^\\\\])*?"""|'''(?:${escapes}|[^\\\\])*?'''|"(?:${escapes}|[^\\\\"\\n\\r])*"|'(?:${escapes}|[^\\\\'\\n\\r])*')`,
  'y',
)
const rawQuoted = /[rR](?:"""[\s\S]*?"""|'''[\s\S]*?'''|"[^"\n\r]*"|'[^'\n\r]*')/y
const unclosed = new RegExp(`(?:"(?:${escapes}|[^\\\\"\\n\\r])*|'(?:${escapes}|[^\\\\'\\n\\r])*)`, 'y')
const partialEscape = /\\(?:[0-3][0-7]?|[xX][0-9a-fA-F]?|u[0-9a-fA-F]{0,3}|U[0-9a-fA-F]{0,7})?/y
const escaped = /`[A-Za-z0-9_.\-/ ]+`/y
const unclosedEscaped = /`[A-Za-z0-9_.\-/ ]*/y

function scan(text: string, at: number): number {
  const code = text.charCodeAt(at)
  const single = singles.get(code)
  if (single !== undefined) return ends(at + 1, single)
  switch (code) {
    case 0x09:
    case 0x0a:
    case 0x0c:
    case 0x0d:
    case 0x20:
      return match(space, text, at) ? hidden : problem
    case 0x21: // !
      return text[at + 1] === '=' ? ends(at + 2, T.notEquals) : ends(at + 1, T.not)
    case 0x3c: // <
      return text[at + 1] === '=' ? ends(at + 2, T.lessEquals) : ends(at + 1, T.less)
    case 0x3e: // >
      return text[at + 1] === '=' ? ends(at + 2, T.greaterEquals) : ends(at + 1, T.greater)
    case 0x26: // &
      return text[at + 1] === '&' ? ends(at + 2, T.and) : ends(at + 1, problem)
    case 0x7c: // |
      return text[at + 1] === '|' ? ends(at + 2, T.or) : ends(at + 1, problem)
    case 0x3d: // =
      return text[at + 1] === '=' ? ends(at + 2, T.equals) : ends(at + 1, problem)
    case 0x2f: // /
      return match(comment, text, at) ? hidden : ends(at + 1, T.slash)
    case 0x2e: // .
      return match(float, text, at) ? T.float : ends(at + 1, T.dot)
    case 0x22: // "
    case 0x27: // '
      return match(quoted, text, at) ? T.string : unclosedString(text, at)
    case 0x60: // `
      if (match(escaped, text, at)) return T.escapedIdentifier
      match(unclosedEscaped, text, at)
      return problem
  }
  if (code >= 0x30 && code <= 0x39) return number(text, at)
  return scanWord(text, at)
}

function ends(at: number, type: number): number {
  end = at
  return type
}

function match(pattern: RegExp, text: string, at: number): boolean {
  pattern.lastIndex = at
  if (!pattern.test(text)) return false
  end = pattern.lastIndex
  return true
}

function number(text: string, at: number): number {
  if (match(float, text, at)) return T.float
  match(integer, text, at)
  const last = text.charCodeAt(end - 1) | 0x20
  return last === 0x75 ? T.uint : T.int
}

function scanWord(text: string, at: number): number {
  if (!match(word, text, at)) return ends(at, problem)
  const afterWord = end
  // A prefix of one or two letters may begin a string or bytes.
  if (afterWord - at <= 2) {
    const prefix = text.slice(at, afterWord).toLowerCase()
    if (prefix === 'r' && match(rawQuoted, text, at)) return T.string
    if (prefix === 'b' && match(quoted, text, afterWord)) return T.bytes
    if (prefix === 'br' && match(rawQuoted, text, at + 1)) return T.bytes
  }
  return ends(afterWord, keywords.get(text.slice(at, afterWord)) ?? T.identifier)
}

function unclosedString(text: string, at: number): number {
  match(unclosed, text, at)
  if (text[end] === '\\') match(partialEscape, text, end)
  return problem
}
