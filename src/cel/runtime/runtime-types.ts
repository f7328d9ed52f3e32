/** Whether a value turns out to be of a type that could not be checked ahead. */

import { type CelType, isDyn, isOptionalType } from '../checker/types.ts'
import { CelFault, CelList, CelMap, CelOptional, type CelValue, runtimeType } from './values.ts'

/** Whether the value can stand where the type is declared; of lists and maps the first element speaks for all, as for cel-go. */
export function fitsAtRuntime(type: CelType, value: CelValue): boolean {
  if (value instanceof CelFault) return false
  if (isDyn(type) || type.kind === 'typeParam' || (type.nullable && value === null)) return true
  if (isOptionalType(type)) {
    return value instanceof CelOptional && (value.value === undefined || fitsAtRuntime(type.params[0]!, value.value))
  }
  if (type.kind === 'list') return value instanceof CelList && (value.size === 0 || fitsAtRuntime(type.params[0]!, value.at(0)))
  if (type.kind !== 'map') return runtimeType(value).name === type.name || (type.kind === 'object' && value instanceof CelMap)
  if (!(value instanceof CelMap)) return false
  const key = value.keys()[0]
  return key === undefined || (fitsAtRuntime(type.params[0]!, key) && fitsAtRuntime(type.params[1]!, value.find(key)!))
}
