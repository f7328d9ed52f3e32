/** Types as OpenAPI schemas: definitions by name, collected as they are referred to. */
import { deepEqual, type Json, type JsonObject, setOwn } from '../../lib/json-value.ts'
import type { CustomSchema } from '../../schema/custom-schema.ts'
import { API_VERSION_DOC, KIND_DOC, LIST_METADATA_DOC, ManagedFieldsEntry, ObjectMeta } from '../../schema/object-meta.ts'
import type { AnyType, MessageShape, ScalarName, ScalarShape } from '../../schema/types.ts'
import { ListMeta } from '../common-messages.ts'
import type { GroupVersion } from './discovery-groups.ts'
import { APIMACHINERY, capitalize, META, type Naming, packageOf } from './openapi-names.ts'

/** The differences between OpenAPI 2 and 3 in references and features. */
export type Dialect = {
  readonly version: 2 | 3
  readonly refs: string
  /** Whether the values of closed sets are left out. */
  readonly hidesEnums?: boolean
}
export const V2: Dialect = { version: 2, refs: '#/definitions/' }
export const V3: Dialect = { version: 3, refs: '#/components/schemas/' }

export type GroupVersionKind = GroupVersion & { readonly kind: string }

const QUANTITY = 'io.k8s.apimachinery.pkg.api.resource.Quantity'
const INT_OR_STRING = 'io.k8s.apimachinery.pkg.util.intstr.IntOrString'
const RAW = 'io.k8s.apimachinery.pkg.runtime.RawExtension'
const FIELDS = `${META}.FieldsV1`
const MAP_TYPE = 'x-kubernetes-map-type'
const META_SHAPE = ObjectMeta.shape as MessageShape

/** Scalars that have their own definition in Kubernetes. */
const NAMED_SCALARS: ReadonlyMap<ScalarName, string> = new Map([
  ['time', `${META}.Time`],
  ['microTime', `${META}.MicroTime`],
  ['quantity', QUANTITY],
  ['intOrString', INT_OR_STRING],
  ['raw', RAW],
])

const INLINE_SCALARS: Readonly<Partial<Record<ScalarName, JsonObject>>> = {
  string: { type: 'string' },
  bool: { type: 'boolean' },
  int32: { type: 'integer', format: 'int32' },
  int64: { type: 'integer', format: 'int64' },
  double: { type: 'number', format: 'double' },
  bytes: { type: 'string', format: 'byte' },
  duration: { type: 'string' },
}

/** Collects the definitions of one document. */
export class Definitions {
  readonly #dialect: Dialect
  readonly #naming: Naming
  readonly #schemas = new Map<string, JsonObject>()
  readonly #shapes = new Map<string, MessageShape>()
  /** Objects keep their name even when a message inside another object has the same. */
  readonly #objects = new Set<string>()

  constructor(dialect: Dialect, naming: Naming) {
    this.#dialect = dialect
    this.#naming = naming
  }

  /** Defines a whole object under a name, with its group, version and kind, and refers to it. */
  object(
    name: string,
    type: AnyType,
    more: { usedIn: GroupVersion; kinds?: readonly GroupVersionKind[]; doc?: string | undefined },
  ): JsonObject {
    if (!this.#schemas.has(name) && type.shape.kind === 'message') {
      this.#objects.add(name)
      this.#define(name, type.shape, more.usedIn)
      const schema = this.#schemas.get(name)!
      if (more.doc) schema['description'] = more.doc
      if (more.kinds) Object.assign(schema, kindsOf(more.kinds))
    }
    return this.#refTo(name)
  }

