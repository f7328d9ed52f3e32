// The structure of a type, for apply and strategic merge: its parts by name, how list items are identified, which parts are atomic.

import { compareText } from '../lib/go-text.ts'
import { deepEqual, isObject, type Json, type JsonObject } from '../lib/json-value.ts'
import { conform } from '../schema/conform.ts'
import type { AnyType, Field, Flags, ScalarName } from '../schema/types.ts'
import { fieldElement, keyElement, type PathElement, singleKeyElement, valueElement } from './path-element.ts'

export type Structure = ScalarStructure | MessageStructure | MapStructure | ListStructure
export type ScalarStructure = { readonly kind: 'scalar'; readonly atomic: true; readonly name: ScalarName }
export type MessageStructure = {
  readonly kind: 'message'
  readonly atomic: boolean
  readonly name: string
  readonly members: ReadonlyMap<string, Member>
  /** The same by their path elements. */
  readonly byElement: ReadonlyMap<PathElement, Member>
  /** The structure of undeclared members, where there may be any. */
  readonly others?: Structure
}
export type MapStructure = {
  readonly kind: 'map'
  readonly atomic: boolean
  readonly value: Structure
  /** The value may as well be no map. */
  readonly anything?: true
}
export type ListStructure = {
  readonly kind: 'list'
  readonly atomic: boolean
  readonly item: Structure
  /** The key fields of items; none for a set of scalar values. */
  readonly keys: readonly ListKey[]
}
type ListKey = { readonly name: string; readonly default: Json | undefined }

/** A field of a message. Its structure is looked up when first asked for, so types may contain themselves. */
export class Member {
  readonly name: string
  readonly element: PathElement
  readonly #type: AnyType
  #structure: Structure | undefined

  constructor(name: string, field: Field) {
    this.name = name
    this.element = fieldElement(name)
    this.#type = field[1]
  }

  get structure(): Structure {
    this.#structure ??= structureOf(this.#type)
    return this.#structure
  }
  get flags(): Flags {
    return this.#type.flags
  }
  get type(): AnyType {
    return this.#type
  }
}

const known = new WeakMap<AnyType, Structure>()

/** The structure of a type, worked out once. */
export function structureOf(type: AnyType): Structure {
  let structure = known.get(type)
  if (structure === undefined) {
    structure = derive(type)
    known.set(type, structure)
  }
  return structure
}

function derive({ shape, flags }: AnyType): Structure {
  const atomic = flags.atomic === true
  switch (shape.kind) {
    case 'scalar':
      return shape.name === 'raw' && flags.merge ? DEDUCED : { kind: 'scalar', atomic: true, name: shape.name }
    case 'message': {
      const members = Object.entries(shape.fields).map(([name, field]) => new Member(name, field))
      return {
        kind: 'message',
        atomic,
        name: shape.name,
        members: new Map(members.map(member => [member.name, member])),
        byElement: new Map(members.map(member => [member.element, member])),
        ...(shape.others && { others: structureOf(shape.others) }),
      }
    }
    case 'map':
      return { kind: 'map', atomic, value: structureOf(shape.value) }
    case 'either':
      return DEDUCED
    case 'list': {
      const keys = typeof shape.list === 'string' ? [] : shape.list.map(name => ({ name, default: keyDefault(shape.item, name) }))
      keys.sort((a, b) => compareText(a.name, b.name))
      return { kind: 'list', atomic: atomic || shape.list === 'atomic', item: structureOf(shape.item), keys }
    }
  }
}

/** A key that an item leaves out reads as the default that OpenAPI shows, as its default, or as zero where the field is always written. */
function keyDefault(item: AnyType, name: string): Json | undefined {
  if (item.shape.kind !== 'message' || !Object.hasOwn(item.shape.fields, name)) return undefined
  const { openapiDefault, default: filled } = item.shape.fields[name]![1].flags
  return ((openapiDefault?.value ?? filled) as Json | undefined) ?? emptyValueOf(item)[name] ?? undefined
}

/**
 * Any JSON of which every object merges field by field and every list is atomic: what `raw.mergedBy()` stands for, and
 * custom kinds without a schema.
 */
const DEDUCED: Structure = (() => {
  const structure = { kind: 'map', atomic: false, anything: true } as { kind: 'map'; atomic: false; anything: true; value: Structure }
  structure.value = structure
  return Object.freeze(structure)
})()

