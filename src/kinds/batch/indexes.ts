/** Sets of indexes as strings, such as `1,3-5,7`. */
import { goQuote } from '../../lib/go-text.ts'

type Interval = readonly [first: number, last: number]
type Parsed<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly fault: string }
const refuse = (fault: string) => ({ ok: false, fault }) as const

/** The number of indexes below `completions` that a string names; or why it is invalid. */
export function countIndexes(text: string, completions: number): Parsed<number> {
  let [count, last] = [0, -1]
  // Part by part: a string may have very many, and the first error ends it.
  for (let start = 0; start < text.length || (start > 0 && start === text.length); ) {
    const comma = text.indexOf(',', start)
    const end = comma < 0 ? text.length : comma
    const interval = parseInterval(text.slice(start, end), completions)
    if (!interval.ok) return interval
    const [from, to] = interval.value
    if (last >= from) return refuse(`non-increasing order, previous: ${last}, current: ${from}`)
    count += to - from + 1
    last = to
    if (comma < 0) break
    start = end + 1
  }
  return { ok: true, value: count }
}

/** The first common index of two sets; invalid parts are ignored. */
export function sharedIndex(a: string, b: string, completions: number): number | undefined {
  const [left, right] = [intervalsOf(a, completions), intervalsOf(b, completions)]
  for (let i = 0, j = 0; i < left.length && j < right.length; ) {
    const [[from, to], [otherFrom, otherTo]] = [left[i]!, right[j]!]
    if (from <= otherTo && otherFrom <= to) return Math.max(from, otherFrom)
    if (from <= otherFrom) i++
    else j++
  }
  return undefined
}

function intervalsOf(text: string, completions: number): Interval[] {
  const parsed = text === '' ? [] : text.split(',').map(part => parseInterval(part, completions))
  return parsed.flatMap(p => (p.ok ? [p.value] : []))
}

/** Numbers with up to this many digits are exact. */
const SAFE_DIGITS = 15

function parseInterval(text: string, completions: number): Parsed<Interval> {
  const parts = text.split('-')
  if (parts.length > 2)
    return refuse(
      `the fragment ${goQuote(text)} violates the requirement that an index interval can have at most two parts separated by '-'`,
    )
  const numbers: number[] = []
  for (const part of parts) {
    if (!/^\+?[0-9]+$/.test(part) || (part.length > SAFE_DIGITS && BigInt(part.replace('+', '')) >= 2n ** 63n))
      return refuse(`cannot convert string to integer for index: ${goQuote(part)}`)
    if (Number(part) >= completions) return refuse(`too large index: ${goQuote(part)}`)
    numbers.push(Number(part))
  }
  const [from = 0, to = from] = numbers
  if (parts.length === 2 && from >= to) return refuse(`non-increasing order, previous: ${from}, current: ${to}`)
  return { ok: true, value: [from, to] }
}
