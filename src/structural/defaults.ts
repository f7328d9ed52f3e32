/** Defaults that a custom kind's schema declares, put in when an object is written and again whenever it is read. */
import { isObject, type Json, type JsonObject, setOwn } from '../lib/json-value.ts'
import type { Structural } from './schema.ts'

/** The value with its defaults; the same value where nothing is missing. The input is never changed. */
export function applyDefaults<T extends Json>(structural: Structural, value: T): T {
  return withDefaults(structural, value) as T
}

function withDefaults(schema: Structural | undefined, value: Json): Json {
  if (schema === undefined || typeof value !== 'object' || value === null) return value
  if (!schema.has.defaults) return value
  return Array.isArray(value) ? listWithDefaults(schema, value) : objectWithDefaults(schema, value)
}

function objectWithDefaults(schema: Structural, value: JsonObject): JsonObject {
  let out: JsonObject | undefined
  const put = (key: string, member: Json) => {
    out ??= { ...value }
    setOwn(out, key, member)
  }
  for (const [key, member] of schema.defaulted) {
    const missing = !Object.hasOwn(value, key) || (value[key] === null && !member.nullable)
    if (missing) put(key, withDefaults(member, copy(member.default!)))
  }
  for (const key of Object.keys(value)) {
    const member = value[key]!
    if (typeof member !== 'object') continue
    const known = schema.properties.get(key)
    if (known) {
      const filled = withDefaults(known, member)
      if (filled !== member) put(key, filled)
    } else if (typeof schema.additional === 'object') {
      const filled = elementWithDefaults(schema.additional, member)
      if (filled !== member) put(key, filled)
    }
  }
  return out ?? value
}

function listWithDefaults({ items }: Structural, value: Json[]): Json[] {
  if (items === undefined) return value
  let out: Json[] | undefined
  for (let i = 0; i < value.length; i++) {
    const filled = elementWithDefaults(items, value[i]!)
    if (filled === value[i]) continue
    out ??= value.slice()
    out[i] = filled
  }
  return out ?? value
}

/** An element that is null where its schema allows none becomes the default, or stays null where there is none. */
function elementWithDefaults(schema: Structural, value: Json): Json {
  if (value === null && !schema.nullable) return schema.default === undefined ? null : withDefaults(schema, copy(schema.default))
  return withDefaults(schema, value)
}

/** Each object gets a default of its own: whoever changes one must not change the schema. */
function copy(value: Json): Json {
  if (Array.isArray(value)) return value.map(copy)
  if (!isObject(value)) return value
  const out: JsonObject = {}
  for (const key of Object.keys(value)) setOwn(out, key, copy(value[key]!))
  return out
}
