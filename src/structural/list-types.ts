/** The rules of `x-kubernetes-list-type`: a set holds no value twice, a map no two items with the same keys. */
import { goJson } from '../lib/go-text.ts'
import { isObject, type Json, type JsonObject, setOwn } from '../lib/json-value.ts'
import type { Budget } from '../schema/budget.ts'
import { duplicate, type FieldError, invalid, pathOf, type Ref, refTo } from '../schema/refs.ts'
import { bounded, CHARS_PER_UNIT } from './failure.ts'
import { childOf, entryOf } from './place.ts'
import type { Structural } from './schema.ts'

export type ListChecks = { readonly budget: Budget; readonly old?: Json | undefined }

/** The duplicates in the sets and maps of a value. An update of an object that had duplicates may have them still. */
export function validateLists(structural: Structural, value: Json, at: Ref<any>, { budget, old }: ListChecks): FieldError[] {
  if (!structural.has.lists) return []
  if (old !== undefined && !duplicatesIn(structural, old, pathOf(at), budget).next().done) return []
  return bounded(duplicatesIn(structural, value, pathOf(at), budget))
}

function* duplicatesIn(schema: Structural, value: Json, path: string, budget: Budget): Generator<FieldError> {
  if (!schema.has.lists || typeof value !== 'object' || value === null) return
  if (Array.isArray(value)) {
    if (schema.list === 'set') yield* repeated(value, path, budget)
    else if (schema.list === 'map') yield* repeatedKeys(schema, value, path, budget)
    if (schema.items) for (const [i, item] of value.entries()) yield* duplicatesIn(schema.items, item, entryOf(path, i), budget)
    return
  }
  const { additional, properties } = schema
  if (typeof additional === 'object') for (const key of Object.keys(value)) yield* duplicatesIn(additional, value[key]!, entryOf(path, key), budget)
  for (const key of Object.keys(value)) {
    const known = properties.get(key)
    if (known) yield* duplicatesIn(known, value[key]!, childOf(path, key), budget)
  }
}

function* repeatedKeys({ listKeys }: Structural, list: readonly Json[], path: string, budget: Budget): Generator<FieldError> {
  const odd = list.findIndex(item => item !== null && !isObject(item))
  if (odd >= 0) yield invalid(refTo(list[odd], entryOf(path, odd)), 'must be an object for an array of list-type map')
  else {
    const keys = list.map(item => keysOf(listKeys, item))
    yield* repeated(keys, path, budget)
  }
}

/** An error for the second of each values that are there more than once. */
function* repeated(list: readonly Json[], path: string, budget: Budget): Generator<FieldError> {
  const times = new Map<string, number>()
  for (const [i, item] of list.entries()) {
    const key = goJson(item)
    budget.charge(1 + key.length / CHARS_PER_UNIT)
    const seen = times.get(key) ?? 0
    times.set(key, seen + 1)
    if (seen === 1) yield duplicate(refTo(item, entryOf(path, i)))
  }
}

function keysOf(names: readonly string[], item: Json): JsonObject {
  const keys: JsonObject = {}
  if (isObject(item)) for (const name of names) if (Object.hasOwn(item, name)) setOwn(keys, name, item[name]!)
  return keys
}
