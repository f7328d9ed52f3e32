// Random types, objects and field sets of fast-check, for the properties of patches.
import * as fc from 'fast-check'
import { copyObject, deepEqual, isObject, type Json, type JsonObject, setOwn } from '../../src/lib/json-value.ts'
import { finish, waitFor } from '../../src/lib/step.ts'
import { type Applied, type Apply, applyConfiguration as applying } from '../../src/patch/apply.ts'
import { type FieldSet, FieldSetBuilder } from '../../src/patch/field-set.ts'
import { withManagedFields } from '../../src/patch/managers.ts'
import { type TrackUpdate, trackUpdate as tracking, type Versions } from '../../src/patch/ownership.ts'
import { fieldElement, keyElement, valueElement } from '../../src/patch/path-element.ts'
import { type ListStructure, type Member, type Structure, structureOf } from '../../src/patch/structure.ts'
import { conform } from '../../src/schema/conform.ts'
import { type ManagedFieldsEntry, ObjectMeta } from '../../src/schema/object-meta.ts'
import { type AnyType, atomic, bool, int32, int64, keyed, mapOf, message, raw, set, string } from '../../src/schema/types.ts'

/** The number of runs of a property; more with `KEELSON_RUNS`. */
export const RUNS = { numRuns: Number(process.env['KEELSON_RUNS'] ?? 300) }

export const trackUpdate = (write: TrackUpdate): ManagedFieldsEntry[] => finish(tracking(write))
export const applyConfiguration = (apply: Apply): Applied => finish(applying(apply))

/** The versions of a kind that all have the same fields. */
export const versionsOf = (typeIn: Versions['typeIn']): Versions => ({
  typeIn,
  convert: wanted => waitFor(wanted.map(({ object, apiVersion }) => ({ ...object, apiVersion }))),
})

const Port = message('Port', { containerPort: [1, int32.always()], protocol: [2, string.default('TCP')], name: [3, string] })
const Container = message('Container', {
  name: [1, string.always()],
  image: [2, string],
  args: [3, atomic(string)],
  ports: [4, keyed(Port, 'containerPort', 'protocol').mergedBy('containerPort')],
  limits: [5, mapOf(string)],
  tty: [6, bool],
})
const Selector = message('Selector', { matchLabels: [1, mapOf(string)] }).atomic()
const Spec = message('Spec', {
  containers: [1, keyed(Container, 'name').mergedBy('name').always()],
  finalizers: [2, set(string).mergedBy()],
  selector: [3, Selector.always()],
  labels: [4, mapOf(string)],
  replicas: [5, int32.optional()],
  data: [6, raw],
})
/** A small kind with every type of part. */
export const Thing = message('Thing', { spec: [1, Spec.orEmpty()] })

const NAMES = ['a', 'b', 'c', 'd', 'e']
const texts = fc.constantFrom('x', 'y', 'z', 'é', '"q"', '<&>', '😀')
const mapKeys = fc.constantFrom('k', 'l', 'm', '__proto__', 'constructor', 'a.b/c', '0')
const names = fc.constantFrom('one', 'two', 'three', 'four')

const scalars: fc.Arbitrary<AnyType> = fc.constantFrom<AnyType[]>(string, string.optional(), int32, int64.optional(), bool.optional())

/** Types of any structure: messages in messages, maps, sets, keyed lists and atomic parts, with their merge strategies. */
export const types: fc.Arbitrary<AnyType> = fc.integer({ min: 1, max: 3 }).chain(typesOfDepth)

function typesOfDepth(depth: number): fc.Arbitrary<AnyType> {
  if (depth === 0) return fc.oneof(scalars, fc.constant<AnyType>(set(string).mergedBy()), fc.constant<AnyType>(atomic(string)))
  const inner = typesOfDepth(depth - 1)
  const part = fc.oneof(
    inner,
    inner.map((type): AnyType => mapOf(type)),
    messages(inner),
    messages(inner).map((type): AnyType => type.atomic()),
    messages(inner).map((type): AnyType => atomic(type)),
    items(inner).map((type): AnyType => keyed(type as never, 'name' as never).mergedBy('name')),
    items(inner).map((type): AnyType => keyed(type as never, 'name' as never, 'port' as never)),
  )
  return messages(part)
}

