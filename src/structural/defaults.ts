/** Defaults that a custom kind's schema declares, put in when an object is written and again whenever it is read. */
import { isObject, type Json, type JsonObject, setOwn } from '../lib/json-value.ts'
import { LIMITS } from '../lib/limits.ts'
import { tooLarge } from '../schema/status-error.ts'
import type { Structural } from './schema.ts'

/** The bytes that defaults may still add to the object, about as memory has them: each item of a list can get large defaults. */
type Budget = { left: number }

/**
 * The value with its defaults; the same value where nothing is missing. The input is never changed. Throws a StatusError when they
 * would make it too large.
 */
export function applyDefaults<T extends Json>(structural: Structural, value: T): T {
  return withDefaults(structural, value, { left: LIMITS.defaultBytes }) as T
}

function withDefaults(schema: Structural | undefined, value: Json, budget: Budget): Json {
  if (schema === undefined || typeof value !== 'object' || value === null) return value
  if (!schema.has.defaults) return value
  return Array.isArray(value) ? listWithDefaults(schema, value, budget) : objectWithDefaults(schema, value, budget)
}

function objectWithDefaults(schema: Structural, value: JsonObject, budget: Budget): JsonObject {
  let out: JsonObject | undefined
  const put = (key: string, member: Json) => {
    out ??= { ...value }
    setOwn(out, key, member)
  }
  for (const [key, member] of schema.defaulted) {
    const missing = !Object.hasOwn(value, key) || (value[key] === null && !member.nullable)
    if (!missing) continue
    budget.left -= key.length
    put(key, withDefaults(member, copy(member.default!, budget), budget))
  }
  for (const key of Object.keys(value)) {
    const member = value[key]!
    if (typeof member !== 'object') continue
    const known = schema.properties.get(key)
    if (known) {
      const filled = withDefaults(known, member, budget)
      if (filled !== member) put(key, filled)
    } else if (typeof schema.additional === 'object') {
      const filled = elementWithDefaults(schema.additional, member, budget)
      if (filled !== member) put(key, filled)
    }
  }
  return out ?? value
}

function listWithDefaults({ items }: Structural, value: Json[], budget: Budget): Json[] {
  if (items === undefined) return value
  let out: Json[] | undefined
  for (let i = 0; i < value.length; i++) {
    const filled = elementWithDefaults(items, value[i]!, budget)
    if (filled === value[i]) continue
    out ??= value.slice()
    out[i] = filled
  }
  return out ?? value
}

/** An element that is null where its schema allows none becomes the default, or stays null where there is none. */
function elementWithDefaults(schema: Structural, value: Json, budget: Budget): Json {
  if (value !== null || schema.nullable) return withDefaults(schema, value, budget)
  return schema.default === undefined ? null : withDefaults(schema, copy(schema.default, budget), budget)
}

/** The least bytes that each value counts for, however short it is. */
const VALUE_BYTES = 32

/** Copies a default: changing an object must not change the schema. */
function copy(value: Json, budget: Budget): Json {
  budget.left -= typeof value === 'string' ? value.length + VALUE_BYTES : VALUE_BYTES
  if (budget.left < 0) throw tooLarge(`Request entity too large: its defaults add more than ${LIMITS.defaultBytes} bytes`)
  if (Array.isArray(value)) return value.map(item => copy(item, budget))
  if (!isObject(value)) return value
  const out: JsonObject = {}
  for (const key of Object.keys(value)) {
    budget.left -= key.length
    setOwn(out, key, copy(value[key]!, budget))
  }
  return out
}
