/** Kubernetes' own functions on lists: isSorted, sum, min, max, indexOf, lastIndexOf and includes. */

import type { Library } from '../checker/library.ts'
import {
  boolType,
  bytesType,
  type CelType,
  doubleType,
  durationType,
  dynType,
  intType,
  listType,
  stringType,
  timestampType,
  typeParam,
  uintType,
} from '../checker/types.ts'
import { compareValues, equalValues } from '../runtime/equality.ts'
import { addInt, checkedUint, durationOf } from '../runtime/int64.ts'
import {
  CelDouble,
  CelDuration,
  CelFault,
  CelList,
  CelUint,
  type CelValue,
  elementsOf,
  fault,
  isInt,
  noSuchOverload,
} from '../runtime/values.ts'
import { wholeTraversal } from './call-costs.ts'
import { fn, member } from './declare.ts'

const summable: readonly (readonly [string, CelType, CelValue])[] = [
  ['int', intType, 0],
  ['uint', uintType, new CelUint(0n)],
  ['double', doubleType, new CelDouble(0)],
  ['duration', durationType, new CelDuration(0)],
]

const comparable: readonly (readonly [string, CelType])[] = [
  ['int', intType],
  ['uint', uintType],
  ['double', doubleType],
  ['bool', boolType],
  ['duration', durationType],
  ['timestamp', timestampType],
  ['string', stringType],
  ['bytes', bytesType],
]

const a = typeParam('A')
const listOfA = listType(a)
const cost = (args: readonly CelValue[]): number => wholeTraversal(args[0])

/** The functions available in every release. */
export const listFunctionsLibrary = (): Library => ({
  functions: [
    fn(
      'isSorted',
      ...comparable.map(([name, type]) =>
        member({ id: `list_${name}_is_sorted_bool`, params: [listType(type)], result: boolType, cost }, isSorted),
      ),
    ),
    fn(
      'sum',
      ...summable.map(([name, type, zero]) =>
        member({ id: `list_${name}_sum_${name}`, params: [listType(type)], result: type, cost }, (list: CelList) => sum(list, zero)),
      ),
    ),
    fn(
      'max',
      ...comparable.map(([name, type]) =>
        member({ id: `list_${name}_max_${name}`, params: [listType(type)], result: type, cost }, (list: CelList) => best(list, 'max')),
      ),
    ),
    fn(
      'min',
      ...comparable.map(([name, type]) =>
        member({ id: `list_${name}_min_${name}`, params: [listType(type)], result: type, cost }, (list: CelList) => best(list, 'min')),
      ),
    ),
    fn('indexOf', member({ id: 'list_a_index_of_int', params: [listOfA, a], result: intType, cost }, indexOf)),
    fn('lastIndexOf', member({ id: 'list_a_last_index_of_int', params: [listOfA, a], result: intType, cost }, lastIndexOf)),
  ],
})

/** The function added in 1.37. */
export const includesLibrary = (): Library => ({
  functions: [fn('includes', member({ id: 'list_includes_dyn_dyn', params: [dynType, dynType], result: boolType, cost }, includes))],
})

const isComparable = (value: CelValue): boolean => !(compareValues(value, value) === noSuchOverload)

function isSorted(list: CelList): CelValue {
  let previous: CelValue | undefined
  for (const element of elementsOf(list)) {
    if (!isComparable(element)) return noSuchOverload
    if (previous !== undefined && compareValues(previous, element) === 1) return false
    previous = element
  }
  return true
}

function sum(list: CelList, zero: CelValue): CelValue {
  let total = zero
  for (const element of elementsOf(list)) {
    total = add(total, element)
    if (total instanceof CelFault) return total
  }
  return total
}

function add(a: CelValue, b: CelValue): CelValue {
  if (isInt(a) && isInt(b)) return addInt(a, b)
  if (a instanceof CelDouble && b instanceof CelDouble) return new CelDouble(a.value + b.value)
  if (a instanceof CelUint && b instanceof CelUint) return checkedUint(a.value + b.value)
  if (a instanceof CelDuration && b instanceof CelDuration) return durationOf(addInt(a.nanos, b.nanos))
  return noSuchOverload
}

function best(list: CelList, name: 'min' | 'max'): CelValue {
  const better = name === 'max' ? -1 : 1
  let found: CelValue | undefined
  for (const element of elementsOf(list)) {
    if (!isComparable(element)) return noSuchOverload
    if (found === undefined || compareValues(found, element) === better) found = element
  }
  return found === undefined ? fault(`${name} called on empty list`) : found
}

function indexOf(list: CelList, wanted: CelValue): CelValue {
  for (let i = 0; i < list.size; i++) if (equalValues(list.at(i), wanted) === true) return i
  return -1
}

function lastIndexOf(list: CelList, wanted: CelValue): CelValue {
  for (let i = list.size - 1; i >= 0; i--) if (equalValues(list.at(i), wanted) === true) return i
  return -1
}

function includes(target: CelValue, wanted: CelValue): CelValue {
  if (target instanceof CelList) return indexOf(target, wanted) !== -1
  return equalValues(target, wanted) === true
}
