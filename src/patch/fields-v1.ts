// Field sets as managedFields writes them: `{"f:spec":{"f:replicas":{}}}`, with "." for a field that is in the set beside its parts.
import { isObject, type Json, type JsonObject } from '../lib/json-value.ts'
import { EMPTY_SET, type FieldSet, fieldSet, LEAF } from './field-set.ts'
import { type PathElement, parseElement, sortElements } from './path-element.ts'

export type ParsedFields = { readonly ok: true; readonly set: FieldSet } | { readonly ok: false; readonly message: string }

/**
 * The document of a set, its members in the order kube-apiserver writes them. Parts that were read or written before keep
 * their documents, so it is not to be changed.
 */
export function toFieldsV1(set: FieldSet): JsonObject {
  if (set.document !== undefined) return set.document
  const { owned, children } = set
  const out: JsonObject = children !== undefined && children.size > MANY ? forManyKeys() : {}
  if (children !== undefined) {
    if (owned) out['.'] = {}
    // Every key has a prefix, so none can be one that a prototype answers for.
    for (const element of sortElements(children.keys())) out[element] = toFieldsV1(children.get(element)!)
  }
  set.document = out
  return out
}

const MANY = 128

/** An object that V8 keeps as a dictionary from the beginning: many new keys are added in half the time. */
const forManyKeys = (): JsonObject => Object.setPrototypeOf(Object.create(null), Object.prototype)

/** Reads a document. What only later versions know is dropped; absent and null are the empty set. */
export function fromFieldsV1(fields: Json | undefined): ParsedFields {
  if (fields === undefined || fields === null) return { ok: true, set: EMPTY_SET }
  if (!isObject(fields)) return { ok: false, message: 'fields must be an object' }
  const reading: Reading = { problem: undefined }
  const { owned, children, document } = read(fields, reading)
  if (reading.problem !== undefined) return { ok: false, message: reading.problem }
  if (children === undefined) return { ok: true, set: EMPTY_SET }
  const set = fieldSet(false, children)
  // No one owns a whole object: a "." at the root says nothing, and is not written again.
  if (!owned) set.document = document
  return { ok: true, set }
}

type Reading = { problem: string | undefined }

function read(fields: JsonObject, reading: Reading): FieldSet {
  let owned = false
  let children: Map<PathElement, FieldSet> | undefined
  let previous = ''
  let canonical = true
  for (const key of Object.keys(fields)) {
    if (key === '.') {
      if (children !== undefined) canonical = false
      owned = true
      continue
    }
    const element = elementOf(key, reading)
    // Where text is in order but numbers are not, the document is as good as the one we would write.
    if (element !== key || key < previous) canonical = false
    if (element === undefined) continue
    previous = key
    const value = fields[key]
    if (value !== null && !isObject(value)) {
      reading.problem ??= `expect { or n, but found ${JSON.stringify(value)?.[0] ?? ''}`
      continue
    }
    const child = value === null ? LEAF : read(value, reading)
    if (child === LEAF ? !isEmptyObject(value) : child.document !== value) canonical = false
    children ??= new Map()
    children.set(element, child)
  }
  if (children === undefined) return LEAF
  const set = fieldSet(owned, children)
  if (canonical) set.document = fields
  return set
}

function elementOf(key: string, reading: Reading): PathElement | undefined {
  if (key.startsWith('f:')) return key
  const parsed = parseElement(key)
  if (parsed.ok) return parsed.element
  reading.problem ??= parsed.message
  return undefined
}

function isEmptyObject(value: Json): boolean {
  for (const _ in value as JsonObject) return false
  return value !== null
}
