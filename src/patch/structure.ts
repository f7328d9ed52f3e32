// What apply and strategic merge need to know of a type: its parts by name, how lists tell items apart, what is atomic.
import { isObject, type Json, type JsonObject } from '../lib/json-value.ts'
import type { AnyType, Field, Flags, ScalarName } from '../schema/types.ts'
import { compareText } from './go-text.ts'
import { fieldElement, keyElement, type PathElement, valueElement } from './path-element.ts'

export type Structure = ScalarStructure | MessageStructure | MapStructure | ListStructure
export type ScalarStructure = { readonly kind: 'scalar'; readonly atomic: true; readonly name: ScalarName }
export type MessageStructure = {
  readonly kind: 'message'
  readonly atomic: boolean
  readonly name: string
  readonly members: ReadonlyMap<string, Member>
}
export type MapStructure = { readonly kind: 'map'; readonly atomic: boolean; readonly value: Structure }
export type ListStructure = {
  readonly kind: 'list'
  readonly atomic: boolean
  readonly item: Structure
  /** The fields that tell items apart, by name; none for a set of plain values. */
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
      return { kind: 'scalar', atomic: true, name: shape.name }
    case 'message':
      return {
        kind: 'message',
        atomic,
        name: shape.name,
        members: new Map(Object.entries(shape.fields).map(([name, field]) => [name, new Member(name, field)])),
      }
    case 'map':
      return { kind: 'map', atomic, value: structureOf(shape.value) }
    case 'list': {
      const keys = typeof shape.list === 'string' ? [] : shape.list.map(name => ({ name, default: keyDefault(shape.item, name) }))
      keys.sort((a, b) => compareText(a.name, b.name))
      return { kind: 'list', atomic: atomic || shape.list === 'atomic', item: structureOf(shape.item), keys }
    }
  }
}

/** A key that an item leaves out reads as its default, or as zero where the field is always written. */
function keyDefault(item: AnyType, name: string): Json | undefined {
  if (item.shape.kind !== 'message' || !Object.hasOwn(item.shape.fields, name)) return undefined
  const type = item.shape.fields[name]![1]
  return (type.flags.default as Json | undefined) ?? (type.flags.always ? zeroOf(type) : undefined)
}

/** Any JSON, for fields that the type does not know. */
export const ANY: Structure = Object.freeze({ kind: 'scalar', atomic: true, name: 'raw' })

/** The structure of what a field name leads to, in a message or a map. */
export function partOf(structure: MessageStructure | MapStructure, name: string): Structure {
  return structure.kind === 'map' ? structure.value : (structure.members.get(name)?.structure ?? ANY)
}

/** The path element of a field of a message or an entry of a map. */
export function elementOf(structure: MessageStructure | MapStructure, name: string): PathElement {
  return structure.kind === 'map' ? fieldElement(name) : (structure.members.get(name)?.element ?? fieldElement(name))
}

export type ItemElement = { readonly ok: true; readonly element: PathElement } | { readonly ok: false; readonly message: string }

/** The path element that tells an item of a set or keyed list from the others, or why it has none. */
export function itemElement(list: ListStructure, item: Json | undefined): ItemElement {
  if (list.keys.length === 0) return setItem(item)
  if (item === null || item === undefined) return fault('associative list with keys may not have a null element')
  if (!isObject(item)) return fault('associative list with keys may not have non-map elements')
  const members: [string, Json][] = []
  for (const { name, default: fallback } of list.keys) {
    const value = (Object.hasOwn(item, name) ? item[name] : undefined) ?? fallback
    if (value !== undefined) members.push([name, value])
  }
  if (members.length > 0) return { ok: true, element: keyElement(members) }
  const names = list.keys.map(key => JSON.stringify(key.name)).join(' ')
  return fault(
    `associative list with keys has an element that omits all key fields [${names}] (and doesn't have default values for any key fields)`,
  )
}

function setItem(item: Json | undefined): ItemElement {
  if (item === null || item === undefined) return fault("associative list without keys has an element that's an explicit null")
  if (Array.isArray(item)) return fault('not supported: associative list with lists as elements')
  if (isObject(item)) return fault("associative list without keys has an element that's a map type")
  return { ok: true, element: valueElement(item) }
}

const fault = (message: string): ItemElement => ({ ok: false, message })

/**
 * The object of a type before anything is set: what is always written is there as zero, messages that are never absent
 * are there empty. A create is compared with it, so that only what differs from it has an owner.
 */
export function emptyValueOf(type: AnyType): JsonObject {
  const out: JsonObject = {}
  if (type.shape.kind !== 'message') return out
  for (const [name, [, part]] of Object.entries(type.shape.fields)) {
    if (part.flags.orEmpty && part.shape.kind === 'message') out[name] = emptyValueOf(part)
    else if (part.flags.always) out[name] = zeroOf(part)
  }
  return out
}

function zeroOf(type: AnyType): Json {
  if (type.shape.kind !== 'scalar') return null
  if (type.flags.optional) return null
  switch (type.shape.name) {
    case 'bool':
      return false
    case 'int32':
    case 'int64':
    case 'double':
    case 'intOrString':
      return 0
    case 'quantity':
      return '0'
    case 'string':
      return ''
    case 'duration':
      return '0s'
    default:
      return null
  }
}
