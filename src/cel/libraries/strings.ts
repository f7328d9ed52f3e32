/** The string functions of cel-go's extension, version 2; indexes and sizes count code points. */

import { QUOTED_AS } from '../../lib/go-text.ts'
import type { FunctionDecl, Library } from '../checker/library.ts'
import { dynType, intType, listType, stringType } from '../checker/types.ts'
import { showValue } from '../runtime/show-value.ts'
import { type CelInt, type CelList, type CelValue, elementsOf, fault, listOf } from '../runtime/values.ts'
import { doubleTraversal, perCharacter, traversal, wholeTraversal } from './call-costs.ts'
import { fn, global, member } from './declare.ts'
import { formatText } from './string-format.ts'

const texts = listType(stringType)
const search = (args: readonly CelValue[]): number => wholeTraversal(args[0])
const joining = (_: readonly CelValue[], result: CelValue): number => perCharacter(result, 0.2)

/** charAt, format, indexOf, join, lastIndexOf, lowerAscii, replace, split, strings.quote, substring, trim, upperAscii. */
export const stringsLibrary = (): Library => ({ functions: [...searching(), ...transforming()] })

const searching = (): FunctionDecl[] => [
  fn('charAt', member({ id: 'string_char_at_int', params: [stringType, intType], result: stringType }, charAt)),
  fn('format', member({ id: 'string_format', params: [stringType, listType(dynType)], result: stringType, cost: traversal }, formatText)),
  fn(
    'indexOf',
    member({ id: 'string_index_of_string', params: [stringType, stringType], result: intType, cost: search }, indexOf),
    member({ id: 'string_index_of_string_int', params: [stringType, stringType, intType], result: intType, cost: search }, indexOf),
  ),
  fn(
    'lastIndexOf',
    member({ id: 'string_last_index_of_string', params: [stringType, stringType], result: intType, cost: search }, lastIndexOf),
    member(
      { id: 'string_last_index_of_string_int', params: [stringType, stringType, intType], result: intType, cost: search },
      lastIndexOf,
    ),
  ),
  fn(
    'join',
    member({ id: 'list_join', params: [texts], result: stringType, cost: joining }, joinTexts),
    member({ id: 'list_join_string', params: [texts, stringType], result: stringType, cost: joining }, joinTexts),
  ),
]

const transforming = (): FunctionDecl[] => [
  fn('lowerAscii', member({ id: 'string_lower_ascii', params: [stringType], result: stringType, cost: traversal }, lowerAscii)),
  fn('upperAscii', member({ id: 'string_upper_ascii', params: [stringType], result: stringType, cost: traversal }, upperAscii)),
  fn(
    'replace',
    member(
      { id: 'string_replace_string_string', params: [stringType, stringType, stringType], result: stringType, cost: doubleTraversal },
      replaceText,
    ),
    member(
      {
        id: 'string_replace_string_string_int',
        params: [stringType, stringType, stringType, intType],
        result: stringType,
        cost: doubleTraversal,
      },
      replaceText,
    ),
  ),
  fn(
    'split',
    member({ id: 'string_split_string', params: [stringType, stringType], result: texts, cost: doubleTraversal }, splitText),
    member({ id: 'string_split_string_int', params: [stringType, stringType, intType], result: texts, cost: doubleTraversal }, splitText),
  ),
  fn(
    'substring',
    member({ id: 'string_substring_int', params: [stringType, intType], result: stringType, cost: traversal }, substring),
    member({ id: 'string_substring_int_int', params: [stringType, intType, intType], result: stringType, cost: traversal }, substring),
  ),
  fn('trim', member({ id: 'string_trim', params: [stringType], result: stringType, cost: traversal }, trimSpace)),
  fn('strings.quote', global({ id: 'strings_quote', params: [stringType], result: stringType, cost: traversal }, quoteText)),
]

const outOfRange = (index: CelInt): CelValue => fault(`index out of range: ${index}`)

