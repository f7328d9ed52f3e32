/**
 * The values of CEL at run time.
 *
 * | CEL       | here                                                                                             |
 * |-----------|--------------------------------------------------------------------------------------------------|
 * | null      | null                                                                                             |
 * | bool      | boolean                                                                                          |
 * | int       | number where that is exact (never -0), else bigint: each int has one form, so `===` compares ints |
 * | uint      | CelUint                                                                                          |
 * | double    | CelDouble: a bare number is always an int, the common type in configuration                      |
 * | string    | string; sizes and indexes count code points                                                       |
 * | bytes     | Uint8Array                                                                                       |
 * | list, map | CelList, CelMap: built by an expression, or JSON that is read in place (json-values.ts)          |
 * | others    | CelTimestamp, CelDuration, CelOptional, CelTypeValue, and CelOpaque for types of libraries       |
 *
 * A failure is a CelFault, which is a value too, so that `&&`, `||` and comprehensions can absorb it. Nothing is thrown.
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

/** The part of an evaluation that implementations of functions can use. */
export interface EvaluationContext {
  /** Adds to the cost of the evaluation, which ends when it exceeds its limit. */
  charge(cost: number): void
}

/** A function of CEL itself: an implementation for each number of arguments. */
export interface Builtin {
  readonly nullary?: () => CelValue
  readonly unary?: (a: CelValue) => CelValue
  readonly binary?: (a: CelValue, b: CelValue) => CelValue
  readonly ternary?: (a: CelValue, b: CelValue, c: CelValue) => CelValue
}

/** An error of evaluation; the message is cel-go's. */
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

/**
 * A time between the years 1 and 9999: seconds since 1970 and nanoseconds after them; `offset`, in seconds east of UTC, is that of its
 * notation.
 */
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

/** An optional value. */
export class CelOptional {
  readonly value: CelValue | undefined
  constructor(value: CelValue | undefined) {
    this.value = value
  }
}

export const optionalNone = new CelOptional(undefined)

/** A type as a value; types with the same name at run time are equal, whatever their parameters. */
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
  /** The value in messages. */
  toString(): string {
    return this.type.name
  }
}

/** A list; the subclass decides how it holds its elements. */
export abstract class CelList {
  abstract readonly size: number
  /** The element at a position from 0 to size - 1. */
  abstract at(index: number): CelValue
  /** Replaces the comparison element by element. */
  equalTo?(other: CelValue): boolean | CelFault
  /** Replaces concatenation; `other` is a list. */
  plus?(other: CelList): CelValue
  /** Replaces the search for an equal element. */
  contains?(element: CelValue): boolean | CelFault
}

/** A map, or an object with fields. */
export abstract class CelMap {
  abstract readonly size: number
  /** The value at a key, undefined if there is none, a fault for an invalid key. */
  abstract find(key: CelValue): CelValue | undefined
  abstract keys(): readonly CelValue[]
  /** The type that `type(…)` returns. */
  get type(): CelType {
    return mapOfDyn
  }
  /** Replaces the comparison entry by entry. */
  equalTo?(other: CelValue): boolean | CelFault
  /** Replaces `find` for `in`. */
  has?(key: CelValue): boolean
}

/** A list of an array's elements. */
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

/** The accumulator list of a comprehension: appending changes it in place, which nothing else can see until the loop ends. */
export class GatheredList extends CelList {
  readonly elements: CelValue[] = []
  get size(): number {
    return this.elements.length
  }
  at(index: number): CelValue {
    return this.elements[index]!
  }
}

/** A map of entries in their original order. */
export class EntryMap extends CelMap {
  readonly #entries = new Map<MapKey, readonly [CelValue, CelValue]>()
  get size(): number {
    return this.#entries.size
  }
  /** Sets an entry while the map is built; a fault for an invalid key. */
  set(key: CelValue, value: CelValue): CelFault | undefined {
    const exact = mapKey(key)
    if (exact instanceof CelFault) return exact
    this.#entries.set(exact, [key, value])
    return undefined
  }
  /** Removes an entry while the map is built. */
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

/** The accumulator map of a comprehension, see GatheredList. */
export class GatheredMap extends EntryMap {}

type MapKey = string | boolean | null | number | bigint | object

// Ints are their own keys; uints and doubles, which must not collide with them, use ranges of bigints beyond all ints.
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

/** The keys under which an entry may be found: a number finds equal whole keys of the other numeric types. */
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

/** The canonical form of an int; the value must be within 64 bits. */
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

/** The number of code points of a string. */
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

/** The size of a string, bytes, list or map; undefined for other values. */
export function sizeOf(value: CelValue): number | undefined {
  if (typeof value === 'string') return textSize(value)
  if (value instanceof CelList || value instanceof CelMap) return value.size
  return value instanceof Uint8Array ? value.length : undefined
}
