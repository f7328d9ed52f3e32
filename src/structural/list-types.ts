/** What `x-kubernetes-list-type` promises: a set holds no value twice, a keyed list no two items with the same keys. */
import { goJson } from '../lib/go-text.ts'
import { isObject, type Json, type JsonObject, setOwn } from '../lib/json-value.ts'
import { duplicate, type FieldError, invalid, pathOf, type Ref, refTo } from '../schema/refs.ts'
import { bounded } from './failure.ts'
import { childOf, entryOf } from './place.ts'
import type { Structural } from './schema.ts'

/** The broken promises within a value. What was stored broken may stay broken: then nothing is said on an update. */
export function validateLists(structural: Structural, value: Json, at: Ref<any>, old?: Json): FieldError[] {
  if (!structural.has.lists) return []
  if (old !== undefined && !within(structural, old, pathOf(at)).next().done) return []
  return bounded(within(structural, value, pathOf(at)))
}

function* within(schema: Structural, value: Json, path: string): Generator<FieldError> {
  if (!schema.has.lists || typeof value !== 'object' || value === null) return
  if (Array.isArray(value)) {
    if (schema.list === 'set') yield* repeated(value, path, value)
    else if (schema.list === 'map') yield* repeatedKeys(schema, value, path)
    if (schema.items) for (const [i, item] of value.entries()) yield* within(schema.items, item, entryOf(path, i))
    return
  }
  const { additional, properties } = schema
  if (typeof additional === 'object') for (const key of Object.keys(value)) yield* within(additional, value[key]!, entryOf(path, key))
  for (const key of Object.keys(value)) {
    const known = properties.get(key)
    if (known) yield* within(known, value[key]!, childOf(path, key))
  }
}

function* repeatedKeys({ listKeys }: Structural, list: readonly Json[], path: string): Generator<FieldError> {
  const odd = list.findIndex(item => item !== null && !isObject(item))
  if (odd >= 0) yield invalid(refTo(list[odd], entryOf(path, odd)), 'must be an object for an array of list-type map')
  else {
    const keys = list.map(item => keysOf(listKeys, item))
    yield* repeated(keys, path, keys)
  }
}

/** The second of each values that are there more than once. */
function* repeated(list: readonly Json[], path: string, shown: readonly Json[]): Generator<FieldError> {
  const times = new Map<string, number>()
  for (const [i, item] of list.entries()) {
    const key = goJson(item)
    const seen = times.get(key) ?? 0
    times.set(key, seen + 1)
    if (seen === 1) yield duplicate(refTo(shown[i], entryOf(path, i)))
  }
}

function keysOf(names: readonly string[], item: Json): JsonObject {
  const keys: JsonObject = {}
  if (isObject(item)) for (const name of names) if (Object.hasOwn(item, name)) setOwn(keys, name, item[name]!)
  return keys
}
