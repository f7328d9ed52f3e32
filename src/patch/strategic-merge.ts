// Strategic merge patches: merge patches that know which lists merge, and by which key.
//
//   {"containers": [{"name": "a", "image": "a:2"}]}            changes the image of a, keeps the other containers
//   {"containers": [{"name": "b", "$patch": "delete"}]}        removes b
//   {"$setElementOrder/containers": [{"name": "b"}, …]}        orders them
//   {"$deleteFromPrimitiveList/finalizers": ["example.com/a"]} removes a plain value
//   {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}} removes every other field of the strategy

import { goType } from '../lib/go-text.ts'
import { copyObject, getOwn, isObject, type Json, type JsonObject, setOwn } from '../lib/json-value.ts'
import type { AnyType } from '../schema/types.ts'
import {
  applyOrder,
  badDirective,
  DIRECTIVE,
  type ListRule,
  mergeLists,
  removePlainValues,
  StrategicMergeError,
  withoutDirectives,
} from './strategic-lists.ts'
import { ANY, type Member, type Structure, structureOf } from './structure.ts'

export type StrategicMerged =
  | { readonly ok: true; readonly object: JsonObject }
  | { readonly ok: false; readonly code: 400 | 422; readonly message: string }

/**
 * The object with the patch merged in. Neither is changed, and parts that the patch does not name are shared with the object.
 * Fields that the type does not know are taken over as they are, for the decoder to report.
 */
export function strategicMerge(type: AnyType, original: JsonObject, patch: JsonObject): StrategicMerged {
  try {
    return { ok: true, object: mergeMaps(structureOf(type), original, patch) }
  } catch (error) {
    if (error instanceof StrategicMergeError) return { ok: false, code: error.code, message: error.message }
    throw error
  }
}

const RETAIN_KEYS = '$retainKeys'
const DELETE_PREFIX = '$deleteFromPrimitiveList'
const ORDER_PREFIX = '$setElementOrder'

/** Merges a patch into a message, a map, or an object of which nothing is known. */
function mergeMaps(structure: Structure, original: JsonObject, patch: JsonObject): JsonObject {
  const directive = getOwn(patch, DIRECTIVE)
  if (directive !== undefined && directive !== 'merge') return replaceOrDelete(directive, patch)
  const merged = retainKeys(original, patch)
  const done = new Set<string>([DIRECTIVE, RETAIN_KEYS])
  const keys = Object.keys(patch)
  for (const key of keys) if (key.startsWith(ORDER_PREFIX)) mergeOrdered(structure, { merged, patch, key, done })
  for (const key of keys) {
    if (done.has(key)) continue
    if (key.startsWith(DELETE_PREFIX)) removeFromList(merged, listName(key, DELETE_PREFIX), patch[key]!)
    else mergePart(structure, merged, key, patch[key]!)
  }
  return merged
}

function replaceOrDelete(directive: Json, patch: JsonObject): JsonObject {
  if (directive === 'delete') return {}
  if (directive !== 'replace') throw badDirective(directive, patch)
  const { [DIRECTIVE]: _, ...rest } = patch
  return rest
}

/** A copy of the original with only the fields that the patch says to retain; the patch may not set others. */
function retainKeys(original: JsonObject, patch: JsonObject): JsonObject {
  const merged = copyObject(original)
  const retained = getOwn(patch, RETAIN_KEYS)
  if (retained === undefined) return merged
  if (!Array.isArray(retained)) throw new StrategicMergeError(400, 'invalid patch format of retainKeys')
  const names = new Set<Json>(retained)
  for (const key of Object.keys(patch)) {
    if (key === RETAIN_KEYS || key === DIRECTIVE || patch[key] === null || key.startsWith(DELETE_PREFIX) || key.startsWith(ORDER_PREFIX))
      continue
    if (!names.has(key)) throw new StrategicMergeError(400, 'invalid patch format of retainKeys')
  }
  for (const key of Object.keys(merged)) if (!names.has(key)) delete merged[key]
  return merged
}

