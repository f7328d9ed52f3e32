/** Equality and order of values; numbers of different types are compared by value. */

import { compareText } from '../../lib/go-text.ts'
import { order } from './int64.ts'
import {
  CelDouble,
  CelDuration,
  type CelFault,
  type CelInt,
  CelList,
  CelMap,
  CelOpaque,
  CelOptional,
  CelTimestamp,
  CelTypeValue,
  CelUint,
  type CelValue,
  fault,
  isInt,
  noSuchOverload,
} from './values.ts'
import { countWork } from './work.ts'

/** Whether two values are equal. Values of different types are not, but a library's own type may return an error instead. */
export function equalValues(a: CelValue, b: CelValue): boolean | CelFault {
  // The same object may be unequal to itself: it may contain NaN.
  if (typeof a !== 'object' || a === null) return a === b || (isInt(a) && typeof b === 'object' && sameNumber(a, b))
  if (b === null) return false
  if (a instanceof CelList) return a.equalTo ? a.equalTo(b) : equalLists(a, b)
  if (a instanceof CelMap) return a.equalTo ? a.equalTo(b) : equalMaps(a, b)
  if (a instanceof CelOpaque) return a.equalTo(b)
  if (a instanceof CelDouble || a instanceof CelUint) return sameNumber(a, b)
  if (a instanceof Uint8Array) return b instanceof Uint8Array && Buffer.compare(a, b) === 0
  if (a instanceof CelTimestamp) return b instanceof CelTimestamp && a.seconds === b.seconds && a.nanos === b.nanos
  if (a instanceof CelDuration) return b instanceof CelDuration && a.nanos === b.nanos
  if (a instanceof CelTypeValue) return b instanceof CelTypeValue && a.type.name === b.type.name
  if (a instanceof CelOptional) return equalOptionals(a, b)
  return a
}

function equalLists(a: CelList, b: CelValue): boolean | CelFault {
  if (!(b instanceof CelList) || a.size !== b.size) return false
  for (let i = 0; i < a.size; i++) {
    countWork()
    const equal = equalValues(a.at(i), b.at(i))
    if (equal !== true) return equal
  }
  return true
}

function equalMaps(a: CelMap, b: CelValue): boolean | CelFault {
  if (!(b instanceof CelMap) || a.size !== b.size) return false
  for (const key of a.keys()) {
    countWork(4)
    const other = b.find(key)
    if (other === undefined) return false
    const equal = equalValues(a.find(key)!, other)
    if (equal !== true) return equal
  }
  return true
}

function equalOptionals(a: CelOptional, b: CelValue): boolean | CelFault {
  if (!(b instanceof CelOptional)) return false
  if (a.value === undefined || b.value === undefined) return a.value === b.value
  return equalValues(a.value, b.value)
}

const sameNumber = (a: CelValue, b: CelValue): boolean => isNumeric(b) && compareNumbers(a as Numeric, b) === 0

/** Whether the list contains an element equal to the value. */
export function listContains(list: CelList, value: CelValue): boolean | CelFault {
  if (list.contains) return list.contains(value)
  for (let i = 0; i < list.size; i++) {
    countWork()
    if (equalValues(value, list.at(i)) === true) return true
  }
  return false
}

const unordered = fault('NaN values cannot be ordered')

/** -1, 0 or 1 as a is less than, equal to or greater than b, or a fault when they have no order. */
export function compareValues(a: CelValue, b: CelValue): number | CelFault {
  if (typeof a === 'number' && typeof b === 'number') return a < b ? -1 : a > b ? 1 : 0
  if (typeof a === 'string') return typeof b === 'string' ? compareTexts(a, b) : noSuchOverload
  if (isNumeric(a)) {
    if (isNaNValue(a)) return unordered
    if (!isNumeric(b)) return noSuchOverload
    return isNaNValue(b) ? unordered : compareNumbers(a, b)
  }
  if (typeof a === 'boolean') return typeof b === 'boolean' ? Number(a) - Number(b) : noSuchOverload
  if (a instanceof Uint8Array) return b instanceof Uint8Array ? Buffer.compare(a, b) : noSuchOverload
  if (a instanceof CelTimestamp) {
    return b instanceof CelTimestamp ? order(a.seconds, b.seconds) || order(a.nanos, b.nanos) : noSuchOverload
  }
  if (a instanceof CelDuration) return b instanceof CelDuration ? order(a.nanos, b.nanos) : noSuchOverload
  return noSuchOverload
}

function compareTexts(a: string, b: string): number {
  countWork((a.length + b.length) >> 5)
  return Math.sign(compareText(a, b))
}

type Numeric = CelInt | CelUint | CelDouble

const isNumeric = (value: CelValue): value is Numeric => isInt(value) || value instanceof CelUint || value instanceof CelDouble
const isNaNValue = (value: Numeric): boolean => value instanceof CelDouble && Number.isNaN(value.value)

/** NaN when one of them is. An integer compared with a double is converted to one, as in cel-go. */
function compareNumbers(a: Numeric, b: Numeric): number {
  if (a instanceof CelDouble || b instanceof CelDouble) {
    const [x, y] = [doubleOf(a), doubleOf(b)]
    return x < y ? -1 : x > y ? 1 : x === y ? 0 : Number.NaN
  }
  return order(wholeOf(a), wholeOf(b))
}

const wholeOf = (value: CelInt | CelUint): CelInt => (typeof value === 'object' ? value.value : value)
const doubleOf = (value: Numeric): number => (typeof value === 'object' ? Number(value.value) : Number(value))
