// One step of a field path, held as the text that managedFields writes for it.
//
//   f:replicas                                  a field of a message, or an entry of a map
//   k:{"containerPort":80,"protocol":"TCP"}     an item of a keyed list
//   v:"example.com/a"                           an item of a set
//   i:0                                         an item by its index
//
// The text is canonical (keys sorted, numbers and strings written one way), so equal steps are equal strings.

import { parseJson } from '../codec/json.ts'
import { messageOf } from '../lib/error-message.ts'
import { compareText, goJson, goQuote } from '../lib/go-text.ts'
import { isObject, type Json } from '../lib/json-value.ts'
import type { Step } from '../lib/step.ts'

export type PathElement = string

export const fieldElement = (name: string): PathElement => `f:${name}`
export const valueElement = (value: Json): PathElement => `v:${goJson(value)}`
export const singleKeyElement = (name: string, value: Json): PathElement => `k:{"${name}":${goJson(value)}}`
/** The members of the key must come sorted by name. */
export function keyElement(members: readonly (readonly [name: string, value: Json])[]): PathElement {
  let text = 'k:{'
  for (let i = 0; i < members.length; i++) text += `${i === 0 ? '"' : ',"'}${members[i]![0]}":${goJson(members[i]![1])}`
  return `${text}}`
}

// A single text key or text value as our own writers make it; anything else is read and written anew.
const CANONICAL = /^(?:f:|k:\{"[A-Za-z]+":"[ !#-%'-;=?-[\]-~]*"\}$|v:"[ !#-%'-;=?-[\]-~]*"$)/
const INTEGER = /^[+-]?\d{1,18}$/
const MEMBER = /[{,]"([A-Za-z]+)":(?:"[ !#-%'-;=?-[\]-~]*"|0|-?[1-9]\d{0,14}|true|false)(\}$)?/y

/** Whether a text is a key of several plain values as our own writers make it, such as that of a port. */
function isCanonicalKey(text: string): boolean {
  if (!text.startsWith('k:{')) return false
  let previous = ''
  MEMBER.lastIndex = 2
  for (let found = MEMBER.exec(text); found; found = MEMBER.exec(text)) {
    const name = found[1]!
    const begins = text.charCodeAt(found.index) === BRACE
    if (begins !== (previous === '') || name <= previous) return false
    if (found[2] !== undefined) return true
    previous = name
  }
  return false
}
const BRACE = 0x7b

export type ParsedElement = { readonly ok: true; readonly element?: PathElement } | { readonly ok: false; readonly message: string }

/** Reads a step as written by a client; without an element when it is of a kind that only later versions know. */
export function parseElement(text: string): ParsedElement {
  if (CANONICAL.test(text) || isCanonicalKey(text)) return { ok: true, element: text }
  if (text.length < 2) return { ok: false, message: 'key must be 2 characters long:' }
  if (text[1] !== ':') return { ok: false, message: `missing colon: ${text}` }
  const rest = text.slice(2)
  switch (text[0]) {
    case 'v':
      return readJson(rest, value => ({ ok: true, element: valueElement(value) }))
    case 'k':
      return readJson(rest, value => {
        if (!isObject(value)) return { ok: false, message: `expect { or n, but found ${rest.slice(0, 1)}` }
        const members = Object.keys(value).sort(compareText)
        return { ok: true, element: keyElement(members.map(name => [name, value[name]!])) }
      })
    case 'i':
      if (!INTEGER.test(rest)) return { ok: false, message: `strconv.Atoi: parsing ${goQuote(rest)}: invalid syntax` }
      return { ok: true, element: `i:${BigInt(rest)}` }
    default:
      return { ok: true }
  }
}

function readJson(text: string, then: (value: Json) => ParsedElement): ParsedElement {
  let value: Json
  try {
    // Only the last of repeated names counts, so nothing looks for them.
    value = parseJson(text, { trusted: true }).value
  } catch (error) {
    return { ok: false, message: messageOf(error) }
  }
  return then(value)
}

/** The step as conflicts print it: `.spec`, `[name="a"]`, `[="x"]`, `[0]`. */
export function elementText(element: PathElement): string {
  const rest = element.slice(2)
  switch (element[0]) {
    case 'f':
      return `.${rest}`
    case 'k': {
      const key = parseJson(rest).value
      return `[${isObject(key) ? Object.keys(key).map(name => `${name}=${valueText(key[name]!)}`) : ''}]`
    }
    case 'v':
      return `[=${valueText(parseJson(rest).value)}]`
    default:
      return `[${rest}]`
  }
}

