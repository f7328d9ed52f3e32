/**
 * Values as Go prints them. Everything that imitates Go's formatting is printed here. These functions are for messages; they show only the
 * beginning of long values, so that a large value costs no more than the message needs:
 *
 *   goQuote       %q    "a\\x00"
 *   goTimeQuote   %q as Go's package time does it
 *   goPrint       %v    map[a:1 b:[x y]]
 *   goSyntax      %#v   map[string]interface {}{"a":1}
 *   goType        %T    map[string]interface {}
 *   goFloat       %v of a float64
 *   goShownJson   json.Marshal, for people
 *   goFieldValue  the value in `Invalid value: …` of a field error
 *   goLabelSelector  String() of a LabelSelector
 *
 * These print the whole value, for strings that are data:
 *
 *   goWholeQuote  %q
 *   goWholePrint  %v
 *   goJson        json.Marshal, with the members of structs in the order of the Go type
 */
import { isObject, type Json, type JsonObject, setOwn } from './json-value.ts'
import { LIMITS } from './limits.ts'
import { cutAt, truncate } from './truncate.ts'
import { writtenText } from './written-number.ts'

/** Control characters by their letter in Go's escape sequences. */
export const CONTROL_CHARACTERS: Readonly<Record<string, string>> = {
  a: '\x07',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
}

/** Escape sequences of the characters that cannot stand for themselves in double quotes. */
export const QUOTED_AS: Readonly<Record<string, string>> = {
  ...Object.fromEntries(Object.entries(CONTROL_CHARACTERS).map(([letter, char]) => [char, `\\${letter}`])),
  '"': '\\"',
  '\\': '\\\\',
}
const PLAIN = /^[ !#-[\]-~]*$/

/** Made when it is first needed: classes of Unicode take a millisecond or two, which a start would pay for. */
let printable: RegExp | undefined

/** Whether Go prints the character without escaping it; the only such space is U+0020. */
export function isPrintable(char: string): boolean {
  printable ??= /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]$/u
  return printable.test(char)
}

/** The length of a value in messages. */
const SHOWN = LIMITS.errorValueLength

/** The string in double quotes, as `%q` prints it; a long string as its beginning and its length. */
export const goQuote = (text: string): string => beginning(text, goWholeQuote)

/** Quotes as Go's package time does: bytes outside of printable ASCII in hexadecimal. */
export const goTimeQuote = (text: string): string => beginning(text, quoteBytes)

function beginning(text: string, quote: (text: string) => string): string {
  if (text.length <= SHOWN) return quote(text)
  return `${quote(cutAt(text, SHOWN)).slice(0, -1)}… (truncated, ${text.length} characters in all)`
}

/** The whole string in double quotes, whatever its length. */
export function goWholeQuote(text: string): string {
  if (PLAIN.test(text)) return `"${text}"`
  let out = '"'
  for (const char of text) out += QUOTED_AS[char] ?? (isPrintable(char) ? char : escaped(char.codePointAt(0)!))
  return `${out}"`
}

