// Field sets as managedFields writes them: `{"f:spec":{"f:replicas":{}}}`, with "." for a field that is in the set beside its parts.
import { isObject, type Json, type JsonObject } from '../lib/json-value.ts'
import { EMPTY_SET, type FieldSet, isEmptySet, LEAF } from './field-set.ts'
import { type PathElement, parseElement, sortElements } from './path-element.ts'

export type ParsedFields = { readonly ok: true; readonly set: FieldSet } | { readonly ok: false; readonly message: string }

// Sets are immutable, so a set that was read from a document in canonical form, or written once, keeps its document.
const written = new WeakMap<FieldSet, JsonObject>()

/** The document of a set, its members in the order the reference writes them; not to be changed, for it may be shared. */
export function toFieldsV1(set: FieldSet): JsonObject {
  const known = written.get(set)
  if (known !== undefined) return known
  const fields = write(set, 'root')
  if (!isEmptySet(set)) written.set(set, fields)
  return fields
}

function write({ owned, children }: FieldSet, place: 'root' | 'below'): JsonObject {
  const out: JsonObject = {}
  if (children === undefined) return out
  if (owned && place === 'below') out['.'] = {}
  // Every key has a prefix, so none can be one that a prototype answers for.
  for (const element of sortElements(children.keys())) out[element] = write(children.get(element)!, 'below')
  return out
}

/** Reads a document. What only later versions know is dropped; absent and null are the empty set. */
export function fromFieldsV1(fields: Json | undefined): ParsedFields {
  if (fields === undefined || fields === null) return { ok: true, set: EMPTY_SET }
  if (!isObject(fields)) return { ok: false, message: 'fields must be an object' }
  const reading: Reading = { canonical: true, problem: undefined }
  const { children } = read(fields, reading)
  if (reading.problem !== undefined) return { ok: false, message: reading.problem }
  if (children === undefined) return { ok: true, set: EMPTY_SET }
  const set = { owned: false, children }
  if (reading.canonical && !Object.hasOwn(fields, '.')) written.set(set, fields)
  return { ok: true, set }
}

type Reading = { canonical: boolean; problem: string | undefined }

function read(fields: JsonObject, reading: Reading): FieldSet {
  let owned = false
  let children: Map<PathElement, FieldSet> | undefined
  let previous = ''
  for (const key of Object.keys(fields)) {
    if (key === '.') {
      if (children !== undefined) reading.canonical = false
      owned = true
      continue
    }
    const parsed = parseElement(key)
    if (!parsed.ok) {
      reading.problem ??= parsed.message
      continue
    }
    const { element } = parsed
    if (element === undefined) {
      reading.canonical = false
      continue
    }
    if (element !== key || (previous !== '' && !inOrder(previous, key))) reading.canonical = false
    previous = key
    const child = fields[key]
    if (child !== null && !isObject(child)) {
      reading.problem ??= `expect { or n, but found ${JSON.stringify(child)?.[0] ?? ''}`
      continue
    }
    children ??= new Map()
    children.set(element, child === null ? LEAF : read(child, reading))
  }
  if (children === undefined) {
    if (owned) reading.canonical = false
    return LEAF
  }
  return { owned, children }
}

// Names and text keys in which no character comes before the closing quote: their order is that of their text.
const BY_TEXT = /^(?:f:[ -~]*|k:\{"[A-Za-z]+":"[#-~]*"\}|v:"[#-~]*")$/

function inOrder(a: string, b: string): boolean {
  if (a[0] === b[0] && BY_TEXT.test(a) && BY_TEXT.test(b)) return a < b
  return sortElements([a, b])[0] === a
}
