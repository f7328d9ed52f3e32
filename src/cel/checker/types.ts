/** The types of CEL expressions: constructors, comparison and formatting. */

export type TypeKind =
  | 'dyn'
  | 'any'
  | 'bool'
  | 'bytes'
  | 'double'
  | 'duration'
  | 'error'
  | 'int'
  | 'list'
  | 'map'
  | 'null'
  | 'opaque'
  | 'string'
  | 'object'
  | 'timestamp'
  | 'type'
  | 'typeParam'
  | 'uint'

/**
 * A CEL type. All kinds share one shape: `name` is the name at run time (`list`, `google.protobuf.Duration`, the name of an object type),
 * `params` are the element of a list, key and value of a map, the type named by a type, or the parameters of an opaque type; `nullable`
 * marks the wrappers, which accept null beside their plain values.
 */
export interface CelType {
  readonly kind: TypeKind
  readonly name: string
  readonly params: readonly CelType[]
  readonly nullable: boolean
}

const none: readonly CelType[] = []

const simple = (kind: TypeKind, name: string = kind): CelType => ({ kind, name, params: none, nullable: false })

export const dynType = simple('dyn')
export const anyType = simple('any', 'google.protobuf.Any')
export const boolType = simple('bool')
export const bytesType = simple('bytes')
export const doubleType = simple('double')
export const durationType = simple('duration', 'google.protobuf.Duration')
export const errorType = simple('error')
export const intType = simple('int')
export const nullType = simple('null', 'null_type')
export const stringType = simple('string')
export const timestampType = simple('timestamp', 'google.protobuf.Timestamp')
export const typeType = simple('type')
export const uintType = simple('uint')

/** A list of elements of one type. */
export const listType = (element: CelType): CelType => ({ kind: 'list', name: 'list', params: [element], nullable: false })

/** A map from keys of one type to values of another. */
export const mapType = (key: CelType, value: CelType): CelType => ({ kind: 'map', name: 'map', params: [key, value], nullable: false })

/** The type whose values are types: that of `int` is typeTypeOf(intType). */
export const typeTypeOf = (of: CelType): CelType => ({ kind: 'type', name: 'type', params: [of], nullable: false })

/** A type known only by name and parameters. */
export const opaqueType = (name: string, ...params: CelType[]): CelType => ({ kind: 'opaque', name, params, nullable: false })

/** A value that may be absent. */
export const optionalType = (of: CelType): CelType => opaqueType('optional_type', of)

/** A type variable in the signature of an overload. */
export const typeParam = (name: string): CelType => simple('typeParam', name)

/** A type with named fields, which a TypeProvider knows; the names of protobuf's well-known types give the corresponding CEL types. */
export const objectType = (name: string): CelType => wellKnownTypes.get(name) ?? simple('object', name)

/** A primitive that may also be null. */
export const nullableType = (of: CelType): CelType => ({ ...of, nullable: true })

export const listOfDyn = listType(dynType)
export const mapOfDyn = mapType(dynType, dynType)

const wellKnownTypes: ReadonlyMap<string, CelType> = new Map([
  ['google.protobuf.BoolValue', nullableType(boolType)],
  ['google.protobuf.BytesValue', nullableType(bytesType)],
  ['google.protobuf.DoubleValue', nullableType(doubleType)],
  ['google.protobuf.FloatValue', nullableType(doubleType)],
  ['google.protobuf.Int64Value', nullableType(intType)],
  ['google.protobuf.Int32Value', nullableType(intType)],
  ['google.protobuf.UInt64Value', nullableType(uintType)],
  ['google.protobuf.UInt32Value', nullableType(uintType)],
  ['google.protobuf.StringValue', nullableType(stringType)],
  ['google.protobuf.Any', anyType],
  ['google.protobuf.Duration', durationType],
  ['google.protobuf.Timestamp', timestampType],
  ['google.protobuf.ListValue', listOfDyn],
  ['google.protobuf.NullValue', nullType],
  ['google.protobuf.Struct', mapType(stringType, dynType)],
  ['google.protobuf.Value', dynType],
])

/** Whether a value of the type can be anything. */
export const isDyn = (type: CelType): boolean => type.kind === 'dyn' || type.kind === 'any'

export const isDynOrError = (type: CelType): boolean => isDyn(type) || type.kind === 'error'

export const isOptionalType = (type: CelType): boolean => type.kind === 'opaque' && type.name === 'optional_type'

/** The type inside an optional type; other types are returned unchanged. */
export const unwrapOptional = (type: CelType): CelType => (isOptionalType(type) ? type.params[0]! : type)

/** Whether two types are the same, parameters and their names included; wrappers equal the wrapped type, as in cel-go. */
export function sameType(a: CelType, b: CelType): boolean {
  if (a === b) return true
  if (a.kind !== b.kind || a.name !== b.name || a.params.length !== b.params.length) return false
  return a.params.every((param, i) => sameType(param, b.params[i]!))
}

/** Whether a value of type `from` can be used where `to` is declared, type variables aside. */
export function isAssignableType(to: CelType, from: CelType): boolean {
  if (to.nullable && from.kind === 'null') return true
  if (to === from || isDyn(to) || to.kind === 'typeParam') return true
  if (to.kind !== from.kind || to.name !== from.name || to.params.length !== from.params.length) return false
  return to.params.every((param, i) => isAssignableType(param, from.params[i]!))
}

/** The type as cel-go's checker prints it in messages: `list(int)`, `timestamp`, `wrapper(int)`, `optional_type(string)`. */
export function formatType(type: CelType): string {
  switch (type.kind) {
    case 'any':
    case 'duration':
    case 'timestamp':
    case 'null':
      return type.kind
    case 'error':
      return '!error!'
    case 'typeParam':
      return type.name
  }
  if (type.params.length === 0) return declaredName(type)
  return `${type.name}(${type.params.map(formatType).join(', ')})`
}

/** The name of a type, as `wrapper(…)` for nullable ones. */
export const declaredName = (type: CelType): string => (type.nullable ? `wrapper(${type.name})` : type.name)

/** The type as cel-go prints it outside the checker: `google.protobuf.Duration`, `<A>`, `null_type`. */
export function typeString(type: CelType): string {
  if (type.kind === 'typeParam') return `<${type.name}>`
  if (type.params.length === 0) return declaredName(type)
  return `${declaredName(type)}(${type.params.map(typeString).join(', ')})`
}
