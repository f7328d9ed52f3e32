// Field sets as managedFields writes them: `{"f:spec":{"f:replicas":{}}}`, with "." for a field that is in the set beside its parts.
import { isObject, type Json, type JsonObject } from '../lib/json-value.ts'
import { LIMITS } from '../lib/limits.ts'
import type { Step } from '../lib/step.ts'
import { tooLarge } from '../schema/status-error.ts'
import { EMPTY_SET, type FieldSet, fieldSet, LEAF } from './field-set.ts'
import { type PathElement, parseElement, sortElements } from './path-element.ts'

export type ParsedFields = { readonly ok: true; readonly set: FieldSet } | { readonly ok: false; readonly message: string }

/**
 * The document of a set, its members in the order kube-apiserver writes them. Parts that were read or written before keep
 * their documents, so it is not to be changed.
 */
export function* writeFieldsV1(set: FieldSet): Step<JsonObject> {
  if (set.document !== undefined) return set.document
  const { owned, children } = set
  const out: JsonObject = children !== undefined && children.size > MANY ? forManyKeys() : {}
  if (children !== undefined) {
    if (owned) out['.'] = {}
    let left = MAX_BATCH
    // Every key has a prefix, so none can be one that a prototype answers for.
    for (const element of yield* sortElements(children.keys())) {
      const child = children.get(element)!
      out[element] = child.document ?? (yield* writeFieldsV1(child))
      if (--left === 0) {
        yield
        left = MAX_BATCH
      }
    }
  }
  set.document = out
  return out
}

/** How many members are read or written before others may run. */
const MAX_BATCH = 1024

const MANY = 128

/** An object that V8 keeps as a dictionary from the beginning: many new keys are added in half the time. */
const forManyKeys = (): JsonObject => Object.setPrototypeOf(Object.create(null), Object.prototype)

/** How many elements were not as we write them, in all documents that are read together. */
export type Rewritten = { count: number }

/** Reads a document. Elements that only later versions know are dropped; absent and null are the empty set. */
export function* readFieldsV1(fields: Json | undefined, rewritten: Rewritten = { count: 0 }): Step<ParsedFields> {
  if (fields === undefined || fields === null) return { ok: true, set: EMPTY_SET }
  if (!isObject(fields)) return { ok: false, message: 'fields must be an object' }
  const reading: Reading = { problem: undefined, rewritten }
  const { owned, children, document } = yield* readDocument(fields, reading)
  if (reading.problem !== undefined) return { ok: false, message: reading.problem }
  if (children === undefined) return { ok: true, set: EMPTY_SET }
  const set = fieldSet(false, children)
  // No one owns a whole object: a "." at the root says nothing, and is not written again.
  if (!owned) set.document = document
  return { ok: true, set }
}

type Reading = { problem: string | undefined; readonly rewritten: Rewritten }

/** Reads a document and all below it, without recursion, so that it can stop anywhere. */
function* readDocument(document: JsonObject, reading: Reading): Step<FieldSet> {
  let node = new OpenNode(document, '', undefined)
  for (let count = 1; ; count++) {
    if (count % MAX_BATCH === 0) yield
    const key = node.nextKey()
    if (key === undefined) {
      const set = node.close()
      if (node.around === undefined) return set
      node.around.add(node.element, set, node.fields)
      node = node.around
      continue
    }
    const element = elementOf(key, reading)
    node.note(key, element)
    if (element === undefined) continue
    const value = node.fields[key]!
    if (value === null || isEmptyObject(value)) node.add(element, LEAF, value)
    else if (isObject(value)) node = new OpenNode(value, element, node)
    else reading.problem ??= `expect { or n, but found ${JSON.stringify(value)?.[0] ?? ''}`
  }
}

/** A part of a document that is being read. */
class OpenNode {
  readonly fields: JsonObject
  /** Its path element in the node around it. */
  readonly element: PathElement
  readonly around: OpenNode | undefined
  readonly #keys: readonly string[]
  #next = 0
  #owned = false
  #children: Map<PathElement, FieldSet> | undefined
  #previous = ''
  /** Whether we would write the document as it is. */
  #isCanonical = true

  constructor(fields: JsonObject, element: PathElement, around: OpenNode | undefined) {
    this.fields = fields
    this.element = element
    this.around = around
    this.#keys = Object.keys(fields)
  }

  /** The next member that names a field below. */
  nextKey(): string | undefined {
    const key = this.#keys[this.#next++]
    if (key !== '.') return key
    if (this.#children !== undefined) this.#isCanonical = false
    this.#owned = true
    return this.#keys[this.#next++]
  }

  note(key: string, element: PathElement | undefined): void {
    // Where text is in order but numbers are not, the document is as good as the one we would write.
    if (element !== key || key < this.#previous) this.#isCanonical = false
    if (element !== undefined) this.#previous = key
  }

  add(element: PathElement, child: FieldSet, value: Json): void {
    if (child === LEAF ? value === null || !isEmptyObject(value) : child.document !== value) this.#isCanonical = false
    this.#children ??= new Map()
    this.#children.set(element, child)
  }

  close(): FieldSet {
    if (this.#children === undefined) return LEAF
    const set = fieldSet(this.#owned, this.#children)
    if (this.#isCanonical) set.document = this.fields
    return set
  }
}

function elementOf(key: string, reading: Reading): PathElement | undefined {
  if (key.startsWith('f:')) return key
  const parsed = parseElement(key)
  const element = parsed.ok ? parsed.element : undefined
  if (!parsed.ok) reading.problem ??= parsed.message
  if (element !== key && ++reading.rewritten.count > LIMITS.rewrittenElements)
    throw tooLarge(
      `Request entity is too large: more than ${LIMITS.rewrittenElements} parts of managedFields are not as the API writes them`,
    )
  return element
}

function isEmptyObject(value: Json): boolean {
  if (!isObject(value)) return false
  for (const _ in value) return false
  return true
}
