/** What expressions know of objects whose types are declared: their fields, and the fields of those. */

import type { Library } from '../../cel/checker/library.ts'
import {
  boolType,
  bytesType,
  type CelType,
  doubleType,
  dynType,
  intType,
  listType,
  mapType,
  objectType,
  stringType,
  timestampType,
} from '../../cel/checker/types.ts'
import type { AnyType, Shape } from '../../schema/types.ts'

/** How declared types appear in expressions. */
export class DeclaredTypes {
  readonly #fieldsOf = new Map<string, FieldsOf>()

  /** The type of a value, named after where it is; undefined where expressions may not see it. */
  add(name: string, { shape, flags }: AnyType, { isCustom }: { readonly isCustom: boolean }): CelType | undefined {
    const part = (suffix: string, type: AnyType) => this.add(`${name}${suffix}`, type, { isCustom })
    switch (shape.kind) {
      case 'message':
        return this.#object(name, { isCustom, fields: field => shape.fields[field]?.[1] })
      case 'list': {
        const item = part('.@idx', shape.item)
        return item && listType(item)
      }
      case 'map': {
        // A custom object that says nothing of its members has none that expressions could name.
        if (isCustom && shape.value.flags.merge) return this.#object(name, NO_FIELDS)
        const value = part('.@elem', shape.value)
        return value && mapType(stringType, value)
      }
      case 'scalar':
        return shape.name === 'raw' ? this.#raw(name, isCustom && flags.merge === undefined) : SCALARS[shape.name]
      default:
        return undefined
    }
  }

  get library(): Library['types'] {
    return {
      findType: name => (this.#fieldsOf.has(name) ? objectType(name) : undefined),
      findField: (name, field) => {
        const known = this.#fieldsOf.get(name)
        const type = known?.fields(fieldNamed(field))
        return type && this.add(`${name}.${field}`, type, known!)
      },
    }
  }

  #object(name: string, fields: FieldsOf): CelType {
    this.#fieldsOf.set(name, fields)
    return objectType(name)
  }

  /** Values of either of two types may be anything; other values that nothing is known of are objects without fields. */
  #raw(name: string, isEither: boolean): CelType {
    return isEither ? dynType : this.#object(name, NO_FIELDS)
  }
}

type FieldsOf = { readonly isCustom: boolean; readonly fields: (name: string) => AnyType | undefined }
const NO_FIELDS: FieldsOf = { isCustom: false, fields: () => undefined }

type ScalarName = Extract<Shape, { kind: 'scalar' }>['name']
/** Quantities are of two types in descriptions of the API, which say neither: expressions do not see them. */
const SCALARS: Readonly<Partial<Record<ScalarName, CelType>>> = {
  string: stringType,
  duration: stringType,
  bool: boolType,
  int32: intType,
  int64: intType,
  double: doubleType,
  bytes: bytesType,
  time: timestampType,
  microTime: timestampType,
  intOrString: dynType,
}

/** Fields that CEL could not name, or would take for words of its own, have other names in expressions. */
const fieldNamed = (field: string): string =>
  field
    .replace(/^__([a-z]+)__$/, (all, word: string) => (['dot', 'dash', 'slash', 'underscores'].includes(word) ? all : word))
    .replaceAll('__dot__', '.')
    .replaceAll('__dash__', '-')
    .replaceAll('__slash__', '/')
    .replaceAll('__underscores__', '__')
