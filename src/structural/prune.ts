/** Removes parts of a custom object that decoding leaves out: fields its schema does not know, and nulls where the schema allows none. */
import { compareText } from '../lib/go-text.ts'
import { isObject, type Json, type JsonObject, setOwn } from '../lib/json-value.ts'
import { LIMITS } from '../lib/limits.ts'
import { memberSchema, type Structural } from './schema.ts'

export type PruneOptions = {
  /** Takes `unknown field "spec.foo"` for each field left out, in the order of their paths; of very many, for the first. */
  readonly problems?: string[]
  /** Whether the value is a whole object, whose `apiVersion`, `kind` and `metadata` need no schema. Default true. */
  readonly root?: boolean
}

/** The value without the fields its schema does not know; the same value where there are none. The input is never changed. */
export function prune<T extends Json>(structural: Structural, value: T, { problems, root = true }: PruneOptions = {}): T {
  const unknown: string[] | undefined = problems && []
  const pruned = pruneValue(structural, value, { path: '', depth: 0, unknown }, { embedded: root })
  if (unknown) for (const path of unknown.sort(compareText)) problems!.push(`unknown field "${path}"`)
  return pruned as T
}

/**
 * The value without members that are null although their schema neither allows null nor has a default to put there; the same
 * value where there are none. Decoding does this after pruning, so that defaults and validation never meet such a null.
 */
export function dropNulls<T extends Json>(structural: Structural, value: T): T {
  return withoutNulls(structural, value) as T
}

type Walk = {
  /** Paths of fields that were left out; undefined where they are not needed. */
  readonly unknown: string[] | undefined
  path: string
  /** The depth of members and items; 0 at the root. A member may have an empty name, so that the path does not tell. */
  depth: number
}

const META: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'metadata'])

/** A schema that is missing knows no field, except that one which keeps unknown fields hands that on to the items of its lists. */
function pruneValue(schema: Structural | undefined, value: Json, walk: Walk, more: { embedded?: boolean; keep?: boolean } = NO_MORE): Json {
  const keep = more.keep === true || schema?.preserve === true
  if (Array.isArray(value)) return keep && schema?.items === undefined ? value : pruneList(schema?.items, value, walk, keep)
  if (!isObject(value) || (keep && schema === undefined)) return value
  const embedded = more.embedded === true || schema?.embedded === true
  let out: JsonObject | undefined
  const keys = Object.keys(value)
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i]!
    const member = value[key]!
    const kept = embedded && META.has(key) ? member : pruneMember(schema, key, member, walk, keep)
    if (kept !== member && out === undefined) out = firstOf(value, keys, i)
    if (out !== undefined && kept !== undefined) setOwn(out, key, kept)
  }
  return out ?? value
}
const NO_MORE = Object.freeze({})

/** The pruned member, or undefined for one that is left out. */
function pruneMember(schema: Structural | undefined, key: string, member: Json, walk: Walk, keep: boolean): Json | undefined {
  const known = schema?.properties.get(key)
  const described = known !== undefined || schema?.additional !== undefined
  if (described ? typeof member !== 'object' : keep) return member
  const { path, unknown } = walk
  if (!described) {
    if (unknown && unknown.length < LIMITS.unknownFields && (!META.has(key) || walk.depth > 0)) unknown.push(memberPath(path, key))
    return undefined
  }
  if (unknown) walk.path = memberPath(path, key)
  walk.depth++
  const pruned = pruneValue(known ?? (typeof schema!.additional === 'object' ? schema!.additional : undefined), member, walk)
  walk.depth--
  walk.path = path
  return pruned
}

const memberPath = (path: string, key: string) => (path === '' ? key : `${path}.${key}`)

function pruneList(items: Structural | undefined, list: Json[], walk: Walk, keep: boolean): Json[] {
  const { path, unknown } = walk
  let out: Json[] | undefined
  walk.depth++
  for (let i = 0; i < list.length; i++) {
    const item = list[i]!
    if (typeof item !== 'object') continue
    if (unknown) walk.path = `${path}[${i}]`
    const kept = pruneValue(items, item, walk, keep ? KEEP : NO_MORE)
    if (kept === item) continue
    out ??= list.slice()
    out[i] = kept
  }
  walk.depth--
  walk.path = path
  return out ?? list
}
const KEEP = Object.freeze({ keep: true })

function withoutNulls(schema: Structural | undefined, value: Json): Json {
  if (schema === undefined || typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) {
    if (schema.items === undefined) return value
    let list: Json[] | undefined
    for (let i = 0; i < value.length; i++) {
      const kept = withoutNulls(schema.items, value[i]!)
      if (kept === value[i]) continue
      list ??= value.slice()
      list[i] = kept
    }
    return list ?? value
  }
  let out: JsonObject | undefined
  const keys = Object.keys(value)
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i]!
    const member = value[key]!
    const next = memberSchema(schema, key)
    const dropped = member === null && next !== undefined && !next.nullable && next.default === undefined
    const kept = dropped ? undefined : withoutNulls(next, member)
    if (kept !== member && out === undefined) out = firstOf(value, keys, i)
    if (out !== undefined && kept !== undefined) setOwn(out, key, kept)
  }
  return out ?? value
}

function firstOf(value: JsonObject, keys: readonly string[], count: number): JsonObject {
  const out: JsonObject = {}
  for (let i = 0; i < count; i++) setOwn(out, keys[i]!, value[keys[i]!]!)
  return out
}