/** The code points of a string; an ASCII string is its own list. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the range of ASCII begins with them.
const runesOf = (text: string): ArrayLike<string> => (/^[\x00-\x7f]*$/.test(text) ? text : Array.from(text))

const sliceRunes = (runes: ArrayLike<string>, start: number, end = runes.length): string =>
  typeof runes === 'string' ? runes.slice(start, end) : Array.prototype.slice.call(runes, start, end).join('')

function charAt(text: string, index: CelInt): CelValue {
  const runes = runesOf(text)
  if (index < 0 || index > runes.length) return outOfRange(index)
  return runes[Number(index)] ?? ''
}

function indexOf(text: string, wanted: string, from: CelInt = 0): CelValue {
  if (from < 0) return outOfRange(from)
  const runes = runesOf(text)
  if (wanted === '') return from > runes.length ? runes.length : from
  const parts = runesOf(wanted)
  for (let i = Number(from); i + parts.length <= runes.length; i++) if (startsAt(runes, parts, i)) return i
  return -1
}

function lastIndexOf(text: string, wanted: string, from?: CelInt): CelValue {
  if (from !== undefined && from < 0) return outOfRange(from)
  const runes = runesOf(text)
  if (wanted === '') return from === undefined || from > runes.length ? runes.length : from
  if (from !== undefined && from >= runes.length) return -1
  const parts = runesOf(wanted)
  const last = runes.length - parts.length
  for (let i = Math.min(Number(from ?? last), last); i >= 0; i--) if (startsAt(runes, parts, i)) return i
  return -1
}

function startsAt(runes: ArrayLike<string>, parts: ArrayLike<string>, index: number): boolean {
  for (let j = 0; j < parts.length; j++) if (runes[index + j] !== parts[j]) return false
  return true
}

function joinTexts(list: CelList, separator = ''): CelValue {
  const out: string[] = []
  for (const element of elementsOf(list)) {
    if (typeof element !== 'string') return fault(`join: invalid input: ${showValue(element)}`)
    out.push(element)
  }
  return out.join(separator)
}

const lowerAscii = (text: string): CelValue => text.replace(/[A-Z]+/g, letters => letters.toLowerCase())
const upperAscii = (text: string): CelValue => text.replace(/[a-z]+/g, letters => letters.toUpperCase())

/** Replaces the first `limit` occurrences, all when it is negative; the empty string is found before each character and at the end. */
function replaceText(text: string, old: string, replacement: string, limit: CelInt = -1): CelValue {
  if (limit === 0 || old === replacement) return text
  const most = limit < 0 ? Number.POSITIVE_INFINITY : Number(limit)
  if (old !== '') {
    const parts = text.split(old)
    if (parts.length - 1 <= most) return parts.join(replacement)
    return [...parts.slice(0, most), parts.slice(most).join(old)].join(replacement)
  }
  const runes = Array.from(text)
  let out = ''
  for (const [i, rune] of runes.entries()) out += (i < most ? replacement : '') + rune
  return runes.length < most ? out + replacement : out
}

/** At most `limit` parts, the last being the rest; all when it is negative. */
function splitText(text: string, separator: string, limit: CelInt = -1): CelValue {
  if (limit === 0) return listOf([])
  const parts = separator === '' ? Array.from(text) : text.split(separator)
  if (limit < 0 || parts.length <= limit) return listOf(parts)
  const most = Number(limit) - 1
  return listOf([...parts.slice(0, most), parts.slice(most).join(separator)])
}

function substring(text: string, start: CelInt, end?: CelInt): CelValue {
  const runes = runesOf(text)
  if (end !== undefined && start > end) return fault(`invalid substring range. start: ${start}, end: ${end}`)
  if (start < 0 || start > runes.length) return outOfRange(start)
  if (end !== undefined && (end < 0 || end > runes.length)) return outOfRange(end)
  return sliceRunes(runes, Number(start), end === undefined ? undefined : Number(end))
}

/** White space by Unicode; JavaScript's own trim differs in two characters. */
const SPACE = /[\t-\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]/

function trimSpace(text: string): CelValue {
  let start = 0
  let end = text.length
  while (start < end && SPACE.test(text[start]!)) start++
  while (end > start && SPACE.test(text[end - 1]!)) end--
  return text.slice(start, end)
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters that have escapes.
const quoteText = (text: string): CelValue => `"${wellFormed(text).replace(/[\x07-\r\\"]/g, char => QUOTED_AS[char]!)}"`

/** Replaces lone surrogates, which are no characters. */
const wellFormed = (text: string): string => text.replace(/\p{Surrogate}/gu, '\ufffd')
