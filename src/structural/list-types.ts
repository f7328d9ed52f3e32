/** The rules of `x-kubernetes-list-type`: a set holds no value twice, a map no two items with the same keys. */
import { compareText, goJson } from '../lib/go-text.ts'
import { isObject, type Json, type JsonObject, setOwn } from '../lib/json-value.ts'
import type { Budget } from '../schema/budget.ts'
import { duplicate, type FieldError, invalid, pathOf, type Ref, refTo } from '../schema/refs.ts'
import { childOf, entryOf } from './error-path.ts'
import { bounded } from './failure.ts'
import type { Structural } from './schema.ts'

export type ListChecks = { readonly budget: Budget; readonly old?: Json | undefined }

/** The duplicates in the sets and maps of a value. An update of an object that had duplicates may have them still. */
export function validateLists(structural: Structural, value: Json, at: Ref<any>, { budget, old }: ListChecks): FieldError[] {
  if (!structural.has.lists) return []
  const found = bounded(duplicatesIn(structural, value, pathOf(at), budget))
  // The stored value matters only where something is wrong.
  if (found.length === 0 || old === undefined) return found
  return duplicatesIn(structural, old, pathOf(at), budget).next().done ? found : []
}

function* duplicatesIn(schema: Structural, value: Json, path: string, budget: Budget): Generator<FieldError> {
  if (!schema.has.lists || typeof value !== 'object' || value === null) return
  if (Array.isArray(value)) {
    if (schema.list === 'set') yield* duplicateItems(value, path, budget)
    else if (schema.list === 'map') yield* duplicateKeys(schema, value, path, budget)
    if (schema.items?.has.lists) for (const [i, item] of value.entries()) yield* duplicatesIn(schema.items, item, entryOf(path, i), budget)
    return
  }
  const { additional, properties } = schema
  const keys = Object.keys(value)
  if (typeof additional === 'object') for (const key of keys) yield* duplicatesIn(additional, value[key]!, entryOf(path, key), budget)
  for (const key of keys) {
    const known = properties.get(key)
    if (known) yield* duplicatesIn(known, value[key]!, childOf(path, key), budget)
  }
}

function* duplicateItems(list: readonly Json[], path: string, budget: Budget): Generator<FieldError> {
  for (const i of repeatedAt(list.map(itemText), budget)) yield duplicate(refTo(byName(list[i]!), entryOf(path, i)))
}

function* duplicateKeys({ listKeys }: Structural, list: readonly Json[], path: string, budget: Budget): Generator<FieldError> {
  const odd = list.findIndex(item => item !== null && !isObject(item))
  if (odd >= 0) return yield invalid(refTo(list[odd], entryOf(path, odd)), 'must be an object for an array of list-type map')
  const texts = list.map(item => listKeys.map(name => (hasKey(item, name) ? itemText(item[name]!) : '')).join('\0'))
  for (const i of repeatedAt(texts, budget)) yield duplicate(refTo(byName(keysOf(listKeys, list[i]!)), entryOf(path, i)))
}

/** The index at which each text that is there more than once is there for the second time. */
function* repeatedAt(texts: readonly string[], budget: Budget): Generator<number> {
  const seen = new Set<string>()
  const reported = new Set<string>()
  for (const [i, text] of texts.entries()) {
    budget.charge(2 + text.length / CHARS_PER_UNIT)
    if (!seen.has(text)) seen.add(text)
    else if (!reported.has(text)) {
      reported.add(text)
      yield i
    }
  }
}
const CHARS_PER_UNIT = 4

/** A text that equal values share and others do not. */
const itemText = (value: Json): string =>
  typeof value === 'string' ? `"${value}` : typeof value === 'object' ? goJson(value) : String(value)

const hasKey = (item: Json, name: string): item is JsonObject => isObject(item) && Object.hasOwn(item, name)

function keysOf(names: readonly string[], item: Json): JsonObject {
  const keys: JsonObject = {}
  for (const name of names) if (hasKey(item, name)) setOwn(keys, name, item[name]!)
  return keys
}

/** The value with the members of objects ordered by name, as Go shows them: it keeps custom objects in maps. */
function byName(value: Json): Json {
  if (Array.isArray(value)) return value.map(byName)
  if (!isObject(value)) return value
  const sorted: JsonObject = {}
  for (const name of Object.keys(value).sort(compareText)) setOwn(sorted, name, byName(value[name]!))
  return sorted
}
