/**
 * An object that one component hands to another in the same process, in place of its JSON text. It is copied when it is handed over and
 * whenever it is taken, so that neither side sees what the other changes afterwards.
 */
import { type Json, type JsonObject, setOwn } from './json-value.ts'

export class HandedOver {
  readonly #object: JsonObject
  /** Roughly the bytes of its JSON text. */
  readonly size: number

  constructor(object: object) {
    const counter = { bytes: 0 }
    this.#object = copyOf(object, counter) as JsonObject
    this.size = counter.bytes
  }

  /** A copy that belongs to the caller. */
  take(): JsonObject {
    return copyOf(this.#object, { bytes: 0 }) as JsonObject
  }
}

/** Bytes of a number, a boolean or null, and of the quotes and commas around other values. */
const SMALL_BYTES = 4

/** Copies as JSON.stringify would write: without undefined members and functions, and times as texts. */
function copyOf(value: unknown, counter: { bytes: number }): Json {
  counter.bytes += SMALL_BYTES
  if (typeof value === 'string') {
    counter.bytes += value.length
    return value
  }
  // JSON has neither a negative zero nor infinities.
  if (typeof value === 'number') return Number.isFinite(value) ? value + 0 : null
  if (typeof value !== 'object' || value === null) return isWritten(value) ? (value as Json) : null
  if (Array.isArray(value)) return value.map(item => copyOf(item, counter))
  if ('toJSON' in value && typeof value.toJSON === 'function') return copyOf(value.toJSON(), counter)
  const copy: JsonObject = {}
  for (const name of Object.keys(value)) {
    const member = (value as Record<string, unknown>)[name]
    if (!isWritten(member)) continue
    counter.bytes += name.length
    setOwn(copy, name, copyOf(member, counter))
  }
  return copy
}

const isWritten = (value: unknown): boolean => value !== undefined && typeof value !== 'function' && typeof value !== 'symbol'
