/** The values that an `enum` allows: found in time that does not grow with their number, and printed once. */
import { goJson, goQuote } from '../lib/go-text.ts'
import type { Json } from '../lib/json-value.ts'
import type { Budget } from '../schema/budget.ts'
import { isInteger, truncated } from './integers.ts'

export class EnumValues {
  readonly #values: readonly Json[]
  #keys: ReadonlySet<string> | undefined
  #names: string | undefined

  constructor(values: readonly Json[]) {
    this.#values = values
  }

  /**
   * Whether a value is one of these. Go compares numbers after converting one to the type of the other, so a fraction goes where
   * an integer is allowed; null is like nothing, not even null.
   */
  has(value: Json, budget: Budget): boolean {
    if (value === null) return false
    this.#keys ??= new Set(this.#values.map(keyOf))
    const key = keyOf(value)
    budget.charge(key.length)
    return this.#keys.has(key) || (typeof value === 'number' && !isInteger(value) && this.#keys.has(`${truncated(value)}`))
  }

  /** The values as errors list them. */
  get names(): string {
    this.#names ??= this.#values.map(each => goQuote(typeof each === 'string' ? each : goJson(each))).join(', ')
    return this.#names
  }
}

/** Strings have a prefix that distinguishes them from other values, and need no quotes. */
const keyOf = (value: Json) => (typeof value === 'string' ? `"${value}` : goJson(value))
