/**
 * An object that one component hands to another in the same process, in place of its JSON text. It is copied when it is handed over and
 * whenever it is taken, so that neither side sees what the other changes afterwards.
 */
import { copyJson, type Json, type JsonObject, setOwn } from './json-value.ts'

export class HandedOver {
  readonly #object: JsonObject
  /** Roughly the bytes of its JSON text. */
  readonly size: number

  constructor(object: object) {
    const counter = { bytes: 0 }
    this.#object = asJson(object, counter) as JsonObject
    this.size = counter.bytes
  }

  /** A copy that belongs to the caller. */
  take(): JsonObject {
    return copyJson(this.#object)
  }
}

/** A copy of an object as its JSON text would be read. */
export const copyAsWritten = <O extends object>(object: O): O => asJson(object, { bytes: 0 }) as unknown as O

/** Bytes of a number, a boolean or null, and of the quotes and commas around other values. */
const SMALL_BYTES = 4

/** A copy that holds what JSON.stringify would write: no undefined members or functions, and times as texts. */
function asJson(value: unknown, counter: { bytes: number }): Json {
  counter.bytes += SMALL_BYTES
  if (typeof value === 'string') {
    counter.bytes += value.length
    return value
  }
  // JSON has neither a negative zero nor infinities.
  if (typeof value === 'number') return Number.isFinite(value) ? value + 0 : null
  if (typeof value !== 'object' || value === null) return isWritten(value) ? (value as Json) : null
  if (Array.isArray(value)) return value.map(item => asJson(item, counter))
  if ('toJSON' in value && typeof value.toJSON === 'function') return asJson(value.toJSON(), counter)
  const copy: JsonObject = {}
  for (const name of Object.keys(value)) {
    const member = (value as Record<string, unknown>)[name]
    if (!isWritten(member)) continue
    counter.bytes += name.length
    setOwn(copy, name, asJson(member, counter))
  }
  return copy
}

const isWritten = (value: unknown): boolean => value !== undefined && typeof value !== 'function' && typeof value !== 'symbol'
