// How strategic merge patches treat lists: items found by their merge key, plain values as a set, and the order of both.

import { goJson, goPrint, goType } from '../lib/go-text.ts'
import { copyObject, isObject, type Json, type JsonObject, setOwn } from '../lib/json-value.ts'

/** A patch that cannot be applied; `code` is 400 for one that is malformed and 422 for one that does not fit the object. */
export class StrategicMergeError extends Error {
  readonly code: 400 | 422
  constructor(code: 400 | 422, message: string) {
    super(message)
    this.code = code
  }
}

/** A list as its type declares it: the field that names its items, empty for plain values, and how two items merge. */
export type ListRule = { readonly mergeKey: string; readonly mergeItem: (original: JsonObject, patch: JsonObject) => JsonObject }

export const DIRECTIVE = '$patch'

export const badDirective = (directive: Json, patch: JsonObject): StrategicMergeError =>
  new StrategicMergeError(422, `unknown patch type: ${goPrint(directive)} in map: ${goPrint(patch)}`)

/** Merges the items of a patch into a list, then puts the items that it names in its order and leaves the others where they were. */
export function mergeLists(rule: ListRule, original: readonly Json[], patch: readonly Json[]): Json[] {
  if (original.length === 0 && patch.length === 0) return []
  if (kindOfItems(original, patch) !== 'map') {
    const merged = distinct([...original, ...patch])
    return inOrder({ items: merged, order: patch, before: original }, PLAIN)
  }
  if (rule.mergeKey === '') throw new StrategicMergeError(422, 'cannot merge lists without merge key for struct')
  const keyOf = keyedBy(rule.mergeKey)
  const { base, changes } = applyDirectives(rule.mergeKey, original as JsonObject[], patch as JsonObject[])
  const merged = [...base]
  const positions = new Map<unknown, number>()
  // The first of several items with the same key is the one that merges.
  for (let i = base.length - 1; i >= 0; i--) positions.set(identity(base[i]![rule.mergeKey]), i)
  for (const change of changes) {
    const key = identity(keyOf(change))
    const at = positions.get(key)
    if (at === undefined) positions.set(key, merged.push(change) - 1)
    else merged[at] = rule.mergeItem(merged[at]!, change)
  }
  return inOrder({ items: merged, order: changes, before: base }, keyOf)
}

type OrderedChange = {
  readonly live: readonly Json[] | undefined
  readonly sent: readonly Json[] | undefined
  readonly order: readonly Json[]
}

/** A list in the order of the patch; items that the order does not name keep their place relative to the others. */
export function applyOrder(rule: ListRule, { live, sent, order }: OrderedChange, merge: (live: Json[], sent: Json[]) => Json[]): Json[] {
  if (sent !== undefined) checkOrder(sent, order, rule.mergeKey)
  const items = live === undefined ? [...(sent ?? [])] : sent === undefined ? [...live] : merge([...live], [...sent])
  if (items.length === 0) return items
  const isKeyed = kindOfItems(live ?? [], sent ?? []) === 'map'
  return inOrder({ items, order, before: live ?? [] }, isKeyed ? keyedBy(rule.mergeKey) : PLAIN)
}

/** The list without the given plain values. */
export function removePlainValues(list: readonly Json[], values: readonly Json[]): Json[] {
  const gone = new Set(values.map(identity))
  return list.filter(item => !gone.has(identity(item)))
}

/** Takes `$patch` items out of a patch: deletes the items that they name, or makes the rest of the patch the whole list. */
function applyDirectives(mergeKey: string, original: readonly JsonObject[], patch: readonly JsonObject[]) {
  const gone = new Set<unknown>()
  let replaces = false
  const changes: JsonObject[] = []
  for (const item of patch) {
    if (!Object.hasOwn(item, DIRECTIVE)) {
      changes.push(item)
      continue
    }
    const directive = item[DIRECTIVE]!
    if (directive === 'replace') replaces = true
    else if (directive === 'delete') gone.add(identity(keyedBy(mergeKey)(item)))
    else if (directive === 'merge') {
      const { [DIRECTIVE]: _, ...change } = item
      if (Object.keys(change).length > 0) changes.push(change)
    } else throw badDirective(directive, item)
  }
  if (replaces) return { base: changes, changes: [] }
  return { base: original.filter(item => !gone.has(identity(item[mergeKey]))), changes }
}

