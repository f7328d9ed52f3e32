// JSON Patch (RFC 6902) with the extensions and messages of the library that kube-apiserver uses.

import { MAX_DEPTH } from '../codec/json.ts'
import { goQuote } from '../lib/go-text.ts'
import { copyObject, deepEqual, getOwn, isObject, type Json, type JsonObject, jsonTypeName, setOwn } from '../lib/json-value.ts'
import { LIMITS } from '../lib/limits.ts'
import type { Step } from '../lib/step.ts'

/** The bytes that each copied value counts for at least. */
const COPIED_VALUE_BYTES = 64

/** A patch that cannot be read or does not apply; the message says why. */
export class PatchError extends Error {
  override readonly name = 'PatchError'
}

/** A `test` found another value: the patch is not made. */
export class PatchTestError extends PatchError {}

/** One operation; fields a client left out are absent. */
export interface PatchOperation {
  readonly op?: string
  readonly path?: string
  readonly from?: string
  readonly value?: Json
}

/** The operations of a decoded patch document and the paths of fields that no operation knows; throws PatchError. */
export function parseJsonPatch(document: Json): { operations: PatchOperation[]; unknownFields: string[] } {
  const unknownFields: string[] = []
  if (document === null) return { operations: [], unknownFields }
  if (!Array.isArray(document)) throw new PatchError(mismatch(document, 'Go value of type []handlers.jsonPatchOp'))
  const operations = document.map((item, index) => {
    if (item === null) return {}
    if (!isObject(item)) throw new PatchError(mismatch(item, 'Go value of type handlers.jsonPatchOp'))
    for (const key of Object.keys(item)) {
      const value = item[key] as Json
      if (key === 'op' || key === 'path' || key === 'from') {
        if (typeof value !== 'string' && value !== null)
          throw new PatchError(mismatch(value, `Go struct field jsonPatchOp.${key} of type string`))
      } else if (key !== 'value') unknownFields.push(`[${index}].${key}`)
    }
    return operationOf(item)
  })
  return { operations, unknownFields }
}

/**
 * The operations of a patch that no client sent, read without checks: null is a patch without operations, and an
 * operation that makes no sense fails when it is applied. Throws PatchError.
 */
export function decodeJsonPatch(document: Json): PatchOperation[] {
  if (document === null) return []
  if (!Array.isArray(document)) throw new PatchError(mismatch(document, 'Go value of type jsonpatch.Patch'))
  return document.map(item => {
    if (item === null) return {}
    if (!isObject(item)) throw new PatchError(mismatch(item, 'Go value of type jsonpatch.Operation'))
    return operationOf(item)
  })
}

/**
 * The document after all operations, in order; throws PatchError when one does not apply. The input is never changed and
 * parts that no operation touches are shared with it.
 */
export function* applyJsonPatch(document: Json, operations: readonly PatchOperation[]): Step<Json> {
  const patching = new Patching(document)
  for (const [i, operation] of operations.entries()) {
    if (i > 0 && i % MAX_BATCH_OPERATIONS === 0) yield
    patching.apply(operation)
  }
  return patching.result()
}

const MAX_BATCH_OPERATIONS = 500

type Container = Json[] | JsonObject

class Patching {
  #root: Json
  /** Containers made by this patch, which alone may be changed in place: a large one is copied once, not once per operation. */
  readonly #own = new WeakSet<object>()
  #copiedBytes = 0

  constructor(document: Json) {
    this.#root = document
  }

  apply(operation: PatchOperation): void {
    if (operation.op === 'add') this.#add(operation)
    else if (operation.op === 'remove') this.#remove(operation)
    else if (operation.op === 'replace') this.#replace(operation)
    else if (operation.op === 'move') this.#move(operation)
    else if (operation.op === 'copy') this.#copy(operation)
    else if (operation.op === 'test') this.#test(operation)
    else throw new PatchError(`Unexpected kind: ${operation.op ?? 'unknown'}`)
  }

