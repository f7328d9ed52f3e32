/** The signatures of the functions on optional values, and of the function that macros over maps expand to. */

import { mapInsert, operators } from '../syntax/operators.ts'
import type { FunctionDecl, Overload, VariableDecl } from './library.ts'
import { boolType, type CelType, dynType, intType, listType, mapType, optionalType, stringType, typeParam, typeTypeOf } from './types.ts'

const k = typeParam('K')
const v = typeParam('V')
const optionalV = optionalType(v)
const listV = listType(v)
const mapKV = mapType(k, v)

const global = (id: string, params: readonly CelType[], result: CelType): Overload => ({ id, params, result })
const member = (id: string, params: readonly CelType[], result: CelType): Overload => ({ id, params, result, member: true })
const lazy = (id: string, params: readonly CelType[], result: CelType): Overload => ({ id, params, result, member: true, nonStrict: true })
const fn = (name: string, ...overloads: Overload[]): FunctionDecl => ({ name, overloads })

/** The functions of cel-go's optional library, version 2, without implementations. */
export function optionalFunctionDeclarations(): FunctionDecl[] {
  return [
    fn('optional.of', global('optional_of', [v], optionalV)),
    fn('optional.ofNonZeroValue', global('optional_ofNonZeroValue', [v], optionalV)),
    fn('optional.none', global('optional_none', [], optionalV)),
    fn('value', member('optional_value', [optionalV], v)),
    fn('hasValue', member('optional_hasValue', [optionalV], boolType)),
    fn('or', lazy('optional_or_optional', [optionalV, optionalV], optionalV)),
    fn('orValue', lazy('optional_orValue_value', [optionalV, v], v)),
    fn(operators.optSelect, global('select_optional_field', [dynType, stringType], optionalV)),
    fn(
      operators.optIndex,
      global('list_optindex_optional_int', [listV, intType], optionalV),
      global('optional_list_optindex_optional_int', [optionalType(listV), intType], optionalV),
      global('map_optindex_optional_value', [mapKV, k], optionalV),
      global('optional_map_optindex_optional_value', [optionalType(mapKV), k], optionalV),
    ),
    fn(
      operators.index,
      global('optional_list_index_int', [optionalType(listV), intType], optionalV),
      global('optional_map_index_value', [optionalType(mapKV), k], optionalV),
    ),
    fn('last', member('list_last', [listV], optionalV)),
    fn('first', member('list_first', [listV], optionalV)),
    fn('optional.unwrap', global('optional_unwrap', [listType(optionalV)], listV)),
    fn('unwrapOpt', member('optional_unwrapOpt', [listType(optionalV)], listV)),
  ]
}

/** The name `optional_type` as an expression. */
export function optionalTypeVariables(): VariableDecl[] {
  return [{ name: 'optional_type', type: typeTypeOf(optionalType(dynType)) }]
}

/** The function that two-variable comprehensions over maps need. */
export function mapInsertDeclarations(): FunctionDecl[] {
  return [fn(mapInsert, global('@mapInsert_map_key_value', [mapKV, k, v], mapKV), global('@mapInsert_map_map', [mapKV, mapKV], mapKV))]
}