function valueText(value: Json): string {
  if (typeof value === 'string') return goQuote(value)
  if (Array.isArray(value)) return `[${value.map(valueText).join(',')}]`
  if (isObject(value))
    return Object.keys(value)
      .map(key => `${key}=${valueText(value[key]!)}`)
      .join('')
  return String(value)
}

/** Sets that were read, and sets made of them, are mostly in order. */
function isSorted(texts: readonly string[]): boolean {
  for (let i = 1; i < texts.length; i++) if (texts[i - 1]! > texts[i]!) return false
  return true
}

/** The steps in the order managedFields lists them: fields, then keyed items, then values, then indexes. */
export function* sortElements(elements: Iterable<PathElement>): Step<PathElement[]> {
  const given = [...elements]
  if (given.length < 2) return given
  if (given.every(element => BY_TEXT.test(element))) return isSorted(given) ? given : given.sort()
  // The content of keys and values decides, so it is read once for each.
  const read: ReadElement[] = []
  for (const element of given) {
    read.push([element, element.charCodeAt(0) === F ? null : parseJson(element.slice(2), { trusted: true }).value])
    if (read.length % MAX_BATCH === 0) yield
  }
  const sorted = yield* sort(read)
  return sorted.map(([element]) => element)
}

type ReadElement = readonly [element: PathElement, content: Json]
const MAX_BATCH = 1024

/** A sort by merging: to compare elements takes long, and there may be very many. */
function* sort(list: readonly ReadElement[]): Step<ReadElement[]> {
  let runs: ReadElement[][] = []
  for (let from = 0; from < list.length; from += MAX_BATCH) {
    runs.push(list.slice(from, from + MAX_BATCH).sort(compareElements))
    yield
  }
  while (runs.length > 1) {
    const merged: ReadElement[][] = []
    for (let i = 0; i < runs.length; i += 2) merged.push(yield* merge(runs[i]!, runs[i + 1] ?? []))
    runs = merged
  }
  return runs[0]!
}

function* merge(a: readonly ReadElement[], b: readonly ReadElement[]): Step<ReadElement[]> {
  const merged: ReadElement[] = []
  for (let [i, j] = [0, 0]; i < a.length || j < b.length; ) {
    merged.push(j === b.length || (i < a.length && compareElements(a[i]!, b[j]!) <= 0) ? a[i++]! : b[j++]!)
    if (merged.length % MAX_BATCH === 0) yield
  }
  return merged
}

const compareElements = ([a, x]: ReadElement, [b, y]: ReadElement): number =>
  rank(a) - rank(b) || (a.charCodeAt(0) === F ? compareText(a, b) : compareValues(x, y))

// Names and text keys in which no character comes before the closing quote: their order is that of their text. The
// prefixes happen to sort correctly, as indexes are never among them.
const BY_TEXT = /^(?:f:[ -~]*|k:\{"[A-Za-z]+":"[#-~]*"\}|v:"[#-~]*")$/

const F = 0x66
const RANKS: Readonly<Record<string, number>> = { f: 0, k: 1, v: 2, i: 3 }
const rank = (element: PathElement) => RANKS[element[0]!] ?? 4

/** Numbers before text before booleans before lists before maps before null. */
function compareValues(a: Json, b: Json): number {
  const order = kindRank(a) - kindRank(b)
  if (order !== 0) return order
  if (typeof a === 'string') return compareText(a, b as string)
  if (Array.isArray(a)) return compareEach(a, b as Json[], compareValues)
  if (isObject(a)) {
    const other = b as { [key: string]: Json }
    return compareEach(Object.keys(a), Object.keys(other), (x, y) => compareText(x, y) || compareValues(a[x]!, other[y]!))
  }
  return a === b || a === null || b === null ? 0 : a < b ? -1 : 1
}

function kindRank(value: Json): number {
  if (typeof value === 'number' || typeof value === 'bigint') return 0
  if (typeof value === 'string') return 1
  if (typeof value === 'boolean') return 2
  if (Array.isArray(value)) return 3
  return value === null ? 5 : 4
}

function compareEach<T>(a: readonly T[], b: readonly T[], compare: (x: T, y: T) => number): number {
  for (let i = 0; i < a.length && i < b.length; i++) {
    const order = compare(a[i]!, b[i]!)
    if (order !== 0) return order
  }
  return a.length - b.length
}