/** Any JSON, for fields that the type does not know. */
export const ANY: Structure = Object.freeze({ kind: 'scalar', atomic: true, name: 'raw' })

/** The structure of a field by its name, in a message or a map. */
export function partOf(structure: MessageStructure | MapStructure, name: string): Structure {
  return structure.kind === 'map' ? structure.value : (structure.members.get(name)?.structure ?? structure.others ?? ANY)
}

/** The path element of a field of a message or an entry of a map. */
export function elementOf(structure: MessageStructure | MapStructure, name: string): PathElement {
  return structure.kind === 'map' ? fieldElement(name) : (structure.members.get(name)?.element ?? fieldElement(name))
}

/** The structure at a path element, where the type has one. */
export function structureAt(structure: Structure, element: PathElement): Structure | undefined {
  switch (structure.kind) {
    case 'message':
      return structure.byElement.get(element)?.structure ?? structure.others
    case 'map':
      return structure.value
    case 'list':
      return structure.item
    default:
      return undefined
  }
}

/** The path element that identifies an item of a set or keyed list; undefined for one that has none. */
export function itemElement(list: ListStructure, item: Json | undefined): PathElement | undefined {
  if (typeof item !== 'object') return list.keys.length === 0 && item !== undefined ? valueElement(item) : undefined
  if (item === null || Array.isArray(item) || list.keys.length === 0) return undefined
  const [first] = list.keys
  if (list.keys.length === 1) {
    const value = keyValue(item, first!)
    return value === undefined ? undefined : singleKeyElement(first!.name, value)
  }
  const members: [string, Json][] = []
  for (const key of list.keys) {
    const value = keyValue(item, key)
    if (value !== undefined) members.push([key.name, value])
  }
  return members.length === 0 ? undefined : keyElement(members)
}

/** The key of an item in a set or keyed list: a value itself, which costs less than its path element, or that element. */
export type ItemIdentity = Exclude<Json, null | Json[] | JsonObject>

/** Undefined where the item has no path element. */
export const itemIdentity = (list: ListStructure, item: Json): ItemIdentity | undefined =>
  typeof item !== 'object' && list.keys.length === 0 ? item : itemElement(list, item)

export const elementOfIdentity = (list: ListStructure, identity: ItemIdentity): PathElement =>
  list.keys.length === 0 ? valueElement(identity) : (identity as PathElement)

function keyValue(item: JsonObject, { name, default: fallback }: ListKey): Json | undefined {
  return (Object.hasOwn(item, name) ? item[name] : undefined) ?? fallback
}

/** Whether two items of a set or keyed list are the same item; neither need have a path element. */
export function isSameItem(list: ListStructure, a: Json, b: Json): boolean {
  if (!isObject(a) || !isObject(b)) return a === b
  return list.keys.length > 0 && list.keys.every(key => deepEqual(keyValue(a, key), keyValue(b, key)))
}

/** Whether an item of a set or keyed list has a path element. */
export function isIdentified(list: ListStructure, item: Json): boolean {
  return isObject(item) ? list.keys.some(key => keyValue(item, key) !== undefined) : list.keys.length === 0 && typeof item !== 'object'
}

/** Why an item has no path element. */
export function itemFault(list: ListStructure, item: Json | undefined): string {
  if (list.keys.length === 0) {
    if (item === null || item === undefined) return "associative list without keys has an element that's an explicit null"
    if (Array.isArray(item)) return 'not supported: associative list with lists as elements'
    return "associative list without keys has an element that's a map type"
  }
  if (item === null || item === undefined) return 'associative list with keys may not have a null element'
  if (!isObject(item)) return 'associative list with keys may not have non-map elements'
  const names = list.keys.map(key => JSON.stringify(key.name)).join(' ')
  return `associative list with keys has an element that omits all key fields [${names}] (and doesn't have default values for any key fields)`
}

const blanks = new WeakMap<AnyType, JsonObject>()

/**
 * The object of a type before anything is set: fields that are always written are there as zero, messages that are never absent
 * are there empty. A create is compared with it, so that only what differs from it has a manager. It is shared and frozen.
 */
export function emptyValueOf(type: AnyType): JsonObject {
  let blank = blanks.get(type)
  if (blank === undefined) {
    blank = deepFreeze(conform(type, {}).value as JsonObject)
    blanks.set(type, blank)
  }
  return blank
}

function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value
  for (const part of Object.values(value)) deepFreeze(part)
  return Object.freeze(value)
}
