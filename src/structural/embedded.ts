/** Whole objects within a custom object (`x-kubernetes-embedded-resource`): their envelope is read and checked as that of any object. */

import { compareText, goQuote, goShownJson } from '../lib/go-text.ts'
import { deepEqual, isObject, type Json, type JsonObject, setOwn } from '../lib/json-value.ts'
import { isDNS1035Label, nameIsPathSegment } from '../lib/names.ts'
import { ConformError, conform } from '../schema/conform.ts'
import { validateObjectMeta } from '../schema/meta-rules.ts'
import { ObjectMeta } from '../schema/object-meta.ts'
import { type FieldError, invalid, pathOf, type Ref, refTo, required } from '../schema/refs.ts'
import { childOf, entryOf } from './error-path.ts'
import { bounded } from './failure.ts'
import { memberSchema, type Structural } from './schema.ts'

export type CoerceOptions = {
  /** Takes `unknown field "…"` for what embedded metadata has no field for, in the order of their paths. */
  readonly problems?: string[]
  /** The treatment of a malformed envelope: refuse it, as decoding does, or leave the malformed parts out, as reading does. */
  readonly malformed?: 'refuse' | 'drop'
}

/**
 * The value with the envelopes of its embedded objects in proper form; the same value where they are. Throws ConformError. The
 * input is never changed.
 */
export function coerceEmbedded<T extends Json>(
  structural: Structural,
  value: T,
  { problems, malformed = 'refuse' }: CoerceOptions = {},
): T {
  if (!structural.has.embedded) return value
  const unknown: string[] = []
  const coerced = coerce(structural, value, { path: '', unknown, drop: malformed === 'drop' })
  if (problems) for (const path of unknown.sort(compareText)) problems.push(`unknown field "${path}"`)
  return coerced as T
}

type At = { readonly path: string; readonly unknown: string[]; readonly drop: boolean }

function coerce(schema: Structural | undefined, value: Json, at: At): Json {
  if (!schema?.has.embedded || typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) {
    const list = value.map((item, i) => coerce(schema.items, item, { ...at, path: entryOf(at.path, i) }))
    return list.some((item, i) => item !== value[i]) ? list : value
  }
  const out: JsonObject = {}
  let changed = false
  for (const key of Object.keys(value)) {
    const known = schema.properties.has(key)
    const path = known ? childOf(at.path, key) : entryOf(at.path, key)
    const own = schema.embedded ? coerceEnvelope(key, value[key]!, at) : value[key]!
    const next = own === undefined ? undefined : coerce(memberSchema(schema, key), own, { ...at, path })
    if (next !== value[key]) changed = true
    if (next !== undefined) setOwn(out, key, next)
  }
  return changed ? out : value
}

/** The member of an envelope in proper form, or undefined for one that is left out. */
function coerceEnvelope(key: string, value: Json, { path, unknown, drop }: At): Json | undefined {
  if (key === 'metadata') return coerceMetadata(value, { path: childOf(path, key), unknown, drop })
  if ((key !== 'apiVersion' && key !== 'kind') || typeof value === 'string') return value
  if (drop) return undefined
  throw refusal(childOf(path, key), value, 'must be a string')
}

function coerceMetadata(value: Json, at: At): Json {
  try {
    const { value: metadata, problems } = conform(ObjectMeta, value)
    for (const problem of problems) at.unknown.push(`${at.path}.${JSON.parse(problem.slice('unknown field '.length))}`)
    // Callers compare values by identity to see whether anything changed.
    return deepEqual(metadata, value) ? value : (metadata ?? {})
  } catch (error) {
    if (!(error instanceof ConformError)) throw error
    if (!at.drop) throw refusal(at.path, value, error.message)
    return isObject(value) ? wellFormedFields(value) : value
  }
}

/** The fields of some metadata that can be read, each by itself. */
function wellFormedFields(value: JsonObject): JsonObject {
  const out: JsonObject = {}
  for (const key of Object.keys(value)) {
    const field: JsonObject = {}
    setOwn(field, key, value[key]!)
    try {
      Object.assign(out, conform(ObjectMeta, field).value)
    } catch (error) {
      if (!(error instanceof ConformError)) throw error
    }
  }
  return out
}

const refusal = (path: string, value: Json, why: string) =>
  new ConformError(`${path}: Invalid value: ${typeof value === 'string' ? goQuote(value) : goShownJson(value)}: ${why}`)

/** The errors of the envelopes of objects within a value; rules are the same on creates and updates. */
export function validateEmbedded(structural: Structural, value: Json, at: Ref<any>): FieldError[] {
  return structural.has.embedded ? bounded(envelopeFaults(structural, value, pathOf(at))) : []
}

function* envelopeFaults(schema: Structural | undefined, value: Json, path: string): Generator<FieldError> {
  if (!schema?.has.embedded || typeof value !== 'object' || value === null) return
  if (Array.isArray(value)) {
    for (const [i, item] of value.entries()) yield* envelopeFaults(schema.items, item, entryOf(path, i))
    return
  }
  if (schema.embedded) yield* envelopeFault(value, path)
  for (const key of Object.keys(value)) {
    const known = schema.properties.has(key)
    yield* envelopeFaults(memberSchema(schema, key), value[key]!, known ? childOf(path, key) : entryOf(path, key))
  }
}

function* envelopeFault(object: JsonObject, path: string): Generator<FieldError> {
  const ref = (key: string) => refTo(object[key], childOf(path, key))
  for (const key of ['apiVersion', 'kind']) if (!Object.hasOwn(object, key)) yield required(ref(key))
  for (const key of Object.keys(object)) {
    const value = object[key]!
    if (key === 'metadata') yield* metadataFaults(value, childOf(path, key))
    else if (key === 'apiVersion' || key === 'kind') {
      const fault = nameFault(key, value)
      if (fault !== undefined) yield invalid(ref(key), fault)
    }
  }
}

function nameFault(key: 'apiVersion' | 'kind', value: Json): string | undefined {
  if (typeof value !== 'string') return 'must be a string'
  if (value === '') return 'must not be empty'
  if (key === 'apiVersion') return value.split('/').length > 2 ? `unexpected GroupVersion string: ${value}` : undefined
  const faults = isDNS1035Label(value.toLowerCase())
  return faults.length === 0 ? undefined : `may have mixed case, but should otherwise match: ${faults.join(',')}`
}

function* metadataFaults(value: Json, path: string): Generator<FieldError> {
  try {
    const metadata = (conform(ObjectMeta, value).value ?? {}) as ObjectMeta
    // An embedded object need not have a name yet.
    const named = { ...metadata, name: metadata.name || 'fakename' }
    yield* validateObjectMeta(named, refTo(named, path), { namespaced: (named.namespace ?? '') !== '', nameRule: nameIsPathSegment })
  } catch (error) {
    if (!(error instanceof ConformError)) throw error
    yield invalid(refTo(value, path), error.message)
  }
}
