// An applied configuration merged into the live object, and fields taken out of an object.
import { copyObject, deepEqual, isObject, type Json, type JsonObject, setOwn } from '../lib/json-value.ts'
import type { AnyType } from '../schema/types.ts'
import type { FieldSet } from './field-set.ts'
import type { PathElement } from './path-element.ts'
import {
  elementOf,
  type ItemIdentity,
  isIdentified,
  isSameItem,
  itemElement,
  itemIdentity,
  type ListStructure,
  type MapStructure,
  type MessageStructure,
  partOf,
  type Structure,
  structureOf,
} from './structure.ts'

/** The live value with the fields of the applied one set. Neither is changed, and unchanged parts are shared with the live value. */
export function mergeApplied(type: AnyType, live: Json, applied: Json): Json {
  return merge(structureOf(type), live, applied)
}

/** Where a configuration names parts that are only ever replaced as a whole, as field paths such as `.spec.args`. */
export function atomicParts(type: AnyType, applied: Json): string[] {
  return findAtomics(structureOf(type), applied, '')
}

function findAtomics(structure: Structure, value: Json, path: string): string[] {
  if (structure.kind === 'scalar' || value === null) return []
  if (structure.kind === 'list') {
    if (!Array.isArray(value)) return []
    const nested = value.flatMap((item, i) => findAtomics(structure.item, item, `${path}[${i}]`))
    return structure.atomic ? [path, ...nested] : nested
  }
  if (!isObject(value)) return []
  const nested = Object.entries(value).flatMap(([key, part]) =>
    structure.kind === 'message' && structure.members.has(key) ? findAtomics(partOf(structure, key), part, `${path}.${key}`) : [],
  )
  return structure.atomic && !(structure.kind === 'map' && structure.anything) ? [path, ...nested] : nested
}

function merge(structure: Structure, live: Json | undefined, applied: Json | undefined): Json {
  if (applied === undefined) return live as Json
  if (live === undefined || live === applied) return applied
  if (structure.atomic) return deepEqual(live, applied) ? live : applied
  if (structure.kind === 'list') {
    const [mine, theirs] = [Array.isArray(live) ? live : [], Array.isArray(applied) ? applied : []]
    return mine.length === 0 && theirs.length === 0 ? (deepEqual(live, applied) ? live : applied) : mergeItems(structure, mine, theirs)
  }
  if (applied !== null && !isObject(applied)) return deepEqual(live, applied) ? live : applied
  const [mine, theirs] = [isObject(live) ? live : {}, isObject(applied) ? applied : {}]
  // To list the keys of a large object takes long: it is done once.
  const keys = Object.keys(theirs)
  if (keys.length === 0 && Object.keys(mine).length === 0) return deepEqual(live, applied) ? live : applied
  return mergeMembers(structure, mine, theirs, keys)
}

/** `keys` are those of `applied`. */
function mergeMembers(
  structure: MessageStructure | MapStructure,
  live: JsonObject,
  applied: JsonObject,
  keys: readonly string[],
): JsonObject {
  let out: JsonObject | undefined
  for (const key of keys) {
    const before = Object.hasOwn(live, key) ? live[key] : undefined
    const after = merge(partOf(structure, key), before, applied[key])
    if (after === before) continue
    out ??= copyObject(live)
    setOwn(out, key, after)
  }
  return out ?? live
}

/**
 * Items that only one side has keep their position among their neighbours, shared items take the order in which they are
 * applied: live [a, b, c] and applied [c, x, a] give [b, c, x, a].
 */