function quoteBytes(text: string): string {
  const bytes = Buffer.from(text).toString('latin1')
  const written = bytes.replace(/["\\]|[^ -~\x7f]/g, char =>
    char === '"' || char === '\\' ? `\\${char}` : `\\x${hex(char.charCodeAt(0), 2)}`,
  )
  return `"${written}"`
}

function escaped(code: number): string {
  if (code < 0x80) return `\\x${hex(code, 2)}`
  return code < 0x10000 ? `\\u${hex(code, 4)}` : `\\U${hex(code, 8)}`
}

const hex = (code: number, width: number) => code.toString(16).padStart(width, '0')

/** A value of a Go type that JSON does not have, such as a time: how `%v` and `%#v` print it, and its type. It stands in decoded values. */
export class GoValue {
  readonly print: string
  readonly syntax: string
  readonly type: string

  constructor(print: string, syntax: string, type: string) {
    this.print = print
    this.syntax = syntax
    this.type = type
  }
}

/** A decoded JSON value as `%v` prints it: `map[a:1 b:[x y]]`. */
export const goPrint = (value: Json | undefined): string => goShown(value, goWholePrint)

/** The whole decoded JSON value as `%v` prints it, whatever its size. */
export function goWholePrint(value: Json | undefined): string {
  if (value === null || value === undefined) return '<nil>'
  if (Array.isArray(value)) return `[${value.map(goWholePrint).join(' ')}]`
  if ((value as unknown) instanceof GoValue) return (value as unknown as GoValue).print
  if (isObject(value)) {
    const members = Object.keys(value).sort(compareText)
    return `map[${members.map(key => `${key}:${goWholePrint(value[key])}`).join(' ')}]`
  }
  return typeof value === 'number' && !Number.isInteger(value) ? goFloat(value) : String(value)
}

/** A decoded JSON value as `%#v` prints it. */
export const goSyntax = (value: Json): string => goShown(value, wholeSyntax)

function wholeSyntax(value: Json): string {
  if (value === null) return 'interface {}(nil)'
  if (typeof value === 'string') return goQuote(value)
  if (Array.isArray(value)) return `[]interface {}{${value.map(wholeSyntax).join(', ')}}`
  if ((value as unknown) instanceof GoValue) return (value as unknown as GoValue).syntax
  if (isObject(value)) {
    const members = Object.keys(value).sort(compareText)
    return `map[string]interface {}{${members.map(key => `${goQuote(key)}:${wholeSyntax(value[key]!)}`).join(', ')}}`
  }
  return goWholePrint(value)
}

/** A printed value, or the beginning of a large one: only the part that is shown is printed. */
export function goShown<T extends Json | undefined>(value: T, print: (value: T) => string): string {
  if (value === undefined || sizeUpTo(value, SHOWN) <= SHOWN) return truncate(print(value), SHOWN)
  return `${cutAt(print(firstOf(value as Json, { left: SHOWN }) as T), SHOWN)}… (truncated)`
}

/** A lower bound of a value's printed length; for a large value, some number beyond the limit. */
function sizeUpTo(value: Json, limit: number): number {
  if (typeof value === 'string') return value.length
  if (typeof value !== 'object' || value === null) return 1
  let size = 2
  for (const key in value) {
    if (size > limit) break
    if (!Array.isArray(value)) size += key.length
    size += sizeUpTo((value as JsonObject)[key]!, limit - size)
  }
  return size
}

/** The first part of a value. */
function firstOf(value: Json, budget: { left: number }): Json {
  budget.left -= 1
  if (typeof value === 'string') {
    const text = cutAt(value, Math.max(0, budget.left))
    budget.left -= text.length
    return text
  }
  if (Array.isArray(value)) {
    const items: Json[] = []
    for (const item of value) {
      if (budget.left <= 0) break
      items.push(firstOf(item, budget))
    }
    return items
  }
  if (!isObject(value)) return value
  const members: JsonObject = {}
  for (const key in value) {
    if (budget.left <= 0) break
    budget.left -= key.length
    setOwn(members, cutAt(key, SHOWN), firstOf(value[key]!, budget))
  }
  return members
}

/** The Go type of a decoded JSON value. */
export function goType(value: Json | undefined): string {
  if (value === null || value === undefined) return '%!s(<nil>)'
  if (Array.isArray(value)) return '[]interface {}'
  if ((value as unknown) instanceof GoValue) return (value as unknown as GoValue).type
  if (typeof value === 'object') return 'map[string]interface {}'
  if (typeof value === 'boolean') return 'bool'
  if (typeof value === 'string') return 'string'
  return typeof value === 'bigint' || Number.isInteger(value) ? 'int64' : 'float64'
}

/** Compares strings as Go does, by bytes: UTF-16 would put characters beyond the basic plane before some within it. */
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

/** The part of a type that determines the order of members; the types of `schema/` fit. */
export interface GoType {
  readonly shape:
    | { readonly kind: 'scalar' }
    | { readonly kind: 'list'; readonly item: GoType }
    | { readonly kind: 'map'; readonly value: GoType }
    | { readonly kind: 'message'; readonly fields: { readonly [name: string]: readonly [unknown, GoType, ...unknown[]] } }
    | { readonly kind: 'either'; readonly object: readonly [unknown, GoType]; readonly list?: readonly [unknown, GoType] }
}

/** The order of object members: by key as in Go maps, as in the value, or by type: structs as declared, maps by key. */
export type MemberOrder = 'sorted' | 'given' | GoType

/** JSON text as Go's encoder writes it, with the characters escaped that matter in HTML. */
export function goJson(value: Json, order: MemberOrder = 'sorted'): string {
  if (typeof value === 'string') return goJsonString(value)
  if (typeof value === 'bigint') return value.toString()
  if (Array.isArray(value)) {
    const inner = itemOrder(order)
    return `[${value.map(item => goJson(item, inner)).join(',')}]`
  }
  if (!isObject(value)) return writtenText(value) ?? JSON.stringify(value)
  const members: string[] = []
  for (const key of orderedKeys(value, order)) {
    const member = value[key]
    if (member !== undefined) members.push(`${goJsonString(key)}:${goJson(member, memberOrder(order, key))}`)
  }
  return `{${members.join(',')}}`
}

/** As goJson, shortened for messages. */
export const goShownJson = (value: Json, order: MemberOrder = 'sorted'): string => goShown(value, whole => goJson(whole, order))

/**
 * A document made from another one: the parts that Go decoded to change them are written with their members by name, and the parts that
 * both documents share are written as they were.
 */
export function goJsonChanged(value: Json, before: Json | undefined, order: MemberOrder): string {
  if (value === before || value === null || typeof value !== 'object') return goJson(value, order)
  if (Array.isArray(value)) {
    const [items, inner] = [Array.isArray(before) ? before : [], itemOrder(order)]
    const kept = new Set<Json>(items.filter(item => typeof item === 'object'))
    return `[${value.map((item, i) => (kept.has(item) ? goJson(item, inner) : goJsonChanged(item, items[i], inner))).join(',')}]`
  }
  if (!isObject(value)) return goJson(value, order)
  const earlier = isObject(before) ? before : {}
  const members = Object.keys(value)
    .sort(compareText)
    .map(key => `${goJsonString(key)}:${goJsonChanged(value[key]!, earlier[key], memberOrder(order, key))}`)
  return `{${members.join(',')}}`
}

/** The value as field errors show it. An absent value is shown as the empty string: for most fields absent and empty are the same. */
export function goFieldValue(value: Json | undefined, order: MemberOrder): string {
  if (value === undefined) return '""'
  if (typeof value === 'string') return goQuote(value)
  return isGoFloat(value) ? goFloat(Number(value)) : goShownJson(value, order)
}

/** Whether Go holds the number as a float64: any number that is not a 64-bit integer. */
function isGoFloat(value: Json | undefined): value is number | bigint {
  if (typeof value === 'bigint') return BigInt.asIntN(64, value) !== value
  return typeof value === 'number' && !Number.isSafeInteger(value)
}

function orderedKeys(value: JsonObject, order: MemberOrder): string[] {
  const keys = Object.keys(value)
  const shape = shapeOf(order)
  if (order === 'given' || shape?.kind === 'scalar') return keys
  if (shape?.kind !== 'message') return keys.sort(compareText)
  const declared = Object.keys(shape.fields).filter(name => Object.hasOwn(value, name))
  return declared.length === keys.length
    ? declared
    : [...declared, ...keys.filter(key => !Object.hasOwn(shape.fields, key)).sort(compareText)]
}

/** The type's description of an object; for types that also allow a list, its part about objects. */
function shapeOf(order: MemberOrder): GoType['shape'] | undefined {
  if (typeof order === 'string') return undefined
  return order.shape.kind === 'either' ? order.shape.object[1].shape : order.shape
}

function itemOrder(order: MemberOrder): MemberOrder {
  if (typeof order === 'string') return order
  const { shape } = order
  if (shape.kind === 'either') return shape.list ? itemOrder(shape.list[1]) : 'given'
  return shape.kind === 'list' ? shape.item : 'given'
}

function memberOrder(order: MemberOrder, key: string): MemberOrder {
  if (typeof order === 'string') return order
  const shape = shapeOf(order)!
  if (shape.kind === 'map') return shape.value
  return shape.kind === 'message' && Object.hasOwn(shape.fields, key) ? shape.fields[key]![1] : 'given'
}

/** Characters that every JSON encoder leaves as they are. */
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
  if (Number.isNaN(value)) return 'NaN'
  if (!Number.isFinite(value)) return value > 0 ? '+Inf' : '-Inf'
  if (value === 0) return Object.is(value, -0) ? '-0' : '0'
  const [digits = '0', exponent = '0'] = value.toExponential().split('e')
  const power = Number(exponent)
  if (power >= -4 && power < 6) return plainDecimal(value)
  return `${digits}e${power < 0 ? '-' : '+'}${String(Math.abs(power)).padStart(2, '0')}`
}

