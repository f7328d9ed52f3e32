/**
 * Numbers as they were written. The meaning of `1.0`, `1e3` or a hundred digits depends on the field: no integer, some double, a quantity
 * with that exponent. Until the field's type is known they are symbols: scalars to code that moves values, and not numbers to code that
 * would calculate with them.
 */
import { isObject, type Json, type JsonObject, setOwn } from './json-value.ts'

/** A number that is kept as written; `writtenText` returns its text, `settleNumbers` turns it into a double. */
export const writtenNumber = (text: string): Json => Symbol(text) as unknown as Json

/** The text of a number that is kept as written; undefined for all other values. */
export const writtenText = (value: unknown): string | undefined => (typeof value === 'symbol' ? value.description : undefined)

/** Thrown for a number that no double can hold. */
export class NumberRangeError extends RangeError {
  override readonly name = 'NumberRangeError'

  constructor(text: string, into = 'Go value') {
    super(`json: cannot unmarshal number ${text} into ${into} of type float64`)
  }
}

/**
 * The value with doubles in place of written numbers, the same value where it has none; throws NumberRangeError, which names the type
 * `into` which it was read.
 */
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