function messages(part: fc.Arbitrary<AnyType>): fc.Arbitrary<AnyType> {
  return fc.array(part, { minLength: 1, maxLength: 4 }).map(parts => message('M', fieldsOf(parts)) as AnyType)
}

function items(part: fc.Arbitrary<AnyType>): fc.Arbitrary<AnyType> {
  return fc
    .array(part, { maxLength: 3 })
    .map(parts => message('I', { name: [1, string.always()], port: [2, int32.default(80)], ...fieldsOf(parts) }) as AnyType)
}

const fieldsOf = (parts: readonly AnyType[]) => Object.fromEntries(parts.map((type, i) => [NAMES[i]!, [i + 10, type] as const]))

/** Whole objects of a kind with the given specification. */
export const kindOf = (spec: AnyType): AnyType =>
  message('Thing', {
    kind: [0, string],
    apiVersion: [0, string],
    metadata: [1, ObjectMeta.orEmpty()],
    spec: [2, spec.orEmpty()],
  }) as AnyType

/** Values of a type, without nulls, empty parts and repeated keys. */
function valuesOf(type: AnyType): fc.Arbitrary<Json> {
  return valuesOfStructure(structureOf(type))
}

function valuesOfStructure(structure: Structure): fc.Arbitrary<Json> {
  switch (structure.kind) {
    case 'scalar':
      if (structure.name === 'string') return texts
      if (structure.name === 'bool') return fc.boolean()
      if (structure.name === 'int64') return fc.oneof(fc.integer({ min: 1, max: 3 }), fc.constant(2n ** 60n + 1n))
      return fc.integer({ min: 1, max: 3 })
    case 'map':
      return fc
        .array(fc.tuple(mapKeys, valuesOfStructure(structure.value)), { minLength: 1, maxLength: 3 })
        .map(entries => objectOf(entries))
    case 'message': {
      const members = [...structure.members.values()]
      const parts = members.map(member => fc.option(valuesOfStructure(member.structure), { nil: undefined, freq: 3 }))
      return fc.tuple(...parts).map(values => {
        const present = values.flatMap((value, i): [string, Json][] => (isNothing(value) ? [] : [[members[i]!.name, value!]]))
        return objectOf(present)
      })
    }
    case 'list':
      return listsOf(structure)
  }
}

const isNothing = (value: Json | undefined) => value === undefined || (isObject(value) && Object.keys(value).length === 0)

function listsOf(list: ListStructure): fc.Arbitrary<Json> {
  const item = valuesOfStructure(list.item)
  if (list.atomic) return fc.array(item, { minLength: 1, maxLength: 3 })
  if (list.keys.length === 0) return fc.uniqueArray(texts, { minLength: 1, maxLength: 4 }) as fc.Arbitrary<Json>
  const ports = list.keys.length > 1 ? fc.option(fc.constantFrom(80, 81), { nil: undefined }) : fc.constant(undefined)
  const named = fc.tuple(item, names, ports).map(([value, name, port]) => {
    const { port: _, ...rest } = value as JsonObject
    return { ...rest, name, ...(port === undefined ? {} : { port }) } as JsonObject
  })
  const selector = (one: JsonObject) => (list.keys.length > 1 ? `${one['name']}/${one['port'] ?? 80}` : String(one['name']))
  return fc.uniqueArray(named, { minLength: 1, maxLength: 4, selector }) as fc.Arbitrary<Json>
}

function objectOf(entries: readonly (readonly [string, Json])[]): JsonObject {
  const out: JsonObject = {}
  for (const [key, value] of entries) setOwn(out, key, value)
  return out
}