/** Items must all be of one kind, and none may be a list. */
function kindOfItems(...lists: readonly (readonly Json[])[]): 'map' | 'plain' {
  let type: string | undefined
  for (const item of lists.flat()) {
    if (Array.isArray(item)) throw new StrategicMergeError(422, 'lists of lists are not supported')
    const found = goType(item)
    type ??= found
    if (found !== type || item === null) {
      throw new StrategicMergeError(422, `list element types are not identical: ${goPrint(lists as Json[])}`)
    }
  }
  return type === 'map[string]interface {}' ? 'map' : 'plain'
}

/** Items of a patch must be named by the order, and in that order. */
function checkOrder(sent: readonly Json[], order: readonly Json[], mergeKey: string): void {
  if (sent.length === 0 || order.length === 0) return
  const keyOf = mergeKey === '' ? PLAIN : keyedBy(mergeKey)
  const ordered = mergeKey === '' ? sent : sent.filter(item => asMap(item)[DIRECTIVE] === undefined)
  let next = 0
  for (const item of order) {
    if (next === ordered.length) return
    if (identity(keyOf(ordered[next]!)) === identity(keyOf(item))) next++
  }
  if (next < ordered.length) {
    const texts = [goPrint(sent as Json[]), goPrint(order as Json[])]
    throw new StrategicMergeError(422, `The order in patch list:\n${texts[0]}\n doesn't match $setElementOrder list:\n${texts[1]}\n`)
  }
}

type KeyOf = (item: Json) => Json
const PLAIN: KeyOf = item => item

const keyedBy =
  (mergeKey: string): KeyOf =>
  item => {
    const map = asMap(item)
    if (Object.hasOwn(map, mergeKey)) return map[mergeKey]!
    throw new StrategicMergeError(422, `map: ${goPrint(map)} does not contain declared merge key: ${mergeKey}`)
  }

function asMap(item: Json): JsonObject {
  if (isObject(item)) return item
  throw new StrategicMergeError(422, `expected a map[string]interface {}, but received a ${goType(item)}`)
}

type Arrangement = { readonly items: readonly Json[]; readonly order: readonly Json[]; readonly before: readonly Json[] }

/**
 * Items that the order names come in its order; the others keep theirs, each before the first named item that it used to
 * precede: [a, b, c] with the order [c, a] gives [b, c, a].
 */
function inOrder({ items, order, before }: Arrangement, keyOf: KeyOf): Json[] {
  const [wanted, used] = [positionsOf(order, keyOf), positionsOf(before, keyOf)]
  const placed = items.map(item => {
    const key = identity(keyOf(item))
    return { item, want: wanted.get(key) ?? -1, was: used.get(key) ?? -1 }
  })
  const named = placed.filter(one => one.want >= 0).sort((a, b) => a.want - b.want)
  const rest = placed.filter(one => one.want < 0).sort((a, b) => a.was - b.was)
  const out: Json[] = []
  let [left, right] = [0, 0]
  while (left < rest.length || right < named.length) {
    const [l, r] = [rest[left], named[right]]
    const isBefore = r === undefined || (l !== undefined && l.was >= 0 && r.was >= 0 && l.was < r.was)
    if (l !== undefined && isBefore) {
      out.push(l.item)
      left++
    } else {
      out.push(r!.item)
      right++
    }
  }
  return out
}

/** Where each key first is. */
function positionsOf(items: readonly Json[], keyOf: KeyOf): Map<unknown, number> {
  const positions = new Map<unknown, number>()
  for (let i = items.length - 1; i >= 0; i--) positions.set(identity(keyOf(items[i]!)), i)
  return positions
}

function distinct(values: readonly Json[]): Json[] {
  return [...new Map(values.map(value => [identity(value), value])).values()]
}

/** The key of a value for maps and sets: itself, or its text. */
const identity = (value: Json | undefined): unknown => (typeof value === 'object' && value !== null ? `json:${goJson(value)}` : value)

/** A value that a patch adds as a whole has nothing to merge with, so parts with a directive say nothing; undefined when that is all of it. */
export function withoutDirectives(value: Json): Json | undefined {
  if (Array.isArray(value)) return value.map(withoutDirectives).filter(item => item !== undefined)
  if (!isObject(value)) return value
  if (Object.hasOwn(value, DIRECTIVE)) return undefined
  const out = copyObject(value)
  for (const key of Object.keys(out)) {
    const part = withoutDirectives(out[key]!)
    if (part === undefined) delete out[key]
    else setOwn(out, key, part)
  }
  return out
}
