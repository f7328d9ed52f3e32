/**
 * JSON as CEL values, read in place: nothing is converted before an expression reads it. A shape (shapes.ts) determines how the JSON at a
 * position is read, as the same string may be a string, a timestamp or bytes, and the same number an int or a double.
 */

import { deepEqual, getOwn, isObject, type Json, type JsonObject } from '../../lib/json-value.ts'
import { type CelType, opaqueType } from '../checker/types.ts'
import { equalValues } from './equality.ts'
import { type CelFault, CelList, CelMap, CelOpaque, type CelValue, noSuchOverload } from './values.ts'
import { countWork, currentEvaluation } from './work.ts'

/** Reads the JSON at a position. A value that does not fit is a fault, with the message of Kubernetes. */
export interface Shape {
  read(json: Json): CelValue
}

/** A field: its key in JSON, which may differ from its name in expressions, and its shape. */
export interface ShapeField {
  readonly key: string
  readonly shape: Shape
}

/** The fields of an object by name, and their names by key. */
export interface ShapeFields {
  readonly byName: ReadonlyMap<string, ShapeField>
  readonly nameByKey: ReadonlyMap<string, string>
}

/** The fields with their names by key. */
export function fieldsOf(byName: ReadonlyMap<string, ShapeField>): ShapeFields {
  return { byName, nameByKey: new Map(Array.from(byName, ([name, field]) => [field.key, name])) }
}

/**
 * The own value at a key. Only Object.prototype's functions and `__proto__` are found without being own, and no JSON value is a function.
 */
function ownValue(object: JsonObject, key: string): Json | undefined {
  const value = object[key]
  if (typeof value !== 'function' && key !== '__proto__') return value
  return getOwn(object, key)
}

/** The keys of large objects, which take long to list, cached during an evaluation. */
let listed = { evaluation: -1, keys: new WeakMap<JsonObject, readonly string[]>() }
const largeObject = 64

function keysOf(json: JsonObject): readonly string[] {
  if (listed.evaluation !== currentEvaluation()) listed = { evaluation: currentEvaluation(), keys: new WeakMap() }
  const known = listed.keys.get(json)
  if (known) return known
  const keys = Object.keys(json)
  countWork(keys.length)
  if (keys.length >= largeObject) listed.keys.set(json, keys)
  return keys
}

/** Whether two values are the same JSON: numbers by value, objects without regard to order. */
function sameJson(a: unknown, b: unknown): boolean {
  countWork()
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return deepEqual(a, b)
  if (Array.isArray(a)) return Array.isArray(b) && a.length === b.length && a.every((item, i) => sameJson(item, b[i]))
  if (Array.isArray(b) || !isObject(a) || !isObject(b)) return false
  const keys = Object.keys(a)
  return keys.length === Object.keys(b).length && keys.every(key => Object.hasOwn(b, key) && sameJson(a[key], b[key]))
}

/** A JSON array. */
export class JsonList extends CelList {
  readonly json: readonly Json[]
  readonly element: Shape
  constructor(json: readonly Json[], element: Shape) {
    super()
    this.json = json
    this.element = element
  }
  get size(): number {
    return this.json.length
  }
  at(index: number): CelValue {
    return this.element.read(this.json[index]!)
  }
}

/** A JSON object as a map with strings for keys. */
export class JsonMap extends CelMap {
  readonly json: JsonObject
  readonly value: Shape
  readonly #otherKeys: CelFault | undefined
  /** `otherKeys` is the result of looking up a key that is no string; undefined unless given. */
  constructor(json: JsonObject, value: Shape, otherKeys?: CelFault) {
    super()
    this.json = json
    this.value = value
    this.#otherKeys = otherKeys
  }
  get size(): number {
    return keysOf(this.json).length
  }
  find(key: CelValue): CelValue | undefined {
    if (typeof key !== 'string') return this.#otherKeys
    const json = ownValue(this.json, key)
    return json === undefined ? undefined : this.value.read(json)
  }
  keys(): readonly CelValue[] {
    return keysOf(this.json)
  }
}

/** A JSON object with declared fields; a field that is null is absent. */
export class JsonFields extends CelMap {
  readonly json: JsonObject
  readonly #fields: ShapeFields
  constructor(json: JsonObject, fields: ShapeFields) {
    super()
    this.json = json
    this.#fields = fields
  }
  get size(): number {
    return keysOf(this.json).length
  }
  find(name: CelValue): CelValue | undefined {
    if (typeof name !== 'string') return noSuchOverload
    const field = this.#fields.byName.get(name)
    if (!field) return undefined
    const json = ownValue(this.json, field.key)
    return json === undefined || json === null ? undefined : field.shape.read(json)
  }
  keys(): readonly CelValue[] {
    return keysOf(this.json).flatMap(key => this.#fields.nameByKey.get(key) ?? [])
  }
  override equalTo(other: CelValue): boolean | CelFault {
    if (!(other instanceof CelMap)) return noSuchOverload
    if (this.size !== other.size) return false
    for (const key of keysOf(this.json)) {
      countWork(4)
      const equal = this.#equalAt(key, other)
      if (equal !== true) return equal
    }
    return true
  }
  #equalAt(key: string, other: CelMap): boolean | CelFault {
    const name = this.#fields.nameByKey.get(key)
    if (name === undefined) {
      if (!(other instanceof JsonFields)) return noSuchOverload
      const json = getOwn(other.json, key)
      return json === undefined || sameJson(this.json[key], json)
    }
    const [mine, theirs] = [this.find(name), other.find(name)]
    if (mine === undefined || theirs === undefined) return mine === theirs
    return equalValues(mine, theirs)
  }
}

const preservedType = opaqueType('unknown')

/** JSON without a known type: it can only be compared. */
export class PreservedJson extends CelOpaque {
  readonly json: Json
  constructor(json: Json) {
    super()
    this.json = json
  }
  get type(): CelType {
    return preservedType
  }
  equalTo(other: CelValue): boolean {
    return sameJson(this.json, other instanceof PreservedJson || other instanceof JsonMap || other instanceof JsonList ? other.json : other)
  }
}
