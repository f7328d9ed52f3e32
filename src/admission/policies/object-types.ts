/** The types that expressions of policies see when mistakes are looked for: those of built-in kinds, and of custom kinds by their schemas. */
import type { Library } from '../../cel/checker/library.ts'
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
  objectType,
  stringType,
  timestampType,
} from '../../cel/checker/types.ts'
import { escapeName, withReservedNames } from '../../cel/kubernetes/field-names.ts'
import { getOwn, isObject, type Json, type JsonObject } from '../../lib/json-value.ts'
import { ObjectMeta } from '../../schema/object-meta.ts'
import type { Resource } from '../../schema/resource.ts'
import type { AnyType, ScalarName, Shape } from '../../schema/types.ts'

/** The CEL type of a scalar. A quantity is a text or a number, which no type says: fields that hold one are not seen. */
const SCALARS: Readonly<Partial<Record<ScalarName, CelType>>> = {
  string: stringType,
  bool: boolType,
  int32: intType,
  int64: intType,
  double: doubleType,
  bytes: bytesType,
  time: timestampType,
  microTime: timestampType,
  duration: stringType,
  intOrString: dynType,
}

const METADATA = 'metadata of objects'

/** Where a type is: the name for objects there, and the messages that it is inside of. */
type Position = { readonly name: string; readonly inside: readonly Shape[] }

/** Gathers types by name as expressions ask for them: a kind has thousands of fields, an expression names a few. */
export class ObjectTypes {
  /** The fields of each object type that has been mentioned. */
  readonly #fields = new Map<string, ReadonlyMap<string, () => CelType | undefined>>()
  readonly library: Library = {
    types: {
      findType: name => (this.#fields.has(name) ? objectType(name) : undefined),
      findField: withReservedNames((type, field) => this.#fields.get(type)?.get(field)?.()),
    },
  }

  /** The type of the objects of a resource, under a name that no other type has. */
  of({ kind, type, def }: Resource, number: number): CelType | undefined {
    const position = { name: `${kind}${number}`, inside: [] }
    return def.custom ? this.#ofSchema(def.custom.published(3, { $ref: METADATA }), position) : this.#ofType(type, position)
  }

  #ofType({ shape }: AnyType, { name, inside }: Position): CelType | undefined {
    switch (shape.kind) {
      case 'scalar':
        return shape.name === 'raw' && !shape.as ? this.#object(name, []) : SCALARS[shape.name]
      case 'list':
        return listOf(this.#ofType(shape.item, { name: `${name}.@idx`, inside }))
      case 'map':
        return mapOf(this.#ofType(shape.value, { name: `${name}.@elem`, inside }))
      case 'message': {
        const fields = inside.includes(shape) ? [] : Object.entries(shape.fields)
        return this.#object(
          name,
          fields.map(([field, [, type]]) => [field, at => this.#ofType(type, { name: at, inside: [...inside, shape] })]),
        )
      }
      case 'either':
        return undefined
    }
  }

  #ofSchema(schema: Json | undefined, position: Position): CelType | undefined {
    if (!isObject(schema)) return undefined
    const { name, inside } = position
    if (refersToMetadata(schema)) return this.#ofType(ObjectMeta, position)
    if (schema['x-kubernetes-int-or-string'] === true) return dynType
    const { type, format, items, additionalProperties, properties } = schema
    switch (type) {
      case 'array':
        return listOf(this.#ofSchema(items, { name: `${name}.@idx`, inside }))
      case 'object': {
        if (isObject(additionalProperties)) return mapOf(this.#ofSchema(additionalProperties, { name: `${name}.@elem`, inside }))
        const all = { ...(schema['x-kubernetes-embedded-resource'] === true && ENVELOPE), ...(isObject(properties) ? properties : {}) }
        return this.#object(
          name,
          Object.entries(all).map(([field, value]) => [field, at => this.#ofSchema(value, { name: at, inside })]),
        )
      }
      case 'string':
        return getOwn(FORMATS, String(format)) ?? stringType
      case 'boolean':
        return boolType
      case 'number':
        return doubleType
      case 'integer':
        return intType
      default:
        return undefined
    }
  }

  #object(name: string, fields: readonly (readonly [field: string, typeOf: (name: string) => CelType | undefined])[]): CelType {
    if (!this.#fields.has(name)) {
      const known = new Map<string, () => CelType | undefined>()
      for (const [field, typeOf] of fields) {
        const escaped = escapeName(field)
        if (escaped !== undefined) known.set(escaped, () => typeOf(`${name}.${escaped}`))
      }
      this.#fields.set(name, known)
    }
    return objectType(name)
  }
}

const listOf = (item: CelType | undefined) => item && listType(item)
const mapOf = (value: CelType | undefined) => value && mapType(stringType, value)

const FORMATS: Readonly<Record<string, CelType>> = {
  byte: bytesType,
  duration: durationType,
  date: timestampType,
  'date-time': timestampType,
}

/** The fields of an embedded object, also where its schema does not declare them. */
const ENVELOPE: JsonObject = { apiVersion: { type: 'string' }, kind: { type: 'string' }, metadata: { $ref: METADATA } }

/** References may stand in `allOf`, to have a description beside them. */
const refersToMetadata = ({ $ref, allOf }: JsonObject): boolean =>
  $ref === METADATA || (Array.isArray(allOf) && allOf.some(each => isObject(each) && each['$ref'] === METADATA))
