/** The types of mutation expressions: `Object{…}`, `Object.spec{…}` and `JSONPatch{…}`, and jsonpatch.escapeKey. */

import { goQuote } from '../../lib/go-text.ts'
import type { Library } from '../checker/library.ts'
import { type CelType, dynType, objectType, stringType } from '../checker/types.ts'
import { traversal } from '../libraries/call-costs.ts'
import { fn, global } from '../libraries/declare.ts'
import { equalValues } from '../runtime/equality.ts'
import { type CelFault, CelList, CelMap, type CelValue, elementsOf, fault } from '../runtime/values.ts'

const objectTypeName = 'Object'
export const jsonPatchType = objectType('JSONPatch')
/** The type of the root object of an apply configuration. */
export const applyObjectType = objectType(objectTypeName)

/** A part of an apply configuration, with any fields; its type is named after its path. */
export class PartialObject extends CelMap {
  readonly #type: CelType
  readonly fields: ReadonlyMap<string, CelValue>
  constructor(type: CelType, fields: ReadonlyMap<string, CelValue>) {
    super()
    this.#type = type
    this.fields = fields
  }
  override get type(): CelType {
    return this.#type
  }
  get size(): number {
    return this.fields.size
  }
  find(key: CelValue): CelValue | undefined {
    return typeof key === 'string' ? this.fields.get(key) : undefined
  }
  keys(): readonly CelValue[] {
    return [...this.fields.keys()]
  }
  override equalTo(other: CelValue): boolean {
    if (!(other instanceof PartialObject) || other.type.name !== this.type.name || other.size !== this.size) return false
    return [...this.fields].every(([name, value]) => {
      const theirs = other.fields.get(name)
      return theirs !== undefined && equalValues(value, theirs) === true
    })
  }
}

/** One operation of a JSON patch. */
export class JsonPatchOperation extends CelMap {
  readonly fields: ReadonlyMap<string, CelValue>
  constructor(fields: ReadonlyMap<string, CelValue>) {
    super()
    this.fields = fields
  }
  override get type(): CelType {
    return jsonPatchType
  }
  get size(): number {
    return this.fields.size
  }
  /** An operation, path or origin that is not set is empty. */
  find(key: CelValue): CelValue | undefined {
    if (typeof key !== 'string' || !patchFields.has(key)) return undefined
    return this.fields.get(key) ?? (key === 'value' ? undefined : '')
  }
  keys(): readonly CelValue[] {
    return [...this.fields.keys()]
  }
  override equalTo(other: CelValue): boolean | CelFault {
    if (!(other instanceof JsonPatchOperation)) return false
    if (['op', 'from', 'path'].some(name => this.find(name) !== other.find(name))) return false
    const [mine, theirs] = [this.find('value'), other.find('value')]
    return mine === undefined || theirs === undefined ? mine === theirs : equalValues(mine, theirs)
  }
}

const patchFields: ReadonlyMap<string, CelType> = new Map([
  ['op', stringType],
  ['path', stringType],
  ['from', stringType],
  ['value', dynType],
])

/** The type of a field that an operation does not have: nothing is assignable to it. */
const NAMELESS = objectType('')

const isObjectName = (name: string): boolean => name === objectTypeName || name.startsWith(`${objectTypeName}.`)

/** The types of objects without a schema, which allow all fields, and of patch operations. */
export const patchTypesLibrary = (): Library => ({
  types: {
    findType: name => (name === jsonPatchType.name ? jsonPatchType : isObjectName(name) ? objectType(name) : undefined),
    findField: (type, field) =>
      type === jsonPatchType.name ? (patchFields.get(field) ?? NAMELESS) : isObjectName(type) ? dynType : undefined,
    construct,
  },
  functions: [
    fn(
      'jsonpatch.escapeKey',
      global({ id: 'string_jsonpatch_escapeKey_string', params: [stringType], result: stringType, cost: traversal }, escapeKey),
    ),
  ],
})

function construct(name: string, fields: ReadonlyMap<string, CelValue>): CelValue | undefined {
  if (isObjectName(name)) return new PartialObject(objectType(name), fields)
  if (name !== jsonPatchType.name) return undefined
  for (const [field, value] of fields) {
    if (!patchFields.has(field)) return fault(`unexpected JSONPatchType field: ${field}`)
    if (field !== 'value' && typeof value !== 'string') return fault(`unexpected type for JSONPatchType '${field}' field`)
  }
  return new JsonPatchOperation(fields)
}

const escapeKey = (key: string): CelValue => key.replaceAll('~', '~0').replaceAll('/', '~1')

/** The errors of the types in an apply configuration: each must be named after its path. */
export function typeNameProblems(object: PartialObject): string[] {
  return problemsAt(object, [object.type.name])
}

/** Lists and maps between objects have no type names of their own. */
function problemsAt(value: CelValue, path: readonly string[]): string[] {
  if (value instanceof CelList) return [...elementsOf(value)].flatMap(element => problemsAt(element, path))
  if (!(value instanceof CelMap)) return []
  if (!(value instanceof PartialObject)) return value.keys().flatMap(key => problemsAt(value.find(key) ?? null, path))
  const expected = path.join('.')
  const nested = [...value.fields].flatMap(([name, field]) => problemsAt(field, [...path, name]))
  if (value.type.name === expected) return nested
  const names = `unexpected type name ${goQuote(value.type.name)}, expected ${goQuote(expected)}`
  return [`${names}, which matches field name path from root Object type`, ...nested]
}
