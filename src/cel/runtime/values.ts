/**
 * The values of CEL at run time.
 *
 * | CEL       | here                                                                                             |
 * |-----------|--------------------------------------------------------------------------------------------------|
 * | null      | null                                                                                             |
 * | bool      | boolean                                                                                          |
 * | int       | number where that is exact (never -0), else bigint: each int has one form, so `===` compares ints |
 * | uint      | CelUint                                                                                          |
 * | double    | CelDouble: a bare number is always an int, which is what configuration is full of                |
 * | string    | string; sizes and indexes count code points                                                       |
 * | bytes     | Uint8Array                                                                                       |
 * | list, map | CelList, CelMap: gathered by an expression, or JSON that is read in place (json-values.ts)       |
 * | others    | CelTimestamp, CelDuration, CelOptional, CelTypeValue, and CelOpaque for what libraries add       |
 *
 * What fails gives a CelFault: a value too, so that `&&`, `||` and comprehensions can absorb it. Nothing is thrown.
 */

import {
  boolType,
  bytesType,
  type CelType,
  doubleType,
  durationType,
  dynType,
  errorType,
  intType,
  listOfDyn,
  mapOfDyn,
  nullType,
  optionalType,
  stringType,
  timestampType,
  typeType,
  uintType,
} from '../checker/types.ts'
import { countWork } from './work.ts'

/** A 64-bit integer: a number within the safe range, a bigint beyond it. */
export type CelInt = number | bigint

export type CelValue =
  | null
  | boolean
  | CelInt
  | string
  | Uint8Array
  | CelUint
  | CelDouble
  | CelTimestamp
  | CelDuration
  | CelList
  | CelMap
  | CelOptional
  | CelTypeValue
  | CelOpaque
  | CelFault

/** What the implementation of a function may ask of the evaluation that calls it. */
export interface EvaluationContext {
  /** Adds to the cost of the evaluation, which ends when its budget is spent. */
  charge(cost: number): void
}

/** A function of CEL itself: an implementation for each number of arguments that it takes. */
export interface Builtin {
  readonly nullary?: () => CelValue
  readonly unary?: (a: CelValue) => CelValue
  readonly binary?: (a: CelValue, b: CelValue) => CelValue
  readonly ternary?: (a: CelValue, b: CelValue, c: CelValue) => CelValue
}

/** An error of evaluation; the message is the one cel-go gives. */
export class CelFault {
  readonly message: string
  constructor(message: string) {
    this.message = message
  }
}

/** An error value. */
export const fault = (message: string): CelFault => new CelFault(message)

export const noSuchOverload = fault('no such overload')

export class CelUint {
  readonly value: bigint
  constructor(value: bigint) {
    this.value = value
  }
}

export class CelDouble {
  readonly value: number
  constructor(value: number) {
    this.value = value
  }
}

/** A moment between the years 1 and 9999: seconds since 1970 and nanoseconds after them; `offset`, in seconds east, is how it was written. */
export class CelTimestamp {
  readonly seconds: number
  readonly nanos: number
  readonly offset: number
  constructor(seconds: number, nanos: number, offset = 0) {
    this.seconds = seconds
    this.nanos = nanos
    this.offset = offset
  }
}

export class CelDuration {
  readonly nanos: CelInt
  constructor(nanos: CelInt) {
    this.nanos = nanos
  }
}

/** A value or none. */
export class CelOptional {
  readonly value: CelValue | undefined
  constructor(value: CelValue | undefined) {
    this.value = value
  }
}

export const optionalNone = new CelOptional(undefined)

/** A type as a value; types with the same name at run time are equal, whatever they are made of. */
export class CelTypeValue {
  readonly type: CelType
  constructor(type: CelType) {
    this.type = type
  }
}

/** A value of a library's own type. */
export abstract class CelOpaque {
  abstract readonly type: CelType
  /** Whether it equals another value, or a fault when they cannot be compared. */
  abstract equalTo(other: CelValue): boolean | CelFault
  /** How messages show it. */
  toString(): string {
    return this.type.name
  }
}

/** A list; what it is made of is up to the subclass. */
export abstract class CelList {
  abstract readonly size: number
  /** The element at a position from 0 to size - 1. */
  abstract at(index: number): CelValue
  /** Takes the place of comparing element by element. */
  equalTo?(other: CelValue): boolean | CelFault
  /** Takes the place of appending; `other` is a list. */
  plus?(other: CelList): CelValue
  /** Takes the place of searching for an equal element. */
  contains?(element: CelValue): boolean | CelFault
}

/** A map, or an object with fields. */
export abstract class CelMap {
  abstract readonly size: number
  /** The value at a key, undefined if there is none, a fault if the key cannot be one. */
  abstract find(key: CelValue): CelValue | undefined
  abstract keys(): readonly CelValue[]
  /** The type that `type(…)` tells. */
  get type(): CelType {
    return mapOfDyn
  }
  /** Takes the place of comparing entry by entry. */
  equalTo?(other: CelValue): boolean | CelFault
  /** Takes the place of finding a value when only `in` is asked for. */
  has?(key: CelValue): boolean
}

/** A list of values at hand. */
export class ArrayList extends CelList {
  readonly elements: readonly CelValue[]
  constructor(elements: readonly CelValue[]) {
    super()
    this.elements = elements
  }
  get size(): number {
    return this.elements.length
  }
  at(index: number): CelValue {
    return this.elements[index]!
  }
}