function mergeItems(list: ListStructure, live: readonly Json[], applied: readonly Json[]): Json[] {
  if (beginsWith(list, live, applied)) return mergeInPlace(list, live, applied)
  const mine = indexItems(list, live)
  const theirs = indexItems(list, applied)
  const shared = theirs.identities.filter(identity => mine.byIdentity.has(identity))
  const merged = new Set<ItemIdentity>()
  const out: Json[] = []
  let nextShared = 0
  const take = (identity: ItemIdentity) => {
    merged.add(identity)
    out.push(merge(list.item, mine.byIdentity.get(identity), theirs.byIdentity.get(identity)))
    if (shared[nextShared] === identity) nextShared++
  }
  for (let l = 0, r = 0; l < mine.identities.length || r < theirs.identities.length; ) {
    const left = mine.identities[l]
    const right = theirs.identities[r]
    if (left !== undefined && right !== undefined) {
      if (left === right) {
        take(left)
        l++
        r++
        continue
      }
      const awaited = shared[nextShared]
      if (theirs.byIdentity.has(left) && awaited !== undefined && awaited !== left) {
        l++
        continue
      }
    }
    if (left !== undefined) {
      if (!theirs.byIdentity.has(left)) {
        out.push(mine.items[l]!)
        l++
        continue
      }
      if (merged.has(left)) l++
    }
    if (right !== undefined) {
      take(right)
      r++
    }
  }
  return out.length === live.length && out.every((item, i) => item === live[i]) ? (live as Json[]) : out
}

/** Whether the applied items are the first of the live ones, in the same order; only for lists short enough to look for repetitions. */
function beginsWith(list: ListStructure, live: readonly Json[], applied: readonly Json[]): boolean {
  if (applied.length > live.length || live.length > 32) return false
  for (let i = 0; i < applied.length; i++) if (!isSameItem(list, live[i]!, applied[i]!)) return false
  for (let i = 0; i < live.length; i++) {
    if (!isIdentified(list, live[i]!)) return false
    for (let j = i + 1; j < live.length; j++) if (isSameItem(list, live[i]!, live[j]!)) return false
  }
  return true
}

function mergeInPlace(list: ListStructure, live: readonly Json[], applied: readonly Json[]): Json[] {
  let out: Json[] | undefined
  for (let i = 0; i < applied.length; i++) {
    const merged = merge(list.item, live[i], applied[i])
    if (merged === live[i]) continue
    out ??= [...live]
    out[i] = merged
  }
  return out ?? (live as Json[])
}

/** Items that repeat a key in the live list stand for nothing to merge with: the applied item replaces them all. */
function indexItems(list: ListStructure, items: readonly Json[]) {
  const identities: ItemIdentity[] = []
  const kept: Json[] = []
  const byIdentity = new Map<ItemIdentity, Json>()
  for (const item of items) {
    const identity = itemIdentity(list, item)
    if (identity === undefined) continue
    byIdentity.set(identity, byIdentity.has(identity) ? null : item)
    identities.push(identity)
    kept.push(item)
  }
  return { identities, items: kept, byIdentity }
}

/** The value without the fields of the set, each with all fields below it; parts that are left empty become null. */
export function removeItems(type: AnyType, value: Json, fields: FieldSet): Json {
  return fields.children === undefined ? value : remove(structureOf(type), value, fields)
}

function remove(structure: Structure, value: Json, fields: FieldSet): Json {
  if (structure.kind === 'scalar') return value
  if (structure.kind === 'list') {
    if (!Array.isArray(value) || value.length === 0 || structure.atomic) return null
    return unchangedOr(value, removeFromList(structure, value, fields))
  }
  if (!isObject(value) || structure.atomic) return null
  const out: JsonObject = {}
  let [changed, kept] = [false, 0]
  for (const key of Object.keys(value)) {
    const node = fields.children?.get(elementOf(structure, key))
    if (node?.owned) {
      changed = true
      continue
    }
    const part = value[key]!
    const left = node?.children === undefined ? part : remove(partOf(structure, key), part, node)
    if (left !== part) changed = true
    setOwn(out, key, left)
    kept++
  }
  return kept === 0 ? null : changed ? out : value
}

function removeFromList(list: ListStructure, items: readonly Json[], fields: FieldSet): Json[] {
  const out: Json[] = []
  for (const item of items) {
    const node = childOf(fields, itemElement(list, item))
    if (node?.owned) continue
    out.push(node?.children === undefined ? item : remove(list.item, item, node))
  }
  return out
}

const childOf = (set: FieldSet, element: PathElement | undefined) => (element === undefined ? undefined : set.children?.get(element))

const unchangedOr = (before: Json[], after: Json[]): Json =>
  after.length === 0 ? null : after.length === before.length && after.every((item, i) => item === before[i]) ? before : after
