/**
 * Numbers as they were written. What `1.0`, `1e3` or a hundred digits are depends on where they stand: no integer, some double, a
 * quantity with the exponent that it was given. Until that is known they are symbols: scalars to all code that moves values
 * about, and numbers to none that would count with them.
 */
import { isObject, type Json, type JsonObject, setOwn } from './json-value.ts'

/** A number that stays as it was written; `writtenText` tells how, `settleNumbers` makes it one to count with. */
export const writtenNumber = (text: string): Json => Symbol(text) as unknown as Json

/** How a number was written, where it is one that stays as it was; undefined for all else. */
export const writtenText = (value: unknown): string | undefined => (typeof value === 'symbol' ? value.description : undefined)

/** Thrown for a number that no double can hold. */
export class NumberRangeError extends RangeError {
  override readonly name = 'NumberRangeError'

  constructor(text: string, into = 'Go value') {
    super(`json: cannot unmarshal number ${text} into ${into} of type float64`)
  }
}

/** The value with doubles in place of written numbers, the same one where it has none; throws NumberRangeError, which tells what was read `into`. */
export function settleNumbers(value: Json, into?: string): Json {
  const text = writtenText(value)
  if (text !== undefined) {
    const number = Number(text)
    if (!Number.isFinite(number)) throw new NumberRangeError(text, into)
    return number
  }
  if (Array.isArray(value)) {
    const items = value.map(item => settleNumbers(item, into))
    return items.every((item, i) => item === value[i]) ? value : items
  }
  if (!isObject(value)) return value
  let settled: JsonObject | undefined
  for (const key of Object.keys(value)) {
    const part = value[key]!
    if (typeof part === 'string') continue
    const item = settleNumbers(part, into)
    if (item !== part) setOwn((settled ??= { ...value }), key, item)
  }
  return settled ?? value
}
