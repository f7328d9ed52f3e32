// Field sets of values: the fields that a configuration names, and all fields of a value; and old sets fitted to a changed schema.
import { isObject, type Json, type JsonObject } from '../lib/json-value.ts'
import type { AnyType } from '../schema/types.ts'
import { EMPTY_SET, equalSets, type FieldSet, fieldSet, LEAF } from './field-set.ts'
import type { PathElement } from './path-element.ts'
import {
  elementOf,
  type ItemIdentity,
  itemElement,
  itemIdentity,
  type ListStructure,
  type MapStructure,
  type MessageStructure,
  partOf,
  type Structure,
  structureAt,
  structureOf,
} from './structure.ts'

/** The fields that an applied configuration names: values, items and entries, and messages only where they are empty. */
export function fieldSetOf(type: AnyType, value: Json): FieldSet {
  const { children } = named(structureOf(type), value)
  return children === undefined ? EMPTY_SET : fieldSet(false, children)
}

/**
 * The fields that are there, messages, lists and maps among them; the root counts as there. Items of a list that have the same
 * fields as the one before share its set, here and among names: it is written only once.
 */
export function presenceOf(structure: Structure, value: Json): FieldSet {
  if (structure.atomic || value === null || typeof value !== 'object') return LEAF
  const children = new Map<PathElement, FieldSet>()
  if (Array.isArray(value)) {
    if (structure.kind !== 'list') return LEAF
    let previous = LEAF
    for (const item of value) {
      const element = itemElement(structure, item)
      if (element === undefined) continue
      const there = children.has(element) ? LEAF : presenceOf(structure.item, item)
      previous = equalSets(previous, there) ? previous : there
      children.set(element, previous)
    }
  } else {
    if (structure.kind === 'list') return LEAF
    for (const key of Object.keys(value)) {
      const part = value[key]
      if (part !== undefined) children.set(elementOf(structure, key), presenceOf(partOf(structure, key), part))
    }
  }
  return children.size === 0 ? LEAF : fieldSet(true, children)
}

/** Items of which a list has more than one with the same identity. */
export class Repeated {
  readonly items: Json[] = []
}

/** The items of a set or keyed list by their keys. */
export function itemsByIdentity(list: ListStructure, items: readonly Json[]): Map<ItemIdentity, Json | Repeated> {
  const found = new Map<ItemIdentity, Json | Repeated>()
  for (const item of items) {
    const identity = itemIdentity(list, item)
    if (identity === undefined) continue
    const same = found.get(identity)
    if (same === undefined) found.set(identity, item)
    else if (same instanceof Repeated) same.items.push(item)
    else {
      const repeated = new Repeated()
      repeated.items.push(same, item)
      found.set(identity, repeated)
    }
  }
  return found
}

function named(structure: Structure, value: Json): FieldSet {
  if (structure.atomic) return LEAF
  if (structure.kind === 'list') return Array.isArray(value) ? namedItems(structure, value) : EMPTY_SET
  if (isObject(value)) return namedMembers(structure, value)
  return structure.kind === 'map' && structure.anything && value !== null ? LEAF : EMPTY_SET
}

function namedItems(list: ListStructure, items: readonly Json[]): FieldSet {
  if (items.length === 0) return EMPTY_SET
  const children = new Map<PathElement, FieldSet>()
  let previous = LEAF
  for (const item of items) {
    const element = itemElement(list, item)
    if (element === undefined) continue
    // Items that repeat a key are owned together, as if they were one atomic item.
    const set = children.has(element) ? LEAF : owning(named(list.item, item))
    previous = equalSets(previous, set) ? previous : set
    children.set(element, previous)
  }
  return fieldSet(false, children)
}

function namedMembers(structure: MessageStructure | MapStructure, value: JsonObject): FieldSet {
  const children = new Map<PathElement, FieldSet>()
  for (const key of Object.keys(value)) {
    const part = value[key]
    if (part === undefined) continue
    const below = named(partOf(structure, key), part)
    const isItself =
      part === null || structure.kind === 'map' || !structure.members.has(key) || (below.children === undefined && isEmptyObject(part))
    const node = isItself ? owning(below) : below
    if (node.owned || node.children !== undefined) children.set(elementOf(structure, key), node)
  }
  return children.size === 0 ? EMPTY_SET : fieldSet(false, children)
}

const owning = (set: FieldSet): FieldSet => (set.owned ? set : set.children === undefined ? LEAF : fieldSet(true, set.children))
const isEmptyObject = (value: Json) => isObject(value) && Object.keys(value).length === 0

/** The set with the fields that hold its fields made members too, so that removing all of one removes it. */
export function withMessages(type: AnyType, set: FieldSet): FieldSet {
  return withNamedFields(structureOf(type), set)
}

function withNamedFields(structure: Structure | undefined, set: FieldSet): FieldSet {
  if (set.children === undefined || structure === undefined || structure.atomic) return set
  let children: Map<PathElement, FieldSet> | undefined
  for (const [element, child] of set.children) {
    if (child.children === undefined) continue
    const inner = withNamedFields(structureAt(structure, element), child)
    const isField = structure.kind === 'message' && structure.byElement.has(element)
    const next = isField ? owning(inner) : inner
    if (next === child) continue
    children ??= new Map(set.children)
    children.set(element, next)
  }
  return children === undefined ? set : fieldSet(set.owned, children)
}

/** A set written under an older schema, fitted to this one: an owner of parts of a value that is atomic now owns the whole. */
export function fitToSchema(type: AnyType, set: FieldSet): FieldSet {
  return fit(structureOf(type), set)
}

function fit(structure: Structure, set: FieldSet): FieldSet {
  if (set.children === undefined || structure.kind === 'scalar') return set
  if (structure.atomic) return LEAF
  // Scalars have no parts to fit.
  if (structure.kind === 'map' && structure.value.kind === 'scalar') return set
  let children: Map<PathElement, FieldSet> | undefined
  for (const [element, child] of set.children) {
    if (child.children === undefined) continue
    const part = structureAt(structure, element)
    const fitted = part === undefined ? child : fit(part, child)
    if (fitted === child) continue
    children ??= new Map(set.children)
    children.set(element, fitted)
  }
  return children === undefined ? set : fieldSet(set.owned, children)
}
