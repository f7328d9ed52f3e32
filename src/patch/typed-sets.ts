// Field sets of values: what a configuration names, and what is there at all; and old sets fitted to a changed schema.
import { isObject, type Json, type JsonObject } from '../lib/json-value.ts'
import type { AnyType } from '../schema/types.ts'
import { EMPTY_SET, type FieldSet, LEAF, type Named, withNamedParents } from './field-set.ts'
import { fieldOf, type PathElement } from './path-element.ts'
import {
  elementOf,
  itemElement,
  type ListStructure,
  type MapStructure,
  type MessageStructure,
  partOf,
  type Structure,
  structureOf,
} from './structure.ts'

/** The fields that an applied configuration names: values, items and entries, and messages only where they are empty. */
export function fieldSetOf(type: AnyType, value: Json): FieldSet {
  const { children } = named(structureOf(type), value)
  return children === undefined ? EMPTY_SET : { owned: false, children }
}

/** The fields that are there, messages, lists and maps among them; the root counts as there. */
export function presenceOf(structure: Structure, value: Json): FieldSet {
  if (structure.atomic || value === null || typeof value !== 'object') return LEAF
  const children = new Map<PathElement, FieldSet>()
  if (Array.isArray(value)) {
    if (structure.kind !== 'list') return LEAF
    for (const [element, items] of itemsByElement(structure, value)) {
      children.set(element, items.length > 1 ? LEAF : presenceOf(structure.item, items[0]!))
    }
  } else {
    if (structure.kind === 'list') return LEAF
    for (const key of Object.keys(value)) {
      const part = value[key]
      if (part !== undefined) children.set(elementOf(structure, key), presenceOf(partOf(structure, key), part))
    }
  }
  return children.size === 0 ? LEAF : { owned: true, children }
}

/** The items of a set or keyed list under their path elements; more than one where the list repeats a key. */
export function itemsByElement(list: ListStructure, items: readonly Json[]): Map<PathElement, Json[]> {
  const found = new Map<PathElement, Json[]>()
  for (const item of items) {
    const at = itemElement(list, item)
    if (!at.ok) continue
    const same = found.get(at.element)
    if (same === undefined) found.set(at.element, [item])
    else same.push(item)
  }
  return found
}

function named(structure: Structure, value: Json): FieldSet {
  if (structure.atomic) return LEAF
  if (structure.kind === 'list') return Array.isArray(value) ? namedItems(structure, value) : EMPTY_SET
  return isObject(value) ? namedMembers(structure, value) : EMPTY_SET
}

function namedItems(list: ListStructure, items: readonly Json[]): FieldSet {
  if (items.length === 0) return EMPTY_SET
  const children = new Map<PathElement, FieldSet>()
  for (const [element, same] of itemsByElement(list, items)) {
    children.set(element, same.length > 1 ? LEAF : owning(named(list.item, same[0]!)))
  }
  return { owned: false, children }
}

function namedMembers(structure: MessageStructure | MapStructure, value: JsonObject): FieldSet {
  const children = new Map<PathElement, FieldSet>()
  for (const key of Object.keys(value)) {
    const part = value[key]
    if (part === undefined) continue
    const below = named(partOf(structure, key), part)
    const isItself = part === null || isEmptyObject(part) || structure.kind === 'map' || !structure.members.has(key)
    const node = isItself ? owning(below) : below
    if (node.owned || node.children !== undefined) children.set(elementOf(structure, key), node)
  }
  return children.size === 0 ? EMPTY_SET : { owned: false, children }
}

const owning = (set: FieldSet): FieldSet => (set.owned ? set : set.children === undefined ? LEAF : { owned: true, children: set.children })
const isEmptyObject = (value: Json) => isObject(value) && Object.keys(value).length === 0

/** The set with the messages that hold its fields made members too, so that removing them all removes the message. */
export function withMessages(type: AnyType, set: FieldSet): FieldSet {
  return withNamedParents<Structure>(set, structureOf(type), below)
}

function below(structure: Structure, element: PathElement): Named<Structure> {
  const name = fieldOf(element)
  if (name === undefined)
    return { isField: false, schema: structure.kind === 'list' && element.startsWith('k:') ? structure.item : undefined }
  if (structure.kind === 'map') return { isField: false, schema: structure.value }
  if (structure.kind !== 'message') return { isField: false, schema: undefined }
  const member = structure.members.get(name)
  return { isField: member !== undefined, schema: member?.structure }
}

/** A set written under an older schema, fitted to this one: who owned parts of what is atomic now owns the whole. */
export function fitToSchema(type: AnyType, set: FieldSet): FieldSet {
  return fit(structureOf(type), set)
}

function fit(structure: Structure, set: FieldSet): FieldSet {
  if (set.children === undefined || structure.kind === 'scalar') return set
  if (structure.atomic) return LEAF
  let children: Map<PathElement, FieldSet> | undefined
  for (const [element, child] of set.children) {
    const part = below(structure, element).schema
    const fitted = part === undefined ? child : fit(part, child)
    if (fitted === child) continue
    children ??= new Map(set.children)
    children.set(element, fitted)
  }
  return children === undefined ? set : { owned: set.owned, children }
}
