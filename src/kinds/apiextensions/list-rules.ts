/** Rules for the merge strategy of lists and objects of custom kinds: their topology, and the keys of items. */
import { getOwn } from '../../lib/json-value.ts'
import { entry, type FieldError, forbidden, invalid, type Ref, required, unsupported, withValue } from '../../schema/refs.ts'
import { internalSchema } from './internal-type.ts'
import type { Schema } from './json-schema.ts'
import { itemSchema } from './schema-walk.ts'
import type { Strictness } from './strictness.ts'

const LIST_TYPE = 'x-kubernetes-list-type'
const MAP_TYPE = 'x-kubernetes-map-type'
const KEYS = 'x-kubernetes-list-map-keys'

/** Whether a schema has any extensions for merging or preserving values. */
export const hasTopology = (schema: Schema): boolean =>
  schema[LIST_TYPE] !== undefined ||
  schema[MAP_TYPE] !== undefined ||
  schema[KEYS] !== undefined ||
  schema['x-kubernetes-preserve-unknown-fields'] === false

/** The topology of a list or object must match its type. */
export function* validateTopology(schema: Schema, at: Ref<Schema>, strict: Strictness): Iterable<FieldError> {
  const { [LIST_TYPE]: list, [MAP_TYPE]: map, [KEYS]: keys = [] } = schema
  if (schema['x-kubernetes-preserve-unknown-fields'] === false)
    yield invalid(at['x-kubernetes-preserve-unknown-fields'], 'must be true or undefined')
  if (map !== undefined) {
    yield* validateType(schema, at, 'object', MAP_TYPE)
    if (map !== 'atomic' && map !== 'granular') yield unsupported(at[MAP_TYPE], 'atomic', 'granular')
  }
  if (list !== undefined) {
    if (schema.type !== 'array') yield* validateType(schema, at, 'array', LIST_TYPE)
    else if (strict.atomicSets && list === 'set') yield* validateSetItems(schema, at)
    if (list !== 'atomic' && list !== 'set' && list !== 'map') yield unsupported(at[LIST_TYPE], 'atomic', 'set', 'map')
  }
  if (keys.length > 0 && list !== 'map') {
    const detail = 'must be map if x-kubernetes-list-map-keys is non-empty'
    yield list === undefined ? required(at[LIST_TYPE], detail) : invalid(at[LIST_TYPE], detail)
  }
  if (list === 'map') yield* validateKeyed(schema, at)
}

function* validateType({ type = '' }: Schema, at: Ref<Schema>, wanted: string, because: string): Iterable<FieldError> {
  if (type === wanted) return
  const detail = `must be ${wanted} if ${because} is specified`
  yield type === '' ? required(at.type, detail) : invalid(at.type, detail)
}

/** Items of a set are compared as a whole, so they must be atomic. Errors show the list type of the item. */
function* validateSetItems(schema: Schema, at: Ref<Schema>): Iterable<FieldError> {
  const item = itemSchema(schema)
  const wrong = item && unfitInSet(item)
  if (!wrong) return
  const there = withValue((at.items as Ref<Schema>)[wrong], item[LIST_TYPE] ?? null)
  yield invalid(there, 'must be atomic as item of a list with x-kubernetes-list-type=set')
}

/** The extension that makes items of a set mergeable. */
function unfitInSet(item: Schema): typeof LIST_TYPE | typeof MAP_TYPE | undefined {
  if (item.type === 'array' && (item[LIST_TYPE] ?? 'atomic') !== 'atomic') return LIST_TYPE
  return item.type === 'object' && item[MAP_TYPE] !== 'atomic' ? MAP_TYPE : undefined
}

/** Whether the schema is a set of mergeable items. */
export function isUnfitSet(schema: Schema): boolean {
  const item = schema[LIST_TYPE] === 'set' ? itemSchema(schema) : undefined
  return item !== undefined && unfitInSet(item) !== undefined
}

function* validateKeyed(schema: Schema, at: Ref<Schema>): Iterable<FieldError> {
  const { items, [KEYS]: keys = [] } = schema
  if (keys.length === 0) yield required(at[KEYS], 'must not be empty if x-kubernetes-list-type is map')
  if (!items) return yield required(at.items, 'must have a schema if x-kubernetes-list-type is map')
  if (Array.isArray(items)) {
    const shown = { Schema: null, JSONSchemas: items.map(internalSchema) }
    return yield invalid(withValue(at.items, shown), 'must only have a single schema if x-kubernetes-list-type is map')
  }
  const there = at.items as Ref<Schema>
  if (items.type !== 'object')
    return yield invalid(withValue(there.type, items.type ?? ''), "must be object if parent array's x-kubernetes-list-type is map")
  const seen = new Set<string>()
  // Errors show all keys: a long list of wrong ones must not be shown as often as it is long.
  let reported = 0
  for (const key of keys) {
    if (reported > MAX_REPORTED) break
    const member = getOwn(items.properties ?? {}, key)
    if (!member || seen.has(key)) reported++
    if (!member) yield invalid(at[KEYS], 'entries must all be names of item properties')
    else if (member.type === 'array' || member.type === 'object')
      yield invalid(
        withValue(entry(there.properties, key).type, items.type),
        "must be a scalar type if parent array's x-kubernetes-list-type is map",
      )
    if (seen.has(key)) yield invalid(at[KEYS], 'must not contain duplicate entries')
    seen.add(key)
  }
}

const MAX_REPORTED = 16

/** Items of sets and of lists with keys are never null, and keys are required. */
export function* validateMapListKeys(schema: Schema, at: Ref<Schema>): Iterable<FieldError> {
  const { [LIST_TYPE]: list, [KEYS]: keys = [] } = schema
  const item = itemSchema(schema)
  if (!item || (list !== 'set' && list !== 'map')) return
  const there = at.items as Ref<Schema>
  if (item.nullable) yield forbidden(there.nullable, `cannot be nullable when x-kubernetes-list-type is ${list}`)
  if (list !== 'map') return
  const always = new Set(item.required)
  for (const key of keys) {
    const member = getOwn(item.properties ?? {}, key)
    if (!member) continue
    const property = entry(there.properties, key)
    if (!always.has(key) && member.default === undefined)
      yield required(
        property.default,
        'this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property',
      )
    if (member.nullable) yield forbidden(property.nullable, 'this property is in x-kubernetes-list-map-keys, so it cannot be nullable')
  }
}
