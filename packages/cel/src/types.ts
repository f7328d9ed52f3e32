/** Types as callers declare them: the CEL type with its maximal sizes, and how JSON is read as values of it. */
import {
  boolType,
  bytesType,
  doubleType,
  durationType,
  dynType,
  intType,
  stringType,
  timestampType,
} from '../../../src/cel/checker/types.ts'
import { escapeName } from '../../../src/cel/kubernetes/field-names.ts'
import { type SizedType, sized, sizedList, sizedMap, sizedObject } from '../../../src/cel/kubernetes/sized-types.ts'
import type { Shape } from '../../../src/cel/runtime/json-values.ts'
import {
  boolShape,
  bytesShape,
  doubleShape,
  durationShape,
  dynShape,
  intShape,
  listShape,
  mapShape,
  objectShape,
  stringShape,
  timestampShape,
} from '../../../src/cel/runtime/shapes.ts'
import type { CelValue } from '../../../src/cel/runtime/values.ts'
import type { Json } from '../../../src/lib/json-value.ts'
import type { JsonValue, Type } from './public.d.ts'

export interface DeclaredType {
  readonly sized: SizedType
  readonly shape: Shape
}

/** The value of JSON of a declared type. JSON is only read: callers may have frozen it. */
export const readValue = ({ shape }: DeclaredType, json: JsonValue): CelValue => shape.read(json as Json)

const UNBOUNDED = -1

const SIMPLE: { readonly [name in Extract<Type, string>]: DeclaredType } = {
  dyn: { sized: sized(dynType, UNBOUNDED), shape: dynShape },
  bool: { sized: sized(boolType), shape: boolShape },
  int: { sized: sized(intType), shape: intShape },
  double: { sized: sized(doubleType), shape: doubleShape },
  string: { sized: sized(stringType, UNBOUNDED), shape: stringShape },
  bytes: { sized: sized(bytesType, UNBOUNDED), shape: bytesShape },
  timestamp: { sized: sized(timestampType), shape: timestampShape },
  duration: { sized: sized(durationType), shape: durationShape },
}

/** A declared type; object types get their names from the path to them. */
export function declaredType(type: Type, path: string): DeclaredType {
  if (typeof type === 'string') {
    if (!Object.hasOwn(SIMPLE, type)) throw new TypeError(`${path}: unknown type ${type}`)
    return SIMPLE[type]
  }
  switch (type.type) {
    case 'string':
    case 'bytes': {
      const { sized: unbounded, shape } = SIMPLE[type.type]
      return { sized: sized(unbounded.type, type.maxLength), shape }
    }
    case 'list': {
      const items = declaredType(type.items, `${path}.@items`)
      return { sized: sizedList(items.sized, type.maxItems), shape: listShape(items.shape) }
    }
    case 'map': {
      const values = declaredType(type.values, `${path}.@values`)
      return { sized: sizedMap(SIMPLE.string.sized, values.sized, type.maxEntries), shape: mapShape(values.shape) }
    }
    case 'object':
      return declaredObject(type.fields, path)
    default:
      throw new TypeError(`${path}: unknown type ${JSON.stringify(type)}`)
  }
}

/** Expressions name a field such as `a-b` by its escaped name, `a__dash__b`, as in Kubernetes. */
function declaredObject(fields: { readonly [name: string]: Type }, path: string): DeclaredType {
  const byName = new Map<string, { key: string; type: DeclaredType }>()
  for (const [key, type] of Object.entries(fields)) {
    const name = escapeName(key)
    if (name === undefined) throw new TypeError(`${path}: expressions cannot name a field ${JSON.stringify(key)}`)
    byName.set(name, { key, type: declaredType(type, `${path}.${key}`) })
  }
  const shapes = new Map(Array.from(byName, ([name, { key, type }]) => [name, { key, shape: type.shape }]))
  return {
    sized: sizedObject(path, Object.fromEntries(Array.from(byName, ([name, { type }]) => [name, type.sized]))),
    shape: objectShape(() => shapes),
  }
}
