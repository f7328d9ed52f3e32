// Values and quotes as Go's formatter prints them, for the messages clients read.
import { isObject, type Json, type JsonObject } from './json-value.ts'

const ESCAPES: Readonly<Record<string, string>> = {
  '\x07': '\\a',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\v': '\\v',
  '"': '\\"',
  '\\': '\\\\',
}
const PLAIN = /^[ !#-[\]-~]*$/
const PRINTABLE = /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]$/u

/** Whether Go prints the character as it is; the only space among them is the plain one. */
export const isPrintable = (char: string): boolean => PRINTABLE.test(char)

/** The text in double quotes, as `%q` prints it. */
export function goQuote(text: string): string {
  if (PLAIN.test(text)) return `"${text}"`
  let out = '"'
  for (const char of text) out += ESCAPES[char] ?? (isPrintable(char) ? char : escaped(char.codePointAt(0)!))
  return `${out}"`
}

function escaped(code: number): string {
  if (code < 0x80) return `\\x${hex(code, 2)}`
  return code < 0x10000 ? `\\u${hex(code, 4)}` : `\\U${hex(code, 8)}`
}

const hex = (code: number, width: number) => code.toString(16).padStart(width, '0')

/** A decoded JSON value as `%v` prints it: `map[a:1 b:[x y]]`. */
export function goPrint(value: Json | undefined): string {
  if (value === null || value === undefined) return '<nil>'
  if (Array.isArray(value)) return `[${value.map(goPrint).join(' ')}]`
  if (isObject(value)) {
    const members = Object.keys(value).sort(compareText)
    return `map[${members.map(key => `${key}:${goPrint(value[key])}`).join(' ')}]`
  }
  return typeof value === 'number' && !Number.isInteger(value) ? goFloat(value) : String(value)
}

/** A decoded JSON value as `%#v` prints it. */
export function goSyntax(value: Json): string {
  if (value === null) return 'interface {}(nil)'
  if (typeof value === 'string') return goQuote(value)
  if (Array.isArray(value)) return `[]interface {}{${value.map(goSyntax).join(', ')}}`
  if (isObject(value)) {
    const members = Object.keys(value).sort(compareText)
    return `map[string]interface {}{${members.map(key => `${goQuote(key)}:${goSyntax(value[key]!)}`).join(', ')}}`
  }
  return goPrint(value)
}

/** The Go type a decoded JSON value has. */
export function goType(value: Json | undefined): string {
  if (value === null || value === undefined) return '%!s(<nil>)'
  if (Array.isArray(value)) return '[]interface {}'
  if (typeof value === 'object') return 'map[string]interface {}'
  if (typeof value === 'boolean') return 'bool'
  if (typeof value === 'string') return 'string'
  return typeof value === 'bigint' || Number.isInteger(value) ? 'int64' : 'float64'
}

/** Orders text as Go does, by bytes: UTF-16 would put characters beyond the basic plane before some within it. */
export function compareText(a: string, b: string): number {
  if (a === b) return 0
  if (!SURROGATES.test(a) && !SURROGATES.test(b)) return a < b ? -1 : 1
  const length = Math.min(a.length, b.length)
  for (let i = 0; i < length; i++) {
    const [x, y] = [a.charCodeAt(i), b.charCodeAt(i)]
    if (x === y) continue
    return isSurrogate(x) === isSurrogate(y) ? x - y : isSurrogate(x) ? 1 : -1
  }
  return a.length - b.length
}

const SURROGATES = /[\ud800-\udfff]/
const isSurrogate = (unit: number) => unit >= 0xd800 && unit <= 0xdfff

/** JSON text as Go's encoder writes it: sorted keys, and the characters that matter to HTML escaped. */
export function goJson(value: Json): string {
  if (typeof value === 'string') return goJsonString(value)
  if (typeof value === 'bigint') return value.toString()
  if (Array.isArray(value)) return `[${value.map(goJson).join(',')}]`
  if (isObject(value)) {
    const members = Object.keys(value as JsonObject).sort(compareText)
    return `{${members.map(key => `${goJsonString(key)}:${goJson(value[key]!)}`).join(',')}}`
  }
  return JSON.stringify(value)
}

/** Text that every JSON writer leaves as it is. */
const JSON_PLAIN = /^[ !#-%'-;=?-[\]-~]*$/
const SPECIAL = /[<>&\u2028\u2029\b\f]/
const SPECIAL_WRITTEN = /[<>&\u2028\u2029]|\\(?:[bf]|\\)/g

function goJsonString(text: string): string {
  if (JSON_PLAIN.test(text)) return `"${text}"`
  const written = JSON.stringify(text)
  if (!SPECIAL.test(text)) return written
  return written.replace(SPECIAL_WRITTEN, found => {
    if (found === '\\\\') return found
    const code = found === '\\b' ? 8 : found === '\\f' ? 12 : found.charCodeAt(0)
    return `\\u${hex(code, 4)}`
  })
}

/** `%v` of a double: the shortest digits, with an exponent below 1e-4 and from 1e6 on. */
export function goFloat(value: number): string {
  const [digits = '0', exponent = '0'] = value.toExponential().split('e')
  const power = Number(exponent)
  if (value === 0 || (power >= -4 && power < 6)) return plain(value)
  return `${digits}e${power < 0 ? '-' : '+'}${String(Math.abs(power)).padStart(2, '0')}`
}

/** The digits of a double without any exponent. */
export function plain(value: number): string {
  const text = String(value)
  const at = text.indexOf('e')
  if (at < 0) return text
  const sign = text.startsWith('-') ? '-' : ''
  const [whole = '', fraction = ''] = text.slice(sign.length, at).split('.')
  const power = Number(text.slice(at + 1))
  if (power < 0) return `${sign}0.${'0'.repeat(-power - 1)}${whole}${fraction}`
  return `${sign}${whole}${fraction.padEnd(power, '0')}`
}
