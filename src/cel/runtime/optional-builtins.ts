/** The functions on optional values, and the one that accumulates maps. */

import { mapInsert } from '../syntax/operators.ts'
import { showValue } from './show-value.ts'
import {
  type Builtin,
  CelDouble,
  CelDuration,
  CelFault,
  CelList,
  CelMap,
  CelOptional,
  CelTimestamp,
  CelUint,
  type CelValue,
  EntryMap,
  elementsOf,
  fault,
  GatheredMap,
  listOf,
  noSuchOverload,
  optionalNone,
} from './values.ts'
import { countWork } from './work.ts'

const noneDereferenced = fault('optional.none() dereference')

function dereference(value: CelValue): CelValue {
  if (!(value instanceof CelOptional)) return noSuchOverload
  return value.value === undefined ? noneDereferenced : value.value
}

/** Whether a value is the zero value of its type. */
function isZero(value: CelValue): boolean {
  if (value === null || value === false || value === 0 || value === '') return true
  if (value instanceof CelDouble) return value.value === 0
  if (value instanceof CelUint) return value.value === 0n
  if (value instanceof CelList || value instanceof CelMap) return value.size === 0
  if (value instanceof Uint8Array) return value.length === 0
  if (value instanceof CelDuration) return value.nanos === 0
  return value instanceof CelTimestamp && value.seconds === -62_135_596_800 && value.nanos === 0
}

function unwrap(list: CelValue): CelValue {
  if (!(list instanceof CelList)) return noSuchOverload
  const values: CelValue[] = []
  for (const element of elementsOf(list)) {
    countWork()
    if (!(element instanceof CelOptional)) return fault(`value ${showValue(element)} is not optional`)
    if (element.value !== undefined) values.push(element.value)
  }
  return listOf(values)
}

const endOf = (index: (size: number) => number): Builtin => ({
  unary(list) {
    if (!(list instanceof CelList)) return noSuchOverload
    return list.size === 0 ? optionalNone : new CelOptional(list.at(index(list.size)))
  },
})

/** The map with one more entry; the accumulator of a comprehension grows in place instead. */
function insert(map: CelValue, key: CelValue, value: CelValue): CelValue {
  if (!(map instanceof CelMap)) return noSuchOverload
  if (map.find(key) !== undefined) return fault(`insert failed: key ${showValue(key)} already exists`)
  const grown = map instanceof GatheredMap ? map : copyOf(map)
  return grown.set(key, value) ?? grown
}

function copyOf(map: CelMap): EntryMap {
  const copy = new EntryMap()
  for (const key of map.keys()) copy.set(key, map.find(key)!)
  return copy
}

function insertAll(map: CelValue, added: CelValue): CelValue {
  if (!(map instanceof CelMap) || !(added instanceof CelMap)) return noSuchOverload
  let grown: CelValue = map
  for (const key of added.keys()) {
    grown = insert(grown, key, added.find(key)!)
    if (grown instanceof CelFault) return grown
  }
  return grown
}

export const optionalBuiltins: ReadonlyMap<string, Builtin> = new Map<string, Builtin>([
  ['optional.of', { unary: a => new CelOptional(a) }],
  ['optional.ofNonZeroValue', { unary: a => (isZero(a) ? optionalNone : new CelOptional(a)) }],
  ['optional.none', { nullary: () => optionalNone }],
  ['value', { unary: dereference }],
  ['hasValue', { unary: a => (a instanceof CelOptional ? a.value !== undefined : noSuchOverload) }],
  ['first', endOf(() => 0)],
  ['last', endOf(size => size - 1)],
  ['optional.unwrap', { unary: unwrap }],
  ['unwrapOpt', { unary: unwrap }],
  [mapInsert, { ternary: insert, binary: insertAll }],
])