  /** Defines an object of a custom kind, and refers to it. */
  custom(name: string, custom: CustomSchema, kinds: readonly GroupVersionKind[]): JsonObject {
    if (!this.#schemas.has(name)) {
      const schema = custom.published(this.#dialect.version, this.#message(META_SHAPE, APIMACHINERY))
      this.#schemas.set(name, { ...schema, ...kindsOf(kinds) })
    }
    return this.#refTo(name)
  }

  /** Defines the list of such objects. */
  customList(name: string, own: JsonObject, { kinds, doc }: { kinds: readonly GroupVersionKind[]; doc: string }): JsonObject {
    if (!this.#schemas.has(name)) {
      const metadata = this.#property(ListMeta, { doc: LIST_METADATA_DOC, usedIn: APIMACHINERY, rawName: RAW })
      const properties: JsonObject = {
        apiVersion: { description: API_VERSION_DOC, type: 'string' },
        items: { description: 'The objects.', type: 'array', items: own },
        kind: { description: KIND_DOC, type: 'string' },
        metadata,
      }
      this.#schemas.set(name, { description: doc, type: 'object', required: ['items'], properties, ...kindsOf(kinds) })
    }
    return this.#refTo(name)
  }

  /** Every definition, by name. */
  all(): { [name: string]: JsonObject } {
    const sorted: { [name: string]: JsonObject } = {}
    for (const name of [...this.#schemas.keys()].sort()) setOwn(sorted, name, this.#schemas.get(name)!)
    return sorted
  }

  #define(name: string, shape: MessageShape, usedIn: GroupVersion): void {
    const schema: JsonObject = { type: 'object' }
    this.#schemas.set(name, schema)
    this.#shapes.set(name, shape)
    const required: string[] = []
    const properties: JsonObject = {}
    for (const [field, [, type, doc]] of Object.entries(shape.fields)) {
      const rawName = shape === ManagedFieldsEntry.shape ? FIELDS : RAW
      setOwn(properties, field, this.#property(type, { doc, usedIn, rawName }))
      if (isRequired(type)) required.push(field)
    }
    if (required.length) schema['required'] = required
    if (Object.keys(properties).length) schema['properties'] = properties
    if (this.#naming.isAtomic(shape)) schema[MAP_TYPE] = 'atomic'
    if (shape.union) schema['x-kubernetes-unions'] = [unionOf(shape, shape.union)]
  }

  #property(type: AnyType, { doc, usedIn, rawName }: { doc: string | undefined; usedIn: GroupVersion; rawName: string }): JsonObject {
    const base = this.#schema(type, usedIn, rawName)
    const extra: JsonObject = {}
    if (doc) extra['description'] = doc
    // Clients of OpenAPI 2 would write the defaults themselves.
    const published = this.#dialect.version === 3 ? publishedDefault(type) : undefined
    if (published !== undefined) extra['default'] = published
    const saidByDefinition = type.shape.kind === 'message' && this.#naming.isAtomic(type.shape)
    if (type.flags.atomic && type.shape.kind !== 'list' && !saidByDefinition) extra[MAP_TYPE] = 'atomic'
    if (type.flags.granular) extra[MAP_TYPE] = 'granular'
    Object.assign(extra, mergeExtensions(type))
    if (Object.keys(extra).length === 0) return base
    const all = { ...base, ...extra }
    return this.#dialect.version === 3 ? beside(all) : all
  }

  #schema(type: AnyType, usedIn: GroupVersion, rawName = RAW): JsonObject {
    const { shape } = type
    switch (shape.kind) {
      case 'scalar':
        return this.#scalar(shape, type.rules.enum ?? type.flags.openapiEnum, shape.as ? `${packageOf(usedIn)}.${shape.as}` : rawName)
      case 'either':
        return this.#unconstrained(`${packageOf(usedIn)}.${shape.name}`)
      case 'message':
        return this.#message(shape, usedIn)
      case 'list':
        return { type: 'array', items: this.#schema(shape.item, usedIn) }
      case 'map':
        return { type: 'object', additionalProperties: this.#schema(shape.value, usedIn) }
    }
  }

  /** Limits of a value are rules of the server and not published, as in kube-apiserver; the values of a closed set are. */
  #scalar({ name, as }: ScalarShape, values: readonly string[] | undefined, rawName: string): JsonObject {
    if (as) return this.#unconstrained(rawName)
    const named = name === 'raw' ? rawName : NAMED_SCALARS.get(name)
    if (named) {
      if (!this.#schemas.has(named)) this.#schemas.set(named, namedScalar(named, this.#dialect))
      return this.#refTo(named)
    }
    return { ...INLINE_SCALARS[name], ...(values && !this.#dialect.hidesEnums ? { enum: [...values].sort() } : {}) }
  }

  /** Refers to a definition that has only a name. */
  #unconstrained(name: string): JsonObject {
    if (!this.#schemas.has(name)) this.#schemas.set(name, { description: 'One of several types that this document does not describe.' })
    return this.#refTo(name)
  }

  #message(shape: MessageShape, usedIn: GroupVersion): JsonObject {
    const wanted = this.#naming.nameOf(shape, usedIn)
    for (let name = wanted, n = 2; ; name = `${wanted}_${n++}`) {
      const known = this.#shapes.get(name)
      if (known === undefined) this.#define(name, shape, usedIn)
      else if (known !== shape && !this.#objects.has(name) && !isSameMessage(known, shape)) continue
      return this.#refTo(name)
    }
  }

  #refTo(name: string): JsonObject {
    return { $ref: this.#dialect.refs + name }
  }
}

const kindsOf = (kinds: readonly GroupVersionKind[]): JsonObject => ({
  'x-kubernetes-group-version-kind': kinds.map(({ group, version, kind }) => ({ group, version, kind })),
})

/** OpenAPI 3 ignores members beside a reference, so the reference moves one level down. */
function beside({ $ref, ...rest }: JsonObject): JsonObject {
  return $ref === undefined ? rest : { allOf: [{ $ref }], ...rest }
}

/** Two messages of one name are the same when their fields are; a shape may be declared once per use. */
const isSameMessage = (a: MessageShape, b: MessageShape) => deepEqual(Object.keys(a.fields), Object.keys(b.fields))

/**
 * A field that is always written is required, unless it may be absent or the server fills it in. Times are always written whether or not
 * they are set, so only those declared as required are.
 */
function isRequired({ shape, flags }: AnyType): boolean {
  if (flags.expected) return true
  if (flags.omittable || flags.default !== undefined || (flags.optional && !flags.always)) return false
  const isTime = shape.kind === 'scalar' && (shape.name === 'time' || shape.name === 'microTime')
  return isTime ? flags.required === true : flags.always === true
}

/**
 * The default that the type publishes, else the zero value of a field that is always written: clients need not send it, but it is not the
 * server's own default.
 */
function publishedDefault({ shape, flags }: AnyType): Json | undefined {
  if (flags.openapiDefault) return flags.openapiDefault.value as Json | undefined
  if (shape.kind === 'message') return flags.orEmpty ? {} : undefined
  return shape.kind === 'scalar' && flags.always && !flags.optional ? ZEROS[shape.name] : undefined
}
const ZEROS: Readonly<Partial<Record<ScalarName, Json>>> = { string: '', bool: false, int32: 0, int64: 0, double: 0 }

function unionOf({ fields }: MessageShape, { by }: { readonly by?: string }): JsonObject {
  const members = Object.keys(fields)
    .filter(name => name !== by)
    .sort()
  const values = Object.fromEntries(members.map(name => [name, capitalize(name)]))
  return { ...(by !== undefined && { discriminator: by }), 'fields-to-discriminateBy': values }
}

/** The extensions for apply and strategic merge patch. */
function mergeExtensions({ shape, flags }: AnyType): JsonObject {
  const found: JsonObject = {}
  if (shape.kind === 'list' && !flags.unmarked) {
    found['x-kubernetes-list-type'] = typeof shape.list === 'string' ? shape.list : 'map'
    if (typeof shape.list !== 'string') found['x-kubernetes-list-map-keys'] = [...shape.list]
  }
  if (flags.merge) {
    const { key, retainKeys, replace } = flags.merge
    if (key !== undefined) found['x-kubernetes-patch-merge-key'] = key
    const strategies = [...(shape.kind === 'list' ? ['merge'] : []), ...(retainKeys ? ['retainKeys'] : []), ...(replace ? ['replace'] : [])]
    found['x-kubernetes-patch-strategy'] = strategies.join(',')
  }
  return found
}

function namedScalar(name: string, { version }: Dialect): JsonObject {
  switch (name) {
    case QUANTITY:
      return {
        description: 'An amount with an optional suffix, such as 500m, 2 or 1Gi.',
        ...(version === 2 ? { type: 'string' } : { oneOf: [{ type: 'string' }, { type: 'number' }] }),
      }
    case INT_OR_STRING:
      return {
        description: 'A number, or text such as a name or a percentage.',
        format: 'int-or-string',
        ...(version === 2 ? { type: 'string' } : { oneOf: [{ type: 'integer' }, { type: 'string' }] }),
      }
    case RAW:
      return { description: 'Any object, kept as it was sent.', type: 'object' }
    case FIELDS:
      return {
        description:
          'A set of fields as a tree, in which names are prefixed by what they are: f for fields, k for keys, v for values, i for positions.',
        type: 'object',
      }
    case `${META}.MicroTime`:
      return { description: 'A time in RFC 3339 format with microseconds.', type: 'string', format: 'date-time' }
    default:
      return { description: 'A time in RFC 3339 format.', type: 'string', format: 'date-time' }
  }
}