/** The digits of a finite double without an exponent. */
export function plainDecimal(value: number): string {
  const text = String(value)
  const at = text.indexOf('e')
  if (at < 0) return text
  const sign = text.startsWith('-') ? '-' : ''
  const [whole = '', fraction = ''] = text.slice(sign.length, at).split('.')
  const power = Number(text.slice(at + 1))
  if (power < 0) return `${sign}0.${'0'.repeat(-power - 1)}${whole}${fraction}`
  return `${sign}${whole}${fraction.padEnd(power, '0')}`
}

/** Several errors as one message, without duplicates. */
export function aggregate(messages: readonly string[]): string {
  const all = [...new Set(messages)]
  return all.length === 1 ? all[0]! : `[${all.join(', ')}]`
}

type SelectorTerm = { readonly key: string; readonly operator: string; readonly values?: readonly string[] | null | undefined }

/** A label selector as `String()` of its type prints it, with labels in the order of their keys. */
export function goLabelSelector(selector: {
  readonly matchLabels?: Readonly<Record<string, string>> | null | undefined
  readonly matchExpressions?: readonly SelectorTerm[] | null | undefined
}): string {
  const matchLabels = selector.matchLabels ?? {}
  const labels = Object.keys(matchLabels)
    .sort(compareText)
    .map(key => `${key}: ${matchLabels[key]},`)
  const terms = (selector.matchExpressions ?? []).map(
    ({ key, operator, values }) => `LabelSelectorRequirement{Key:${key},Operator:${operator},Values:[${(values ?? []).join(' ')}],},`,
  )
  return `&LabelSelector{MatchLabels:map[string]string{${labels.join('')}},MatchExpressions:[]LabelSelectorRequirement{${terms.join('')}},}`
}