  /** The patched document; repeated nesting must not leave one deeper than any document may be. */
  result(): Json {
    if (isDeeperThan(this.#root, MAX_DEPTH)) throw new PatchError('the patched document exceeds max depth')
    return this.#root
  }

  #add(operation: PatchOperation): void {
    const path = required(operation.path, 'add operation failed to decode path')
    const [parent, key] = this.#writable(path, missing => `add operation does not apply: doc is missing path: "${missing}": missing value`)
    // An operation without a value means null, as in kube-apiserver.
    wrap(`error in add for path: '${path}'`, () => insert(parent, key, operation.value ?? null))
  }

  #remove(operation: PatchOperation): void {
    const path = required(operation.path, 'remove operation failed to decode path')
    const [parent, key] = this.#writable(
      path,
      missing => `remove operation does not apply: doc is missing path: "${missing}": missing value`,
    )
    wrap(`error in remove for path: '${path}'`, () => take(parent, key))
  }

  #replace(operation: PatchOperation): void {
    const path = required(operation.path, 'replace operation failed to decode path')
    const value = operation.value ?? null
    if (path === '') {
      if (typeof value !== 'object' || value === null) throw new PatchError('replace operation value must be object or array: %!w(<nil>)')
      this.#root = value
      return
    }
    const [parent, key] = this.#writable(
      path,
      missing => `replace operation does not apply: doc is missing path: ${missing}: missing value`,
    )
    if (Array.isArray(parent)) {
      const index = wrap(`replace operation does not apply: doc is missing key: ${path}`, () => existingIndex(parent, key))
      parent[index] = value
    } else setOwn(parent, key, value)
  }

  #move(operation: PatchOperation): void {
    const from = required(operation.from, 'move operation failed to decode from')
    const [source, key] = this.#writable(
      from,
      missing => `move operation does not apply: doc is missing from path: ${missing}: missing value`,
    )
    const value = wrap(`error in move for path: '${key}'`, () => take(source, key))
    const path = required(operation.path, 'move operation failed to decode path')
    const [target, name] = this.#writable(
      path,
      missing => `move operation does not apply: doc is missing destination path: ${missing}: missing value`,
    )
    wrap(`error in move for path: '${path}'`, () => insert(target, name, value))
  }

  #copy(operation: PatchOperation): void {
    const from = required(operation.from, 'copy operation failed to decode from')
    const source = find(this.#root, from)
    if (source === undefined) throw new PatchError(`copy operation does not apply: doc is missing from path: ${from}: missing value`)
    const value = wrap(`error in copy for from: '${from}'`, () => read(...source))
    const path = required(operation.path, 'copy operation failed to decode path')
    const [target, key] = this.#writable(
      path,
      missing => `copy operation does not apply: doc is missing destination path: ${missing}: missing value`,
    )
    // A key that is not there is copied as null, as in kube-apiserver.
    const copy = this.#clone(value ?? null, 0)
    wrap('error while adding value during copy', () => insert(target, key, copy))
  }

  #test(operation: PatchOperation): void {
    const path = required(operation.path, 'test operation failed to decode path')
    const failed = () => new PatchTestError(`testing value ${path} failed: test failed`)
    if (path === '') {
      if (!deepEqual(this.#root, operation.value)) throw failed()
      return
    }
    const found = find(this.#root, path)
    if (found === undefined) throw new PatchError(`test operation does not apply: is missing path: ${path}: missing value`)
    const value = wrap(`error in test for path: '${path}'`, () => read(...found))
    // Absent and null are the same to a test.
    if (!deepEqual(value ?? null, operation.value ?? null)) throw failed()
  }

  /** The container a path leads into, with every container on the way fit to be changed, and the last key of the path. */
  #writable(path: string, missing: (path: string) => string): [Container, string] {
    const keys = split(path)
    const last = keys?.pop()
    // Looked up before anything is copied, so that a failing operation costs no more than the lookup.
    if (keys === undefined || last === undefined || !isContainer(walk(this.#root, keys))) throw new PatchError(missing(path))
    let container = (this.#root = this.#owned(this.#root as Container))
    for (const key of keys) {
      const next = this.#owned(read(container, key) as Container)
      if (Array.isArray(container)) container[existingIndex(container, key)] = next
      else setOwn<Json>(container, key, next)
      container = next
    }
    return [container, last]
  }

  #owned<T extends Container>(container: T): T {
    if (this.#own.has(container)) return container
    const copy = (Array.isArray(container) ? container.slice() : copyObject(container)) as T
    this.#own.add(copy)
    return copy
  }

  /** A copy must be a value of its own: both places may be changed by later operations. */
  #clone(value: Json, depth: number): Json {
    if (depth > MAX_DEPTH) throw new PatchError('error while performing deep copy: exceeded max depth')
    this.#countCopied(COPIED_VALUE_BYTES)
    if (typeof value !== 'object' || value === null) {
      if (typeof value === 'string') this.#countCopied(Buffer.byteLength(value))
      return value
    }
    if (Array.isArray(value)) return value.map(item => this.#clone(item, depth + 1))
    const out: JsonObject = {}
    for (const key of Object.keys(value)) {
      this.#countCopied(Buffer.byteLength(key))
      setOwn(out, key, this.#clone(value[key] as Json, depth + 1))
    }
    return out
  }

  #countCopied(bytes: number): void {
    this.#copiedBytes += bytes
    if (this.#copiedBytes > LIMITS.patchCopyBytes)
      throw new PatchError(
        `Unable to complete the copy, the accumulated size increase of copy is ${this.#copiedBytes}, exceeding the limit ${LIMITS.patchCopyBytes}`,
      )
  }
}

function operationOf(item: JsonObject): PatchOperation {
  const operation: { op?: string; path?: string; from?: string; value?: Json } = {}
  for (const key of ['op', 'path', 'from'] as const) {
    const text = getOwn(item, key)
    if (typeof text === 'string') operation[key] = text
  }
  const value = getOwn(item, 'value')
  if (value !== undefined) operation.value = value
  return operation
}

const mismatch = (value: Json, target: string) => `json: cannot unmarshal ${jsonTypeName(value)} into ${target}`

function required(field: string | undefined, message: string): string {
  if (field === undefined) throw new PatchError(`${message}: missing value`)
  return field
}

function wrap<T>(context: string, action: () => T): T {
  try {
    return action()
  } catch (error) {
    if (error instanceof PatchError) throw new PatchError(`${context}: ${error.message}`)
    throw error
  }
}

/** The keys of a pointer, or undefined for the whole document. Characters before the first slash are ignored, as in kube-apiserver. */
function split(path: string): string[] | undefined {
  const keys = path.split('/').slice(1)
  return keys.length === 0 ? undefined : keys.map(unescaped)
}

const unescaped = (key: string): string => (key.includes('~') ? key.replace(/~[01]/g, code => (code === '~1' ? '/' : '~')) : key)

function find(root: Json, path: string): [Container, string] | undefined {
  const keys = split(path)
  const last = keys?.pop()
  if (keys === undefined || last === undefined) return undefined
  const container = walk(root, keys)
  return isContainer(container) ? [container, last] : undefined
}

function walk(root: Json, keys: readonly string[]): Json | undefined {
  let value: Json | undefined = root
  for (const key of keys) {
    if (!isContainer(value)) return undefined
    if (Array.isArray(value)) {
      const index = parseIndex(key)
      value = typeof index === 'number' ? value.at(index) : undefined
    } else value = getOwn(value, key)
  }
  return value
}

function isContainer(value: Json | undefined): value is Container {
  return typeof value === 'object' && value !== null
}

function read(container: Container, key: string): Json | undefined {
  return Array.isArray(container) ? container[existingIndex(container, key)] : getOwn(container, key)
}

function insert(container: Container, key: string, value: Json): void {
  if (!Array.isArray(container)) setOwn(container, key, value)
  else if (key === '-') container.push(value)
  else {
    const parsed = parseIndex(key)
    if (typeof parsed === 'string') throw new PatchError(`value was not a proper array index: '${key}': ${parsed}`)
    container.splice(indexWithin(parsed, container.length + 1), 0, value)
  }
}

function take(container: Container, key: string): Json {
  if (Array.isArray(container)) return container.splice(existingIndex(container, key), 1)[0] as Json
  const value = getOwn(container, key)
  if (value === undefined) throw new PatchError(`Unable to remove nonexistent key: ${key}: missing value`)
  delete container[key]
  return value
}

function existingIndex(array: readonly Json[], key: string): number {
  const parsed = parseIndex(key)
  if (typeof parsed === 'string') throw new PatchError(parsed)
  return indexWithin(parsed, array.length)
}

/** Indices below zero count from the end, which kube-apiserver supports beyond the RFC. */
function indexWithin(index: number, length: number): number {
  if (index >= length || index < -length) throw new PatchError(`Unable to access invalid index: ${index}: invalid index referenced`)
  return index < 0 ? index + length : index
}

/** An index as Go reads integers, or the reason why it is none. */
function parseIndex(key: string): number | string {
  if (!/^[+-]?[0-9]+$/.test(key)) return `strconv.Atoi: parsing ${goQuote(key)}: invalid syntax`
  const index = Number(key)
  return Number.isSafeInteger(index) ? index + 0 : `strconv.Atoi: parsing ${goQuote(key)}: value out of range`
}

function isDeeperThan(value: Json, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (depth === 0) return true
  if (Array.isArray(value)) return value.some(item => isDeeperThan(item, depth - 1))
  for (const key in value) if (isDeeperThan(value[key] as Json, depth - 1)) return true
  return false
}
