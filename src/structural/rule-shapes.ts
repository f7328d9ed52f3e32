/** How rules read the JSON that a schema describes. */

import { escapeName, RESERVED } from '../cel/kubernetes/field-names.ts'
import type { Shape, ShapeField } from '../cel/runtime/json-values.ts'
import {
  boolShape,
  bytesShape,
  dateShape,
  doubleShape,
  durationShape,
  intOrStringShape,
  intShape,
  listShape,
  mapShape,
  nullableShape,
  objectShape,
  preservedShape,
  stringShape,
  timestampShape,
} from '../cel/runtime/shapes.ts'
import { fault } from '../cel/runtime/values.ts'
import { withEnvelope } from './envelope.ts'
import type { Structural } from './schema.ts'

const shapes = new WeakMap<Structural, Shape>()

/** The shape of the values of a schema, made once. */
export function ruleShapeOf(schema: Structural): Shape {
  let shape = shapes.get(schema)
  if (shape === undefined) {
    const plain = plainShape(schema)
    shapes.set(schema, (shape = schema.nullable ? nullableShape(plain) : plain))
  }
  return shape
}

function plainShape(schema: Structural): Shape {
  if (schema.intOrString) return intOrStringShape
  switch (schema.types[0]) {
    case 'object':
      return shapeOfObject(schema)
    case 'array':
      return shapeOfList(schema)
    case 'string':
      return TEXTS.get(schema.source.format ?? '') ?? stringShape
    case 'number':
      return doubleShape
    case 'integer':
      return intShape
    case 'boolean':
      return boolShape
    default:
      return schema.preserve ? preservedShape : unreadable(`${NO_TYPE}${schema.types[0] ?? ''}`)
  }
}

const TEXTS: ReadonlyMap<string, Shape> = new Map([
  ['duration', durationShape],
  ['date', dateShape],
  ['date-time', timestampShape],
  ['byte', bytesShape],
])

const NO_TYPE =
  'invalid type, expected object, array, number, integer, boolean or string, or no type with x-kubernetes-int-or-string or x-kubernetes-preserve-unknown-fields is true, got '
const unreadable = (why: string): Shape => ({ read: () => fault(why) })

function shapeOfObject(schema: Structural): Shape {
  const whole = schema.embedded ? withEnvelope(schema) : schema
  if (whole.properties.size === 0 && typeof whole.additional === 'object') return mapShape(ruleShapeOf(whole.additional))
  return objectShape(() => fieldsOf(whole))
}

function fieldsOf({ properties }: Structural): Map<string, ShapeField> {
  const fields = new Map<string, ShapeField>()
  for (const [key, schema] of properties) {
    const name = escapeName(key)
    if (name === undefined) continue
    const field = { key, shape: ruleShapeOf(schema) }
    if (RESERVED.has(key)) fields.set(key, field)
    fields.set(name, field)
  }
  return fields
}

function shapeOfList({ items, list, listKeys }: Structural): Shape {
  if (items === undefined) return unreadable('invalid array type, expected Items with a non-empty Schema')
  const kind = list === 'map' ? { keys: listKeys.map(key => escapeName(key) ?? key) } : (list ?? 'atomic')
  return listShape(ruleShapeOf(items), kind)
}