/** A list that a comprehension gathers: appending to it changes it, which nothing else can see until the loop is over. */
export class GatheredList extends CelList {
  readonly elements: CelValue[] = []
  get size(): number {
    return this.elements.length
  }
  at(index: number): CelValue {
    return this.elements[index]!
  }
}

/** A map of entries at hand, in the order they were given. */
export class EntryMap extends CelMap {
  readonly #entries = new Map<MapKey, readonly [CelValue, CelValue]>()
  get size(): number {
    return this.#entries.size
  }
  /** Sets an entry while the map is made; a fault tells that the key cannot be one. */
  set(key: CelValue, value: CelValue): CelFault | undefined {
    const exact = mapKey(key)
    if (exact instanceof CelFault) return exact
    this.#entries.set(exact, [key, value])
    return undefined
  }
  /** Drops an entry while the map is made. */
  delete(key: CelValue): void {
    const exact = mapKey(key)
    if (!(exact instanceof CelFault)) this.#entries.delete(exact)
  }
  find(key: CelValue): CelValue | undefined {
    if (typeof key === 'string') return this.#entries.get(key)?.[1]
    for (const exact of lookups(key)) {
      const entry = this.#entries.get(exact)
      if (entry) return entry[1]
    }
    return undefined
  }
  keys(): readonly CelValue[] {
    return Array.from(this.#entries.values(), entry => entry[0])
  }
}

/** A map that a comprehension gathers, see GatheredList. */
export class GatheredMap extends EntryMap {}

type MapKey = string | boolean | null | number | bigint | object

// Ints are keys as they are; uints and doubles, which must not fall together with them, go to ranges of bigints no int is in.
const uintKeys = -(1n << 64n)
const doubleKeys = -(1n << 66n)
const doubleBits = new DataView(new ArrayBuffer(8))

function mapKey(key: CelValue): MapKey | CelFault {
  if (typeof key !== 'object' || key === null) return key
  if (key instanceof CelUint) return uintKeys - key.value
  if (key instanceof CelDouble) return doubleKey(key.value)
  if (key instanceof Uint8Array) return fault('internal error: runtime error: hash of unhashable type types.Bytes')
  return key
}

function doubleKey(value: number): bigint {
  doubleBits.setFloat64(0, value === 0 ? 0 : value)
  return doubleKeys - doubleBits.getBigUint64(0)
}

/** The keys under which an entry may be: a number finds whole keys of the other numeric types that equal it. */
function lookups(key: CelValue): readonly MapKey[] {
  if (typeof key === 'number') return key < 0 ? [key] : [key, uintKeys - BigInt(key)]
  if (typeof key === 'bigint') return key < 0n ? [key] : [key, uintKeys - key]
  if (key instanceof CelUint) return [uintKeys - key.value, intOf(key.value)]
  if (key instanceof CelDouble) {
    if (!Number.isInteger(key.value) || Math.abs(key.value) >= 2 ** 64) return [doubleKey(key.value)]
    const whole = BigInt(key.value)
    return [doubleKey(key.value), intOf(whole), uintKeys - whole]
  }
  const exact = mapKey(key)
  return exact instanceof CelFault ? [] : [exact]
}

/** The one form of an int; the value must be within 64 bits. */
export function intOf(value: bigint): CelInt {
  return value >= -9007199254740991n && value <= 9007199254740991n ? Number(value) : value
}

/** Whether the value is an int. */
export const isInt = (value: CelValue): value is CelInt => typeof value === 'number' || typeof value === 'bigint'

/** A list of values. */
export const listOf = (elements: readonly CelValue[]): CelList => new ArrayList(elements)

/** A map of entries; later ones win. Keys must be strings, bools, ints or uints. */
export function mapOf(entries: Iterable<readonly [CelValue, CelValue]>): CelMap {
  const map = new EntryMap()
  for (const [key, value] of entries) map.set(key, value)
  return map
}

/** The elements of a list. */
export function* elementsOf(list: CelList): Generator<CelValue, void, undefined> {
  for (let i = 0; i < list.size; i++) yield list.at(i)
}

const optionalOfDyn = optionalType(dynType)

/** The type of a value as known at run time: elements of lists and maps are dyn. */
export function runtimeType(value: CelValue): CelType {
  switch (typeof value) {
    case 'boolean':
      return boolType
    case 'number':
    case 'bigint':
      return intType
    case 'string':
      return stringType
  }
  if (value === null) return nullType
  if (value instanceof CelList) return listOfDyn
  if (value instanceof CelMap || value instanceof CelOpaque) return value.type
  if (value instanceof CelDouble) return doubleType
  if (value instanceof CelUint) return uintType
  if (value instanceof Uint8Array) return bytesType
  if (value instanceof CelTimestamp) return timestampType
  if (value instanceof CelDuration) return durationType
  if (value instanceof CelOptional) return optionalOfDyn
  return value instanceof CelFault ? errorType : typeType
}

/** How many code points a text has. */
export function textSize(text: string): number {
  let size = text.length
  if (size > 64) countWork(size >> 4)
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    if (unit >= 0xd800 && unit <= 0xdbff && i + 1 < text.length && (text.charCodeAt(i + 1) & 0xfc00) === 0xdc00) {
      size--
      i++
    }
  }
  return size
}

/** The size of a text, bytes, list or map; undefined for what has none. */
export function sizeOf(value: CelValue): number | undefined {
  if (typeof value === 'string') return textSize(value)
  if (value instanceof CelList || value instanceof CelMap) return value.size
  return value instanceof Uint8Array ? value.length : undefined
}
