/** The functions and operators of CEL itself. Each accepts values of any type and returns cel-go's error for the wrong ones. */

import { operators } from '../syntax/operators.ts'
import { add, divide, modulo, multiply, negate, notFor, subtract } from './arithmetic.ts'
import { type Convert, toBool, toBytes, toDouble, toDuration, toInt, toText, toTimestamp, toType, toUint } from './conversions.ts'
import { compareValues, listContains } from './equality.ts'
import { optionalBuiltins } from './optional-builtins.ts'
import { regexOf } from './regex-cache.ts'
import { timeParts } from './time-functions.ts'
import { type Builtin, CelFault, CelList, CelMap, type CelValue, fault, noSuchOverload, runtimeType, sizeOf } from './values.ts'
import { countMatchSteps, countWork } from './work.ts'

/** The error of a function without an overload for the arguments. */
export const noOverloadFor = (name: string, args: readonly CelValue[]): CelFault =>
  fault(`no such overload: ${name}(${args.map(arg => runtimeType(arg).name).join(', ')})`)

const comparison = (name: string, holds: (order: number) => boolean): Builtin => ({
  binary(a, b) {
    const order = compareValues(a, b)
    if (typeof order === 'number') return holds(order)
    return order === noSuchOverload && !isOrdered(a) ? notFor(name, a) : order
  },
})

/** Whether values of the type have an order at all. */
const isOrdered = (value: CelValue): boolean => typeof compareValues(value, value) === 'number'

const conversion = (name: string, convert: Convert): Builtin => ({
  unary(a) {
    if (typeof a === 'string' || a instanceof Uint8Array) countWork(a.length >> 5)
    return convert(a) ?? noOverloadFor(name, [a])
  },
})

const textTest = (test: (text: string, part: string) => boolean): Builtin => ({
  binary: (a, b) => (typeof a === 'string' && typeof b === 'string' ? test(a, b) : noSuchOverload),
})

/** `element in container`. */
export function isIn(element: CelValue, container: CelValue): CelValue {
  if (container instanceof CelList) return listContains(container, element)
  if (!(container instanceof CelMap)) return noSuchOverload
  if (container.has) return container.has(element)
  const found = container.find(element)
  return found instanceof CelFault ? found : found !== undefined
}

/** Whether a string matches a pattern anywhere. */
function matches(text: CelValue, pattern: CelValue): CelValue {
  if (typeof text !== 'string') return notFor('matches', text)
  if (typeof pattern !== 'string') return noSuchOverload
  const regex = regexOf(pattern)
  if (regex instanceof CelFault) return regex
  countWork(regex.stepsFor(text) / 8)
  return regex.test(text, countMatchSteps)
}

/** The functions by name, except those that the planner implements: logic, equality, selection and the optional `or`. */
export const builtins: ReadonlyMap<string, Builtin> = new Map<string, Builtin>([
  [operators.not, { unary: a => (typeof a === 'boolean' ? !a : noSuchOverload) }],
  [operators.notStrictlyFalse, { unary: a => (typeof a === 'boolean' ? a : true) }],
  [operators.add, { binary: add }],
  [operators.subtract, { binary: subtract }],
  [operators.multiply, { binary: multiply }],
  [operators.divide, { binary: divide }],
  [operators.modulo, { binary: modulo }],
  [operators.negate, { unary: negate }],
  [operators.less, comparison(operators.less, order => order < 0)],
  [operators.lessEquals, comparison(operators.lessEquals, order => order <= 0)],
  [operators.greater, comparison(operators.greater, order => order > 0)],
  [operators.greaterEquals, comparison(operators.greaterEquals, order => order >= 0)],
  [operators.in, { binary: isIn }],
  ['size', { unary: a => sizeOf(a) ?? notFor('size', a) }],
  ['type', { unary: a => toType(a)! }],
  ['dyn', { unary: a => a }],
  ['bool', conversion('bool', toBool)],
  ['bytes', conversion('bytes', toBytes)],
  ['double', conversion('double', toDouble)],
  ['duration', conversion('duration', toDuration)],
  ['int', conversion('int', toInt)],
  ['string', conversion('string', toText)],
  ['timestamp', conversion('timestamp', toTimestamp)],
  ['uint', conversion('uint', toUint)],
  ['contains', textTest((text, part) => text.includes(part))],
  ['endsWith', textTest((text, part) => text.endsWith(part))],
  ['startsWith', textTest((text, part) => text.startsWith(part))],
  ['matches', { binary: matches }],
  ...Array.from(timeParts, ([name, part]): [string, Builtin] => [
    name,
    {
      unary: a => part.plain(a) ?? noOverloadFor(name, [a]),
      binary: (a, zone) => part.inZone(a, zone) ?? noOverloadFor(name, [a, zone]),
    },
  ]),
  ...optionalBuiltins,
])

/** The conversions between types, which are constant-folded where their argument is a literal. */
export const conversionNames: ReadonlySet<string> = new Set([
  'bool',
  'bytes',
  'double',
  'duration',
  'dyn',
  'int',
  'string',
  'timestamp',
  'type',
  'uint',
])
