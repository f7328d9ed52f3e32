// YAML out, in the shape kubectl users know: block style, sorted keys, text quoted where it would read as something else.

import type { Json, JsonObject } from '../lib/json-value.ts'
import { formatFloat, resolveScalar } from './yaml-scalar.ts'

/** The YAML text of a value, ending in a line break; integers of any size are exact, and long lines are folded as go-yaml does. */
export function stringifyYaml(value: Json): string {
  let text = ''
  for (const chunk of yamlChunks(value)) text += chunk
  return text
}

/** A key longer than this is written behind a question mark, since parsers need not look further for its colon. */
const MAX_SIMPLE_KEY_BYTES = 128

type Block = JsonObject | Json[]

function isBlock(value: Json): value is Block {
  return typeof value === 'object' && value !== null && (Array.isArray(value) ? value.length > 0 : hasKeys(value))
}

/** To list the keys of a large object takes long. */
function hasKeys(value: JsonObject): boolean {
  for (const _ in value) return true
  return false
}

/** Characters after which the text so far is handed out. */
const CHUNK_LENGTH = 16 * 1024

/** A list or mapping that is being written: what of it comes next, and how its lines are indented. */
type Frame = { readonly block: Block; readonly keys: readonly string[] | undefined; next: number; readonly indent: string }

const open = (block: Block, indent: string): Frame => ({
  block,
  keys: Array.isArray(block) ? undefined : Object.keys(block).sort(compareKeys),
  next: 0,
  indent,
})

/** The same text in parts, each made when it is asked for. */
export function* yamlChunks(value: Json): Generator<string, undefined> {
  if (!isBlock(value)) {
    yield `${scalar(value, '', 0)}\n`
    return
  }
  // Not recursive: a generator within a thousand others would be asked through all of them for every part.
  const stack = [open(value, '')]
  let text = ''
  let followsDash = false
  for (let frame = stack.at(-1); frame; frame = stack.at(-1)) {
    const { block, keys, indent } = frame
    const index = frame.next++
    if (index >= (keys ?? (block as Json[])).length) {
      stack.pop()
      continue
    }
    const start = followsDash ? '' : indent
    followsDash = false
    const key = keys?.[index]
    const item = key === undefined ? (block as Json[])[index]! : (block as JsonObject)[key]!
    if (key === undefined) {
      text += `${start}- `
      if (isBlock(item)) {
        followsDash = true
        stack.push(open(item, `${indent}  `))
      } else text += `${scalar(item, indent, indent.length + 2)}\n`
    } else {
      const isLong = Buffer.byteLength(key) > MAX_SIMPLE_KEY_BYTES || key.includes('\n')
      const name = quoteKey(key)
      text += isLong ? `${start}? ${name}\n${indent}:` : `${start}${name}:`
      if (isBlock(item)) {
        text += '\n'
        // Lists stand at the indentation of their key, mappings one step further.
        stack.push(open(item, Array.isArray(item) ? indent : `${indent}  `))
      } else text += ` ${scalar(item, indent, indent.length + (isLong ? 0 : name.length) + 2)}\n`
    }
    if (text.length >= CHUNK_LENGTH) {
      yield text
      text = ''
    }
  }
  yield text
}

/** A value after so many columns of its line. */
function scalar(value: Json, indent: string, column: number): string {
  if (typeof value === 'string') return text(value, indent, column)
  if (typeof value === 'number') return Number.isInteger(value) && Math.abs(value) < 2 ** 64 ? BigInt(value).toString() : formatFloat(value)
  if (typeof value === 'object' && value !== null) return Array.isArray(value) ? '[]' : '{}'
  return String(value)
}

function text(value: string, indent: string, column: number): string {
  const written = value.includes('\n') ? (fitsLiteral(value) ? literal(value, indent) : doubleQuoted(value)) : inline(value)
  return column + written.length > WIDTH && !written.startsWith('|') ? folded(written, indent, column) : written
}

/** After this many columns a line ends at the next space that is alone. */
const WIDTH = 80

