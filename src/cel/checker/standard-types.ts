/** The types that every environment knows by name: those of CEL and the protobuf messages that represent them. */

import { constructWellKnown } from '../runtime/well-known-values.ts'
import type { TypeProvider } from './library.ts'
import {
  anyType,
  boolType,
  bytesType,
  type CelType,
  doubleType,
  dynType,
  intType,
  listOfDyn,
  mapOfDyn,
  mapType,
  nullType,
  objectType,
  stringType,
  typeType,
  uintType,
} from './types.ts'

/** The provider of the standard types. */
export const standardTypes: TypeProvider = {
  findType: name => {
    const known = named.get(name)
    if (known) return known
    const stood = name.startsWith('google.protobuf.') ? objectType(name) : undefined
    return stood && stood.kind !== 'object' ? stood : undefined
  },
  findField: (type, field) => fields.get(type)?.get(field),
  construct: constructWellKnown,
}

/** Whether a protobuf message represents the type, so that it can be constructed by name. */
export function isMessageType(type: CelType): boolean {
  switch (type.kind) {
    case 'any':
    case 'timestamp':
    case 'duration':
    case 'dyn':
    case 'null':
      return true
    case 'list':
      return type.params[0] === dynType
    case 'map':
      return type.params[0] === stringType && type.params[1] === dynType
  }
  return type.nullable
}

const named = new Map<string, CelType>(
  [boolType, bytesType, doubleType, intType, listOfDyn, mapOfDyn, nullType, stringType, typeType, uintType].map(type => [type.name, type]),
)

const time = new Map([
  ['seconds', intType],
  ['nanos', intType],
])

const fields: ReadonlyMap<string, ReadonlyMap<string, CelType>> = new Map([
  ['google.protobuf.Timestamp', time],
  ['google.protobuf.Duration', time],
  ['google.protobuf.Struct', new Map([['fields', mapType(stringType, dynType)]])],
  ['google.protobuf.ListValue', new Map([['values', listOfDyn]])],
  [
    anyType.name,
    new Map([
      ['type_url', stringType],
      ['value', bytesType],
    ]),
  ],
  [
    'google.protobuf.Value',
    new Map([
      ['null_value', intType],
      ['number_value', doubleType],
      ['string_value', stringType],
      ['bool_value', boolType],
      ['struct_value', mapType(stringType, dynType)],
      ['list_value', listOfDyn],
    ]),
  ],
  ...wrapped(['Bool', boolType], ['Bytes', bytesType], ['String', stringType]),
  ...wrapped(
    ['Double', doubleType],
    ['Float', doubleType],
    ['Int32', intType],
    ['Int64', intType],
    ['UInt32', uintType],
    ['UInt64', uintType],
  ),
])

function wrapped(...types: [name: string, type: CelType][]): [string, Map<string, CelType>][] {
  return types.map(([name, type]) => [`google.protobuf.${name}Value`, new Map([['value', type]])])
}
