/**
 * A value on its way from old to new: the part of the stored value that each part of a written value came from. Members correlate by
 * name, items of keyed lists by their keys; the items of any other list do not.
 */
import { deepEqual, isObject, type Json, type JsonObject } from '../lib/json-value.ts'
import { memberSchema, type Structural } from './schema.ts'

export class Correlation {
  readonly schema: Structural
  readonly value: Json
  readonly old: Json
  #equal: boolean | undefined
  #children: Map<string | number, Correlation | undefined> | undefined
  #oldItems: Map<string, JsonObject> | undefined

  constructor(schema: Structural, value: Json, old: Json) {
    this.schema = schema
    this.value = value
    this.old = old
  }

  /** The member of this name with its old value; undefined where it is new or has no schema. */
  key(name: string): Correlation | undefined {
    return this.#child(name, () => {
      const { value, old } = this
      if (!isObject(value) || !isObject(old) || !Object.hasOwn(value, name) || !Object.hasOwn(old, name)) return undefined
      const schema = memberSchema(this.schema, name)
      return schema && new Correlation(schema, value[name]!, old[name]!)
    })
  }

  /** The item at this index with its old value; undefined where nothing old has its keys. */
  index(index: number): Correlation | undefined {
    const { items, list } = this.schema
    const { value, old } = this
    if (list !== 'map' || items === undefined || !Array.isArray(value) || !Array.isArray(old)) return undefined
    return this.#child(index, () => {
      this.#oldItems ??= itemsByKey(this.schema, old)
      const key = keyOf(this.schema, value[index]!)
      const before = key === undefined ? undefined : this.#oldItems.get(key)
      return before && new Correlation(items, value[index]!, before)
    })
  }

  /** Whether nothing changed; the order of a keyed list is no change, a member without a schema always is one. */
  get unchanged(): boolean {
    this.#equal ??= this.#compare()
    return this.#equal
  }

  #compare(): boolean {
    const { value, old } = this
    if (Array.isArray(value)) {
      if (!Array.isArray(old) || old.length !== value.length) return false
      return this.schema.list === 'map' ? value.every((_, i) => this.index(i)?.unchanged === true) : deepEqual(value, old)
    }
    if (!isObject(value)) return deepEqual(value, old)
    if (!isObject(old)) return false
    const names = Object.keys(value)
    return names.length === Object.keys(old).length && names.every(name => this.key(name)?.unchanged === true)
  }

  #child(at: string | number, find: () => Correlation | undefined): Correlation | undefined {
    this.#children ??= new Map()
    let child = this.#children.get(at)
    if (child === undefined && !this.#children.has(at)) this.#children.set(at, (child = find()))
    return child
  }
}

/** The text that identifies an item of a keyed list; undefined where a key is missing or no plain value. */
export function keyOf({ listKeys }: Structural, item: Json): string | undefined {
  if (!isObject(item) || listKeys.length === 0) return undefined
  let text = ''
  for (const name of listKeys) {
    const value = Object.hasOwn(item, name) ? item[name]! : null
    if (typeof value === 'object') return undefined
    // The length tells where a text ends; nothing else begins with a quote.
    text += typeof value === 'string' ? `"${value.length}:${value}` : `\0${value}`
  }
  return text
}

/** The items of a keyed list by their keys, the first of those that share one. */
export function itemsByKey(schema: Structural, list: readonly Json[]): Map<string, JsonObject> {
  const items = new Map<string, JsonObject>()
  for (const item of list) {
    const key = keyOf(schema, item)
    if (key !== undefined && !items.has(key)) items.set(key, item as JsonObject)
  }
  return items
}