/** A scalar of one line in several. Only between double quotes may a line begin with a space, behind a backslash. */
function folded(line: string, indent: string, column: number): string {
  const isDouble = line.startsWith('"')
  const [first, last] = isDouble || line.startsWith("'") ? [1, line.length - 2] : [-1, line.length]
  const next = `${indent}  `
  let result = ''
  let written = 0
  let at = column
  for (let space = line.indexOf(' '); space !== -1; space = line.indexOf(' ', space + 1)) {
    const isAlone = line[space - 1] !== ' ' && (isDouble || line[space + 1] !== ' ')
    if (!isAlone || at + space - written <= WIDTH || space <= first || space >= last) continue
    const isFollowed = line[space + 1] === ' '
    result += `${line.slice(written, space)}\n${next}${isFollowed ? '\\' : ''}`
    written = space + 1
    at = next.length + (isFollowed ? 1 : 0)
  }
  return result + line.slice(written)
}

function quoteKey(key: string): string {
  return key.includes('\n') ? doubleQuoted(key) : inline(key)
}

function inline(value: string): string {
  if (resolveScalar(value).tag !== 'str' || SEXAGESIMAL.test(value)) return doubleQuoted(value)
  if (SPECIAL.test(value)) return doubleQuoted(value)
  return NEEDS_QUOTES.test(value) ? `'${value.replaceAll("'", "''")}'` : value
}