type Ordered = { readonly merged: JsonObject; readonly patch: JsonObject; readonly key: string; readonly done: Set<string> }

function mergeOrdered(structure: Structure, { merged, patch, key, done }: Ordered): void {
  const name = listName(key, ORDER_PREFIX)
  const order = asList(patch[key])
  done.add(key)
  // An empty list may be held as null.
  const [before, change] = [getOwn(merged, name) ?? undefined, getOwn(patch, name)]
  // A null removes the list; with nothing to order, the order says nothing.
  if (change === null || (before === undefined && change === undefined)) return
  const [live, sent] = [before === undefined ? undefined : asList(before), change === undefined ? undefined : asList(change)]
  const member = memberOf(structure, name)
  const rule = ruleOf(structure, member)
  const whole = sent && live === undefined ? (withoutDirectives(sent) as Json[]) : sent
  const merge = (mine: Json[], theirs: Json[]) => (member?.flags.merge === undefined ? theirs : mergeLists(rule, mine, theirs))
  setOwn(merged, name, applyOrder(rule, { live, sent: whole, order }, merge))
  done.add(name)
}

function removeFromList(merged: JsonObject, name: string, values: Json): void {
  const before = getOwn(merged, name)
  if (values === null) delete merged[name]
  else if (Array.isArray(before) && Array.isArray(values)) setOwn(merged, name, removePlainValues(before, values))
}

function mergePart(structure: Structure, merged: JsonObject, key: string, change: Json): void {
  if (change === null) {
    delete merged[key]
    return
  }
  if (typeof change !== 'object') {
    setOwn(merged, key, change)
    return
  }
  const before = getOwn(merged, key)
  const member = memberOf(structure, key)
  if (isObject(before) && isObject(change) && member?.flags.merge?.replace) setOwn(merged, key, change)
  else if (isObject(before) && isObject(change)) {
    setOwn(merged, key, mergeMaps(partStructure(structure, member), before, change))
  } else if (Array.isArray(before) && Array.isArray(change)) {
    setOwn(merged, key, member?.flags.merge === undefined ? change : mergeLists(ruleOf(structure, member), before, change))
  } else {
    const value = withoutDirectives(withoutNulls(change))
    if (value === undefined) delete merged[key]
    else setOwn(merged, key, value)
  }
}

const memberOf = (structure: Structure, name: string): Member | undefined =>
  structure.kind === 'message' ? structure.members.get(name) : undefined

/** Inside what no type describes, objects merge and lists are replaced, as in a plain merge patch. */
function partStructure(structure: Structure, member: Member | undefined): Structure {
  return structure.kind === 'map' ? structure.value : (member?.structure ?? ANY)
}

function ruleOf(structure: Structure, member: Member | undefined): ListRule {
  const part = partStructure(structure, member)
  const item = part.kind === 'list' ? part.item : ANY
  return { mergeKey: member?.flags.merge?.key ?? '', mergeItem: (original, patch) => mergeMaps(item, original, patch) }
}

function listName(key: string, prefix: string): string {
  if (key.startsWith(`${prefix}/`)) return key.slice(prefix.length + 1)
  throw new StrategicMergeError(400, `invalid patch format of ${prefix === DELETE_PREFIX ? 'primitive list' : 'setElementOrder list'}`)
}

function asList(value: Json | undefined): Json[] {
  if (Array.isArray(value)) return value
  throw new StrategicMergeError(422, `expected a []interface {}, but received a ${goType(value)}`)
}

/** A value that a patch adds as a whole has no fields set to null. */
function withoutNulls(value: Json): Json {
  if (Array.isArray(value)) return value.map(withoutNulls)
  if (!isObject(value)) return value
  const out: JsonObject = {}
  for (const key of Object.keys(value)) if (value[key] !== null) setOwn(out, key, withoutNulls(value[key]!))
  return out
}
