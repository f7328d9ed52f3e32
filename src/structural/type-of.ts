/** A compiled schema as a type of the schema language, as far as field ownership needs it: which parts merge and which are atomic. */
import { type Json, setOwn } from '../lib/json-value.ts'
import { ObjectMeta } from '../schema/object-meta.ts'
import { type AnyType, atomic, bool, double, type Field, int64, intOrString, mapOf, raw, string, Type } from '../schema/types.ts'
import type { Structural } from './schema.ts'

/** The type of a whole custom object: what its schema describes, within the envelope of every object. */
export function typeOf(structural: Structural): AnyType {
  return messageOf(structural, structural.preserve, ENVELOPE)
}

const ENVELOPE: readonly (readonly [name: string, type: AnyType])[] = [
  ['apiVersion', string],
  ['kind', string],
  ['metadata', ObjectMeta],
]

/** Any JSON whose objects merge member by member. */
const DEDUCED: AnyType = raw.mergedBy()
/** Any value that is neither object nor list. */
const ANY_SCALAR: AnyType = intOrString

/** Unknown fields that are kept anywhere above are kept here too, as far as ownership goes. */
function partType(schema: Structural, keeping: boolean): AnyType {
  const keeps = keeping || schema.preserve
  switch (schema.intOrString ? 'either' : schema.types[0]) {
    case 'object':
      return objectType(schema, keeps)
    case 'array':
      return listType(schema, keeps)
    case 'boolean':
      return bool
    case 'integer':
      return int64
    case 'number':
      return double
    case 'string':
      return schema.source.format === undefined || schema.source.format === '' || schema.source.format === 'byte' ? string : ANY_SCALAR
    case 'either':
      return raw
    default:
      return schema.properties.size > 0 ? objectType(schema, keeps) : DEDUCED
  }
}

function objectType(schema: Structural, keeps: boolean): AnyType {
  const type =
    schema.properties.size > 0 || schema.embedded ? messageOf(schema, keeps, schema.embedded ? ENVELOPE : []) : mapType(schema, keeps)
  return schema.atomicMap ? type.atomic() : type
}

const mapType = ({ additional }: Structural, keeps: boolean): AnyType =>
  mapOf(typeof additional === 'object' ? partType(additional, keeps) : DEDUCED)

function messageOf(schema: Structural, keeps: boolean, envelope: typeof ENVELOPE): AnyType {
  const fields: { [name: string]: Field } = {}
  for (const [name, type] of envelope) fields[name] = [0, type]
  for (const [name, part] of schema.properties) if (!Object.hasOwn(fields, name)) setOwn<Field>(fields, name, [0, partType(part, keeps)])
  const others = othersOf(schema, keeps)
  return new Type<unknown>({ kind: 'message', name: '', fields, ...(others && { others }) })
}

function othersOf({ additional }: Structural, keeps: boolean): AnyType | undefined {
  if (typeof additional === 'object') return partType(additional, keeps)
  return additional === true || (additional === undefined && keeps) ? DEDUCED : undefined
}

function listType({ items, list, listKeys }: Structural, keeps: boolean): AnyType {
  if (items === undefined) return atomic(raw)
  const item = partType(items, keeps)
  if (list === 'set') return new Type<unknown>({ kind: 'list', item, list: 'set' })
  if (list !== 'map') return new Type<unknown>({ kind: 'list', item, list: 'atomic' })
  return new Type<unknown>({ kind: 'list', item: withKeyDefaults(item, items, listKeys), list: listKeys })
}

/** A key that an item leaves out is its default. */
function withKeyDefaults(item: AnyType, { properties }: Structural, keys: readonly string[]): AnyType {
  const { shape } = item
  const defaults = keys.flatMap((name): [string, Json][] => {
    const value = properties.get(name)?.default
    return value === undefined ? [] : [[name, value]]
  })
  if (shape.kind !== 'message' || defaults.length === 0) return item
  const fields: { [name: string]: Field } = { ...shape.fields }
  for (const [name, value] of defaults) {
    const field = fields[name]
    if (field) setOwn<Field>(fields, name, [field[0], field[1].default(value)])
  }
  return new Type<unknown>({ ...shape, fields }, item.rules, item.flags)
}