/** Numbers in base sixty are text here, but numbers to other parsers. */
const SEXAGESIMAL = /^[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?$/

/** Characters that only a double-quoted scalar can hold: control characters, tabs among them, and characters outside the basic plane. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: it looks for control characters.
const SPECIAL = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\ud800-\udfff\ufeff\ufffe\uffff]/

/** Texts that would mean something else without quotes: indicators at the start, document marks, a colon or hash beside a space. */
const NEEDS_QUOTES = /^(?:[#,[\]{}&*!|>'"%@`]|[-?:](?:[ \t]|$)|---|\.\.\.| )|[ ]$|:(?:[ \t]|$)|[ \t\u2028\u2029]#|[\u0085\u2028\u2029]/

/** Literal blocks cannot show characters that need escapes, nor spaces at the end of a line. */
function fitsLiteral(value: string): boolean {
  return !SPECIAL.test(value) && !/[\u2028\u2029]| (?:\n|$)/.test(value)
}

function literal(value: string, indent: string): string {
  const inner = `${indent}  `
  const hint = /^[ \n]/.test(value) ? '2' : ''
  const chomp = !value.endsWith('\n') ? '-' : value === '\n' || value.endsWith('\n\n') ? '+' : ''
  const body = value.endsWith('\n') ? value.slice(0, -1) : value
  const lines = body.split('\n').map(line => (line === '' ? '' : inner + line))
  return `|${hint}${chomp}\n${lines.join('\n')}`
}

const ESCAPES = new Map([
  ['"', '\\"'],
  ['\\', '\\\\'],
  ['\0', '\\0'],
  ['\x07', '\\a'],
  ['\b', '\\b'],
  ['\t', '\\t'],
  ['\n', '\\n'],
  ['\v', '\\v'],
  ['\f', '\\f'],
  ['\r', '\\r'],
  ['\x1b', '\\e'],
  ['\x85', '\\N'],
  ['\u2028', '\\L'],
  ['\u2029', '\\P'],
])

function doubleQuoted(value: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: it escapes control characters.
  return `"${value.replace(/["\\\u0000-\u001f\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]|[\u{10000}-\u{10ffff}]|[\ud800-\udfff]/gu, escapeCharacter)}"`
}

function escapeCharacter(character: string): string {
  const short = ESCAPES.get(character)
  if (short !== undefined) return short
  const code = character.codePointAt(0) ?? 0
  const hex = code.toString(16).toUpperCase()
  if (code <= 0xff) return `\\x${hex.padStart(2, '0')}`
  return code <= 0xffff ? `\\u${hex.padStart(4, '0')}` : `\\U${hex.padStart(8, '0')}`
}

/** The order of go-yaml: letters after everything else, runs of digits by value. */
function compareKeys(a: string, b: string): number {
  // Most keys first differ in two letters, or one begins with the other.
  const both = Math.min(a.length, b.length)
  let same = 0
  while (same < both && a.charCodeAt(same) === b.charCodeAt(same)) same++
  if (same === both) return a.length - b.length
  const [x, y] = [a.charCodeAt(same), b.charCodeAt(same)]
  if (isAsciiLetter(x) && isAsciiLetter(y)) return x - y
  return x < 0x80 && y < 0x80 ? compareAscii(a, b, same) : compareCharacters(a, b)
}

const isAsciiLetter = (code: number): boolean => (code >= 0x61 && code <= 0x7a) || (code >= 0x41 && code <= 0x5a)

function compareCharacters(a: string, b: string): number {
  const [left, right] = [Array.from(a), Array.from(b)]
  const shorter = Math.min(left.length, right.length)
  for (let i = 0; i < shorter; i++) {
    if (left[i] !== right[i]) return compareAt(left, right, i)
  }
  return left.length - right.length
}

/** Decides as `compareAt` does, for ASCII characters: there can be very many keys, and they differ there most of the time. */
function compareAscii(a: string, b: string, at: number): number {
  const [x, y] = [a.charCodeAt(at), b.charCodeAt(at)]
  if (isAsciiLetter(x) !== isAsciiLetter(y)) return isAsciiLetter(x) ? 1 : -1
  if (isAsciiLetter(x) || !(isAsciiDigit(x) || isAsciiDigit(y))) return x - y
  const hasLead = (x === ZERO || y === ZERO) && hasNonzeroBefore(a, at)
  const [endA, endB] = [endOfDigits(a, at), endOfDigits(b, at)]
  const [startA, startB] = hasLead ? [at, at] : [skipZeros(a, at, endA), skipZeros(b, at, endB)]
  // The longer of two numbers without leading zeros is the greater.
  const size = endA - startA
  if (size !== endB - startB) return size - (endB - startB)
  for (let i = 0; i < size; i++) {
    const difference = a.charCodeAt(startA + i) - b.charCodeAt(startB + i)
    if (difference !== 0) return difference
  }
  return endA - endB || x - y
}

const ZERO = 0x30
const isAsciiDigit = (code: number): boolean => code >= ZERO && code <= 0x39

function endOfDigits(text: string, at: number): number {
  let end = at
  while (end - at < MAX_DIGITS && isAsciiDigit(text.charCodeAt(end))) end++
  return end
}

function skipZeros(text: string, from: number, end: number): number {
  let at = from
  while (at < end && text.charCodeAt(at) === ZERO) at++
  return at
}

/** The characters are those of the two texts. */
function compareAt(left: ArrayLike<string>, right: ArrayLike<string>, at: number): number {
  const [a = '', b = ''] = [left[at], right[at]]
  const [isLetterA, isLetterB] = [/^\p{L}$/u.test(a), /^\p{L}$/u.test(b)]
  if (isLetterA !== isLetterB) return isLetterA ? 1 : -1
  if (!isLetterA && (isDigit(a) || isDigit(b))) {
    // A zero inside a longer number counts; both numbers share the digits before it.
    const lead = (a === '0' || b === '0') && hasNonzeroBefore(left, at) ? '1' : ''
    const [runA, runB] = [digitsFrom(left, at), digitsFrom(right, at)]
    const [numberA, numberB] = [BigInt(`${lead}${runA}` || '0'), BigInt(`${lead}${runB}` || '0')]
    if (numberA !== numberB) return numberA < numberB ? -1 : 1
    if (runA.length !== runB.length) return runA.length - runB.length
  }
  return (a.codePointAt(0) ?? 0) - (b.codePointAt(0) ?? 0)
}

const isDigit = (character: string): boolean => character >= '0' && character <= '9' && character.length === 1

function hasNonzeroBefore(characters: ArrayLike<string>, at: number): boolean {
  for (let i = at - 1; i >= 0 && isDigit(characters[i] ?? ''); i--) if (characters[i] !== '0') return true
  return false
}

/** Digits are cut at a length no key needs, so that comparing hostile keys stays cheap. */
const MAX_DIGITS = 40

function digitsFrom(characters: ArrayLike<string>, at: number): string {
  let run = ''
  for (let i = at; i < characters.length && run.length < MAX_DIGITS && isDigit(characters[i] ?? ''); i++) run += characters[i]
  return run
}
