// The differences between two objects, as field sets.
import { deepEqual, isObject, type Json, type JsonObject } from '../lib/json-value.ts'
import type { AnyType } from '../schema/types.ts'
import { type FieldSet, FieldSetBuilder, recursiveDifference } from './field-set.ts'
import type { PathElement } from './path-element.ts'
import {
  elementOf,
  elementOfIdentity,
  type ItemIdentity,
  type ListStructure,
  type MapStructure,
  type MessageStructure,
  partOf,
  type Structure,
  structureOf,
} from './structure.ts'
import { itemsByIdentity, presenceOf, Repeated } from './typed-sets.ts'

/** No field is in more than one of the sets; all are empty when the objects are the same. */
export type Comparison = { readonly added: FieldSet; readonly modified: FieldSet; readonly removed: FieldSet }

/** The fields that `after` adds to, changes in and removes from `before`. The order of keyed lists and sets does not count. */
export function compare(type: AnyType, before: Json, after: Json): Comparison {
  const walk = new Walk()
  walk.both(structureOf(type), before, after)
  return { added: walk.added.set, modified: walk.modified.set, removed: walk.removed.set }
}

/** The fields that `after` adds to or changes in `before`, in one set. */
export function changedFields(type: AnyType, before: Json, after: Json): FieldSet {
  const walk = new Walk(new FieldSetBuilder())
  walk.both(structureOf(type), before, after)
  return walk.added.set
}

/** The comparison without the given fields and all that is below them. */
export function withoutFields({ added, modified, removed }: Comparison, fields: FieldSet): Comparison {
  return {
    added: recursiveDifference(added, fields),
    modified: recursiveDifference(modified, fields),
    removed: recursiveDifference(removed, fields),
  }
}

class Walk {
  readonly added: FieldSetBuilder
  readonly modified: FieldSetBuilder
  readonly removed = new FieldSetBuilder()
  readonly #path: PathElement[] = []

  /** Collects added and modified fields in one set, where it is given. */
  constructor(changed?: FieldSetBuilder) {
    this.added = changed ?? new FieldSetBuilder()
    this.modified = changed ?? new FieldSetBuilder()
  }

  both(structure: Structure, a: Json, b: Json): void {
    if (a === b) return
    // Where both are empty or null the difference between the two is all there is.
    if (structure.atomic || (isNothing(a) && isNothing(b)) || !fits(structure, a) || !fits(structure, b)) this.#whole(a, b)
    else if (structure.kind === 'list') this.#items(structure, (a as Json[] | null) ?? [], (b as Json[] | null) ?? [])
    else this.#members(structure, a as JsonObject | null, b as JsonObject | null)
  }

  #whole(a: Json, b: Json): void {
    if (!deepEqual(a, b)) this.modified.add(this.#path)
  }

  #members(structure: MessageStructure | MapStructure, before: JsonObject | null, after: JsonObject | null): void {
    const a = before ?? {}
    const b = after ?? {}
    // To list the keys of a large object takes long: it is done once for each.
    const keysOfA = Object.keys(a)
    const keysOfB = Object.keys(b)
    if (keysOfA.length === 0 && keysOfB.length === 0) this.#whole(before, after)
    let shared = 0
    for (const key of keysOfA) {
      const before = a[key]
      const found = b[key]
      // Nothing inherited is ever equal to data.
      if (before === found && before !== undefined) {
        shared++
        continue
      }
      const isThere = Object.hasOwn(b, key)
      if (isThere && before !== undefined) shared++
      this.#part(partOf(structure, key), elementOf(structure, key), before, isThere ? found : undefined)
    }
    if (shared === keysOfB.length) return
    for (const key of keysOfB) {
      if (Object.hasOwn(a, key) && a[key] !== undefined) continue
      this.#part(partOf(structure, key), elementOf(structure, key), undefined, b[key])
    }
  }

  #items(list: ListStructure, a: Json[], b: Json[]): void {
    // Most lists did not change, and to see that costs less than to name their items.
    if (deepEqual(a, b)) return
    const before = itemsByIdentity(list, a)
    const after = itemsByIdentity(list, b)
    for (const [identity, left] of before) this.#item(list, identity, left, after.get(identity))
    for (const [identity, right] of after) if (!before.has(identity)) this.#item(list, identity, undefined, right)
  }

  #item(list: ListStructure, identity: ItemIdentity, left: Json | Repeated | undefined, right: Json | Repeated | undefined): void {
    if (left === right) return
    const element = elementOfIdentity(list, identity)
    if (left instanceof Repeated || right instanceof Repeated) this.#repeated(list, element, allOf(left), allOf(right))
    else this.#part(list.item, element, left, right)
  }

  /** Items that repeat a key have one manager for all of them, as if they were one atomic item. */
  #repeated(list: ListStructure, element: PathElement, a: readonly Json[], b: readonly Json[]): void {
    if (a.length > 1 && b.length > 1) {
      if (!deepEqual(a, b)) this.#at(element, () => this.modified.add(this.#path))
    } else if (a.length > 1) {
      if (b.length > 0) this.#part(list.item, element, undefined, b[0])
      this.#at(element, () => this.removed.add(this.#path))
    } else {
      if (a.length > 0) this.#part(list.item, element, a[0], undefined)
      this.#at(element, () => this.added.add(this.#path))
    }
  }

  #part(structure: Structure, element: PathElement, a: Json | undefined, b: Json | undefined): void {
    this.#path.push(element)
    if (a === undefined) {
      if (b !== undefined) this.added.addTree(this.#path, presenceOf(structure, b))
    } else if (b === undefined) this.removed.addTree(this.#path, presenceOf(structure, a))
    else this.both(structure, a, b)
    this.#path.pop()
  }

  #at(element: PathElement, act: () => void): void {
    this.#path.push(element)
    act()
    this.#path.pop()
  }
}

const allOf = (item: Json | Repeated | undefined): readonly Json[] =>
  item instanceof Repeated ? item.items : item === undefined ? [] : [item]
const fits = (structure: Structure, value: Json) => value === null || (structure.kind === 'list' ? Array.isArray(value) : isObject(value))
const isNothing = (value: Json) => value === null || (Array.isArray(value) && value.length === 0)
