/** The operators `+ - * / %` and the unary minus on values of any type. */

import { operators } from '../syntax/operators.ts'
import {
  addInt,
  checkedUint,
  divideInt,
  divisionByZero,
  durationOf,
  moduloInt,
  modulusByZero,
  multiplyInt,
  negateInt,
  subtractInt,
} from './int64.ts'
import { addLists } from './lists.ts'
import { addToTimestamp, betweenTimestamps } from './times.ts'
import {
  CelDouble,
  CelDuration,
  type CelFault,
  CelList,
  CelTimestamp,
  CelUint,
  type CelValue,
  fault,
  isInt,
  noSuchOverload,
} from './values.ts'

/** The error of a function for a first argument of the wrong type: values with members of their own do not name it. */
export function notFor(name: string, value: CelValue): CelFault {
  if (typeof value === 'string' || value instanceof CelTimestamp || value instanceof CelDuration) return noSuchOverload
  return fault(`no such overload: ${name}`)
}

export function add(a: CelValue, b: CelValue): CelValue {
  if (isInt(a)) return isInt(b) ? addInt(a, b) : noSuchOverload
  if (typeof a === 'string') return typeof b === 'string' ? a + b : noSuchOverload
  if (a instanceof CelList) return b instanceof CelList ? addLists(a, b) : noSuchOverload
  if (a instanceof CelDouble) return b instanceof CelDouble ? new CelDouble(a.value + b.value) : noSuchOverload
  if (a instanceof CelUint) return b instanceof CelUint ? checkedUint(a.value + b.value) : noSuchOverload
  if (a instanceof Uint8Array) return b instanceof Uint8Array ? Buffer.concat([a, b]) : noSuchOverload
  if (a instanceof CelTimestamp) return b instanceof CelDuration ? addToTimestamp(a, b) : noSuchOverload
  if (!(a instanceof CelDuration)) return notFor(operators.add, a)
  if (b instanceof CelTimestamp) return addToTimestamp(b, a)
  return b instanceof CelDuration ? durationOf(addInt(a.nanos, b.nanos)) : noSuchOverload
}

export function subtract(a: CelValue, b: CelValue): CelValue {
  if (isInt(a)) return isInt(b) ? subtractInt(a, b) : noSuchOverload
  if (a instanceof CelDouble) return b instanceof CelDouble ? new CelDouble(a.value - b.value) : noSuchOverload
  if (a instanceof CelUint) return b instanceof CelUint ? checkedUint(a.value - b.value) : noSuchOverload
  if (a instanceof CelDuration) return b instanceof CelDuration ? durationOf(subtractInt(a.nanos, b.nanos)) : noSuchOverload
  if (!(a instanceof CelTimestamp)) return notFor(operators.subtract, a)
  if (b instanceof CelTimestamp) return betweenTimestamps(a, b)
  return b instanceof CelDuration ? addToTimestamp(a, durationOf(negateInt(b.nanos))) : noSuchOverload
}

export function multiply(a: CelValue, b: CelValue): CelValue {
  if (isInt(a)) return isInt(b) ? multiplyInt(a, b) : noSuchOverload
  if (a instanceof CelDouble) return b instanceof CelDouble ? new CelDouble(a.value * b.value) : noSuchOverload
  if (a instanceof CelUint) return b instanceof CelUint ? checkedUint(a.value * b.value) : noSuchOverload
  return notFor(operators.multiply, a)
}

export function divide(a: CelValue, b: CelValue): CelValue {
  if (isInt(a)) return isInt(b) ? divideInt(a, b) : noSuchOverload
  if (a instanceof CelDouble) return b instanceof CelDouble ? new CelDouble(a.value / b.value) : noSuchOverload
  if (!(a instanceof CelUint)) return notFor(operators.divide, a)
  if (!(b instanceof CelUint)) return noSuchOverload
  return b.value === 0n ? divisionByZero : new CelUint(a.value / b.value)
}

export function modulo(a: CelValue, b: CelValue): CelValue {
  if (isInt(a)) return isInt(b) ? moduloInt(a, b) : noSuchOverload
  if (!(a instanceof CelUint)) return notFor(operators.modulo, a)
  if (!(b instanceof CelUint)) return noSuchOverload
  return b.value === 0n ? modulusByZero : new CelUint(a.value % b.value)
}

export function negate(a: CelValue): CelValue {
  if (isInt(a)) return negateInt(a)
  if (a instanceof CelDouble) return new CelDouble(-a.value)
  if (a instanceof CelDuration) return durationOf(negateInt(a.nanos))
  return typeof a === 'boolean' ? noSuchOverload : notFor(operators.negate, a)
}
