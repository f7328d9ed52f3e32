/** The values of string and bytes literals. */

/** A literal's value, or its error. */
export type Unescaped<T> = { readonly value: T } | { readonly problem: string }

const notAString = { problem: 'unable to unescape string' }
const notOctal = { problem: 'unable to unescape octal sequence in string' }
const notCodePoint = { problem: 'invalid unicode code point' }

/** The value of a string literal with its quotes and `r` prefix. */
export function unescapeString(literal: string): Unescaped<string> {
  const { body, raw } = stripQuotes(literal)
  if (raw || !body.includes('\\')) return { value: body }
  const parts: string[] = []
  const problem = eachPart(body, {
    text: text => parts.push(text),
    code: code => {
      if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return notCodePoint
      parts.push(String.fromCodePoint(code))
      return undefined
    },
    unicode: true,
  })
  return problem ?? { value: parts.join('') }
}

/** The value of a bytes literal with its quotes and `r` prefix, but without the `b`; `\x` and octals are bytes, not characters. */
export function unescapeBytes(literal: string): Unescaped<Uint8Array> {
  const { body, raw } = stripQuotes(literal)
  if (raw || !body.includes('\\')) return { value: new TextEncoder().encode(body) }
  const parts: Buffer[] = []
  const problem = eachPart(body, {
    text: text => parts.push(Buffer.from(text)),
    code: code => {
      parts.push(Buffer.of(code))
      return undefined
    },
    unicode: false,
  })
  return problem ?? { value: new Uint8Array(Buffer.concat(parts)) }
}

function stripQuotes(literal: string): { body: string; raw: boolean } {
  const normal = literal.includes('\r') ? literal.replace(/\r\n?/g, '\n') : literal
  const raw = normal[0] === 'r' || normal[0] === 'R'
  const quoted = raw ? normal.slice(1) : normal
  const triple = quoted.length >= 6 && (quoted.startsWith("'''") || quoted.startsWith('"""'))
  return { body: triple ? quoted.slice(3, -3) : quoted.slice(1, -1), raw }
}

interface Parts {
  text(text: string): void
  code(code: number): { problem: string } | undefined
  /** Whether `\u` and `\U` are allowed. */
  readonly unicode: boolean
}

const plain = new Map([
  ['a', '\x07'],
  ['b', '\b'],
  ['f', '\f'],
  ['n', '\n'],
  ['r', '\r'],
  ['t', '\t'],
  ['v', '\v'],
  ...[...'\\\'"`?'].map(char => [char, char] as const),
])

const hexDigits = new Map([
  ['x', 2],
  ['X', 2],
  ['u', 4],
  ['U', 8],
])

function eachPart(body: string, parts: Parts): { problem: string } | undefined {
  for (let at = 0; at < body.length; ) {
    const slash = body.indexOf('\\', at)
    if (slash !== at) parts.text(body.slice(at, slash < 0 ? body.length : slash))
    if (slash < 0) break
    const letter = body[slash + 1] ?? ''
    const meant = plain.get(letter)
    const hex = hexDigits.get(letter)
    let problem: { problem: string } | undefined
    if (meant !== undefined) {
      parts.text(meant)
      at = slash + 2
    } else if (hex !== undefined) {
      const digits = body.slice(slash + 2, slash + 2 + hex)
      if (digits.length < hex || !/^[0-9a-fA-F]+$/.test(digits) || (hex > 2 && !parts.unicode)) return notAString
      problem = parts.code(Number.parseInt(digits, 16))
      at = slash + 2 + hex
    } else if (letter >= '0' && letter <= '3') {
      const digits = body.slice(slash + 1, slash + 4)
      if (!/^[0-3][0-7]{2}$/.test(digits)) return notOctal
      problem = parts.code(Number.parseInt(digits, 8))
      at = slash + 4
    } else return notAString
    if (problem) return problem
  }
  return undefined
}
