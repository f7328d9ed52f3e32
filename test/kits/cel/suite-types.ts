/** The messages that CEL's official tests use, as types for the checker. */

import { getTestRegistry } from '@bufbuild/cel-spec/testdata/registry.js'
import { type DescField, type DescMessage, ScalarType } from '@bufbuild/protobuf'
import type { TypeProvider } from '../../../src/cel/checker/library.ts'
import {
  anyType,
  boolType,
  bytesType,
  type CelType,
  doubleType,
  durationType,
  dynType,
  intType,
  listType,
  mapType,
  nullableType,
  nullType,
  objectType,
  opaqueType,
  stringType,
  timestampType,
  typeParam,
  typeType,
  typeTypeOf,
  uintType,
} from '../../../src/cel/checker/types.ts'

/** The types of protobuf messages by name; cel-go's own tests have theirs under `google.expr.protoN.test`. */
export function messageTypes(): TypeProvider {
  const registry = getTestRegistry()
  const real = (name: string) => name.replace(/^google\.expr\.(proto[23])\.test\./, 'cel.expr.conformance.$1.')
  const isTest = (name: string) => /^(google\.expr|cel\.expr\.conformance)\.(proto[23])\./.test(name)
  return {
    findType: name => (isTest(name) && registry.getMessage(real(name)) ? objectType(name) : undefined),
    findField: (type, field) => {
      const message = isTest(type) ? registry.getMessage(real(type)) : undefined
      const found = message?.fields.find(candidate => candidate.name === field)
      return found && fieldType(found, type.replace(/(TestAllTypes|NestedTestAllTypes).*$/, ''))
    },
    findConstant: name => {
      const at = name.lastIndexOf('.')
      const value = registry.getEnum(real(name.slice(0, at)))?.values.find(candidate => candidate.name === name.slice(at + 1))
      return value && { type: 'int', value: BigInt(value.number) }
    },
  }
}

const scalars = new Map<ScalarType, CelType>([
  [ScalarType.BOOL, boolType],
  [ScalarType.BYTES, bytesType],
  [ScalarType.STRING, stringType],
  [ScalarType.DOUBLE, doubleType],
  [ScalarType.FLOAT, doubleType],
  [ScalarType.UINT32, uintType],
  [ScalarType.UINT64, uintType],
  [ScalarType.FIXED32, uintType],
  [ScalarType.FIXED64, uintType],
])

function fieldType(field: DescField, namespace: string): CelType {
  const message = (desc: DescMessage) => objectType(desc.typeName.replace(/^cel\.expr\.conformance\.proto[23]\./, namespace))
  const scalar = (type: ScalarType) => scalars.get(type) ?? intType
  switch (field.fieldKind) {
    case 'scalar':
      return scalar(field.scalar)
    case 'enum':
      return field.enum.typeName === 'google.protobuf.NullValue' ? nullType : intType
    case 'message':
      return message(field.message)
    case 'list':
      return listType(field.message ? message(field.message) : field.enum ? intType : scalar(field.scalar))
    case 'map':
      return mapType(scalar(field.mapKey), field.message ? message(field.message) : field.enum ? intType : scalar(field.scalar!))
  }
}

const primitives: Record<string, CelType> = {
  BOOL: boolType,
  INT64: intType,
  UINT64: uintType,
  DOUBLE: doubleType,
  STRING: stringType,
  BYTES: bytesType,
}
const wellKnown: Record<string, CelType> = { ANY: anyType, TIMESTAMP: timestampType, DURATION: durationType }

/** A type in the format of the suites: cel.expr.Type in JSON. */
export function typeFromJson(json: any): CelType {
  const [kind, value] = Object.entries<any>(json ?? {})[0] ?? ['dyn', {}]
  switch (kind) {
    case 'primitive':
      return primitives[value]!
    case 'wrapper':
      return nullableType(primitives[value]!)
    case 'wellKnown':
      return wellKnown[value]!
    case 'listType':
      return listType(typeFromJson(value.elemType))
    case 'mapType':
      return mapType(typeFromJson(value.keyType), typeFromJson(value.valueType))
    case 'messageType':
      return objectType(value)
    case 'abstractType':
      return opaqueType(value.name, ...(value.parameterTypes ?? []).map(typeFromJson))
    case 'typeParam':
      return typeParam(value)
    case 'null':
      return nullType
    case 'type':
      return Object.keys(value).length === 0 ? typeType : typeTypeOf(typeFromJson(value))
  }
  return dynType
}
