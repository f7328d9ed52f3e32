/** The signatures of CEL's standard functions and names, with the overload ids of cel-go. */

import { operators } from '../syntax/operators.ts'
import type { FunctionDecl, Overload, VariableDecl } from './library.ts'
import {
  boolType,
  bytesType,
  type CelType,
  doubleType,
  durationType,
  dynType,
  intType,
  listType,
  mapType,
  nullType,
  stringType,
  timestampType,
  typeParam,
  typeType,
  typeTypeOf,
  uintType,
} from './types.ts'

/** The functions and operators of the standard library, without implementations. */
export function standardFunctionDeclarations(): FunctionDecl[] {
  return [
    ...logicFunctions(),
    ...arithmeticFunctions(),
    ...comparisonFunctions(),
    ...containerFunctions(),
    ...conversionFunctions(),
    ...stringFunctions(),
    ...timeFunctions(),
  ]
}

/** The names of the standard types as expressions: `type(1) == int`. */
export function standardTypeVariables(): VariableDecl[] {
  const types = [
    boolType,
    bytesType,
    doubleType,
    durationType,
    intType,
    listOfA,
    mapOfAB,
    nullType,
    stringType,
    timestampType,
    typeType,
    uintType,
  ]
  return types.map(type => ({ name: type.name, type: typeTypeOf(type) }))
}

/** Whether an overload compares numbers of different types, which an environment may leave out. */
export const isCrossTypeComparison = (overloadId: string): boolean => crossTypeComparison.test(overloadId)

const crossTypeComparison = /^(?:less|greater)(?:_equals)?_(?:int64|uint64|double)_(?:int64|uint64|double)$/

const a = typeParam('A')
const b = typeParam('B')
const listOfA = listType(a)
const mapOfAB = mapType(a, b)

const global = (id: string, params: readonly CelType[], result: CelType): Overload => ({ id, params, result })
const member = (id: string, params: readonly CelType[], result: CelType): Overload => ({ id, params, result, member: true })
const lazy = (id: string, params: readonly CelType[], result: CelType): Overload => ({ id, params, result, nonStrict: true })
const fn = (name: string, ...overloads: Overload[]): FunctionDecl => ({ name, overloads })

/** The names of types inside overload ids. */
const idNames = new Map<CelType, string>([
  [boolType, 'bool'],
  [bytesType, 'bytes'],
  [doubleType, 'double'],
  [durationType, 'duration'],
  [intType, 'int64'],
  [stringType, 'string'],
  [timestampType, 'timestamp'],
  [uintType, 'uint64'],
])
const idName = (type: CelType): string => idNames.get(type)!

function logicFunctions(): FunctionDecl[] {
  return [
    fn(operators.conditional, lazy('conditional', [boolType, a, a], a)),
    fn(operators.and, lazy('logical_and', [boolType, boolType], boolType)),
    fn(operators.or, lazy('logical_or', [boolType, boolType], boolType)),
    fn(operators.not, global('logical_not', [boolType], boolType)),
    fn(operators.notStrictlyFalse, lazy('not_strictly_false', [boolType], boolType)),
    fn(operators.equals, global('equals', [a, a], boolType)),
    fn(operators.notEquals, global('not_equals', [a, a], boolType)),
  ]
}

function arithmeticFunctions(): FunctionDecl[] {
  const same = (verb: string, type: CelType) => global(`${verb}_${idName(type)}`, [type, type], type)
  const mixed = (verb: string, left: CelType, right: CelType, result: CelType) =>
    global(`${verb}_${idName(left)}_${idName(right)}`, [left, right], result)
  return [
    fn(
      operators.add,
      same('add', bytesType),
      same('add', doubleType),
      mixed('add', durationType, durationType, durationType),
      mixed('add', durationType, timestampType, timestampType),
      mixed('add', timestampType, durationType, timestampType),
      same('add', intType),
      global('add_list', [listOfA, listOfA], listOfA),
      same('add', stringType),
      same('add', uintType),
    ),
    fn(operators.divide, same('divide', doubleType), same('divide', intType), same('divide', uintType)),
    fn(operators.modulo, same('modulo', intType), same('modulo', uintType)),
    fn(operators.multiply, same('multiply', doubleType), same('multiply', intType), same('multiply', uintType)),
    fn(operators.negate, global('negate_double', [doubleType], doubleType), global('negate_int64', [intType], intType)),
    fn(
      operators.subtract,
      same('subtract', doubleType),
      mixed('subtract', durationType, durationType, durationType),
      same('subtract', intType),
      mixed('subtract', timestampType, durationType, timestampType),
      mixed('subtract', timestampType, timestampType, durationType),
      same('subtract', uintType),
    ),
  ]
}