/** Objects of a kind made by `kindOf`. */
export function objectsOf(type: AnyType): fc.Arbitrary<JsonObject> {
  const labels = fc.dictionary(mapKeys, texts, { maxKeys: 3 })
  const spec = (structureOf(type) as Extract<Structure, { kind: 'message' }>).members.get('spec')!.type
  return fc.tuple(labels, valuesOf(spec)).map(([given, value]) => ({
    apiVersion: 'example.com/v1',
    kind: 'Thing',
    metadata: { name: 'thing', ...(Object.keys(given).length > 0 ? { labels: objectOf(Object.entries(given)) } : {}) },
    ...(isObject(value) && Object.keys(value).length > 0 ? { spec: value } : {}),
  }))
}

/** The object as it would be stored: conformed to its type, with a UID and these managers. */
export function stored(type: AnyType, object: JsonObject, managedFields: Parameters<typeof withManagedFields>[1]): JsonObject {
  const value = conform(type, object).value as JsonObject
  return withManagedFields({ ...value, metadata: { ...(value['metadata'] as JsonObject), uid: 'u' } }, managedFields)
}

const elements = fc.oneof(
  fc.constantFrom('a', 'b', '__proto__', 'é').map(fieldElement),
  fc.constantFrom('one', 'two', 'a b', 'a!', 'a').map(name => keyElement([['name', name]])),
  fc.constantFrom(9, 80, 443).map(port =>
    keyElement([
      ['port', port],
      ['protocol', 'TCP'],
    ]),
  ),
  fc.constantFrom<Json[]>('x', '<', 9, 10, true, 2n ** 60n).map(valueElement),
  fc.constantFrom('i:0', 'i:10', 'i:9'),
)

/** Any field set. */
export const fieldSets: fc.Arbitrary<FieldSet> = fc
  .array(fc.array(elements, { minLength: 1, maxLength: 4 }), { maxLength: 8 })
  .map(paths => {
    const builder = new FieldSetBuilder()
    for (const path of paths) builder.add(path)
    return builder.set
  })

/** A strategic merge patch that turns one object into another. */
export function strategicDiff(structure: Structure, from: JsonObject, to: JsonObject): JsonObject {
  const patch: JsonObject = {}
  for (const key of Object.keys(from)) if (!Object.hasOwn(to, key)) setOwn(patch, key, null)
  for (const key of Object.keys(to)) {
    const [before, after] = [Object.hasOwn(from, key) ? from[key] : undefined, to[key]!]
    if (deepEqual(before, after)) continue
    const member = structure.kind === 'message' ? structure.members.get(key) : undefined
    const part = structure.kind === 'map' ? structure.value : member?.structure
    if (isObject(before) && isObject(after) && part) setOwn(patch, key, strategicDiff(part, before, after))
    else if (Array.isArray(before) && Array.isArray(after) && member?.flags.merge) Object.assign(patch, listDiff(member, before, after))
    else setOwn(patch, key, after)
  }
  return patch
}

function listDiff(member: Member, from: readonly Json[], to: readonly Json[]): JsonObject {
  const { name } = member
  const key = member.flags.merge?.key
  if (key === undefined) {
    const [gone, added] = [from.filter(value => !to.includes(value)), to.filter(value => !from.includes(value))]
    return {
      [`$setElementOrder/${name}`]: [...to],
      ...(gone.length > 0 ? { [`$deleteFromPrimitiveList/${name}`]: gone } : {}),
      ...(added.length > 0 ? { [name]: added } : {}),
    }
  }
  const { item } = member.structure as ListStructure
  const find = (list: readonly Json[], one: JsonObject) => (list as JsonObject[]).find(other => other[key] === one[key])
  const changes: Json[] = (to as JsonObject[]).flatMap(after => {
    const before = find(from, after)
    if (before === undefined) return [copyObject(after)]
    return deepEqual(before, after) ? [] : [{ ...strategicDiff(item, before, after), [key]: after[key]! }]
  })
  const deletions = (from as JsonObject[]).filter(before => !find(to, before)).map(before => ({ [key]: before[key]!, $patch: 'delete' }))
  return {
    [`$setElementOrder/${name}`]: (to as JsonObject[]).map(item => ({ [key]: item[key]! })),
    ...(changes.length + deletions.length > 0 ? { [name]: [...changes, ...deletions] } : {}),
  }
}