function comparisonFunctions(): FunctionDecl[] {
  const numbers = [intType, uintType, doubleType]
  const overloads = (verb: string): Overload[] => {
    const same = (type: CelType) => global(`${verb}_${idName(type)}`, [type, type], boolType)
    const ofNumber = (left: CelType) => [
      same(left),
      ...[doubleType, intType, uintType]
        .filter(right => right !== left)
        .map(right => global(`${verb}_${idName(left)}_${idName(right)}`, [left, right], boolType)),
    ]
    return [same(boolType), ...numbers.flatMap(ofNumber), ...[stringType, bytesType, timestampType, durationType].map(same)]
  }
  return [
    fn(operators.less, ...overloads('less')),
    fn(operators.lessEquals, ...overloads('less_equals')),
    fn(operators.greater, ...overloads('greater')),
    fn(operators.greaterEquals, ...overloads('greater_equals')),
  ]
}

function containerFunctions(): FunctionDecl[] {
  const sized: [string, CelType][] = [
    ['bytes', bytesType],
    ['list', listOfA],
    ['map', mapOfAB],
    ['string', stringType],
  ]
  return [
    fn(operators.index, global('index_list', [listOfA, intType], a), global('index_map', [mapOfAB, a], b)),
    fn(operators.in, global('in_list', [a, listOfA], boolType), global('in_map', [a, mapOfAB], boolType)),
    fn('size', ...sized.flatMap(([name, type]) => [global(`size_${name}`, [type], intType), member(`${name}_size`, [type], intType)])),
  ]
}

function conversionFunctions(): FunctionDecl[] {
  const conversions = (name: string, to: CelType, from: readonly CelType[]) =>
    fn(name, ...from.map(type => global(`${idName(type)}_to_${idName(to)}`, [type], to)))
  return [
    fn('type', global('type', [a], typeTypeOf(a))),
    conversions('bool', boolType, [boolType, stringType]),
    conversions('bytes', bytesType, [bytesType, stringType]),
    conversions('double', doubleType, [doubleType, intType, stringType, uintType]),
    conversions('duration', durationType, [durationType, stringType]),
    fn('dyn', global('to_dyn', [a], dynType)),
    conversions('int', intType, [intType, doubleType, durationType, stringType, timestampType, uintType]),
    conversions('string', stringType, [stringType, boolType, bytesType, doubleType, durationType, intType, timestampType, uintType]),
    conversions('timestamp', timestampType, [timestampType, intType, stringType]),
    conversions('uint', uintType, [uintType, doubleType, intType, stringType]),
  ]
}

function stringFunctions(): FunctionDecl[] {
  const test = (id: string) => member(id, [stringType, stringType], boolType)
  return [
    fn('contains', test('contains_string')),
    fn('endsWith', test('ends_with_string')),
    fn('startsWith', test('starts_with_string')),
    fn('matches', global('matches', [stringType, stringType], boolType), test('matches_string')),
  ]
}

function timeFunctions(): FunctionDecl[] {
  const part = (id: string, withZone = `${id}_with_tz`) => [
    member(id, [timestampType], intType),
    member(withZone, [timestampType, stringType], intType),
  ]
  const span = (id: string) => member(id, [durationType], intType)
  return [
    fn('getFullYear', ...part('timestamp_to_year')),
    fn('getMonth', ...part('timestamp_to_month')),
    fn('getDayOfYear', ...part('timestamp_to_day_of_year')),
    fn('getDayOfMonth', ...part('timestamp_to_day_of_month')),
    fn('getDate', ...part('timestamp_to_day_of_month_1_based')),
    fn('getDayOfWeek', ...part('timestamp_to_day_of_week')),
    fn('getHours', ...part('timestamp_to_hours'), span('duration_to_hours')),
    fn('getMinutes', ...part('timestamp_to_minutes'), span('duration_to_minutes')),
    // The id with a zone is irregular in cel-go, too.
    fn('getSeconds', ...part('timestamp_to_seconds', 'timestamp_to_seconds_tz'), span('duration_to_seconds')),
    fn('getMilliseconds', ...part('timestamp_to_milliseconds'), span('duration_to_milliseconds')),
  ]
}
