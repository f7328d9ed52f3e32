// What is wrong with an applied configuration: fields the type does not know, values of another kind, repeated keys.
import { isObject, type Json, type JsonObject } from '../lib/json-value.ts'
import type { AnyType, ScalarName } from '../schema/types.ts'
import { goPrint, goSyntax, goType } from './go-text.ts'
import { elementText, fieldElement } from './path-element.ts'
import { itemElement, type ListStructure, type MapStructure, type MessageStructure, type Structure, structureOf } from './structure.ts'

export type TypedError = { readonly path: string; readonly message: string }

/** Every place at which the value does not fit the type. */
export function typedErrors(type: AnyType, value: Json): TypedError[] {
  const errors: TypedError[] = []
  check(structureOf(type), value, { path: '', errors })
  return errors
}

/** All errors in one text, as clients read it. */
export function typedErrorText(errors: readonly TypedError[]): string {
  const lines = errors.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`))
  return lines.length === 1 ? lines[0]! : ['errors:', ...lines.map(line => `  ${line}`)].join('\n')
}

type At = { readonly path: string; readonly errors: TypedError[] }

function check(structure: Structure, value: Json | undefined, at: At): void {
  // Null is a value of every type: it says that the field is to be empty.
  if (value === null || value === undefined) return
  switch (structure.kind) {
    case 'scalar': {
      const message = SCALARS[structure.name](value)
      if (message !== undefined) at.errors.push({ path: at.path, message })
      return
    }
    case 'list':
      if (Array.isArray(value)) checkItems(structure, value, at)
      else at.errors.push({ path: at.path, message: `expected list, got &{${goPrint(value)}}` })
      return
    default:
      if (isObject(value)) checkMembers(structure, value, at)
      else at.errors.push({ path: at.path, message: `expected map, got &{${goPrint(value)}}` })
  }
}

function checkMembers(structure: MessageStructure | MapStructure, value: JsonObject, { path, errors }: At): void {
  for (const key of Object.keys(value)) {
    const here = path + elementText(fieldElement(key))
    const part = structure.kind === 'map' ? structure.value : structure.members.get(key)?.structure
    if (part === undefined) errors.push({ path: here, message: 'field not declared in schema' })
    else check(part, value[key], { path: here, errors })
  }
}

function checkItems(list: ListStructure, items: readonly Json[], { path, errors }: At): void {
  const seen = new Set<string>()
  for (const [i, item] of items.entries()) {
    if (list.atomic) {
      check(list.item, item, { path: `${path}[${i}]`, errors })
      continue
    }
    const found = itemElement(list, item)
    if (!found.ok) {
      errors.push({ path, message: `element ${i}: ${found.message}` })
      return
    }
    const text = elementText(found.element)
    if (seen.has(found.element)) errors.push({ path, message: `duplicate entries for key ${text}` })
    seen.add(found.element)
    check(list.item, item, { path: path + text, errors })
  }
}

type ScalarCheck = (value: Json) => string | undefined

const isScalar = (value: Json) => typeof value !== 'object'
const text: ScalarCheck = value =>
  typeof value === 'string' ? undefined : `expected string, got &value.valueUnstructured{Value:${goSyntax(value)}}`
const numeric: ScalarCheck = value =>
  typeof value === 'number' || typeof value === 'bigint' ? undefined : `expected numeric (int or float), got ${goType(value)}`
const truth: ScalarCheck = value => (typeof value === 'boolean' ? undefined : `expected boolean, got &{${goPrint(value)}}`)
const untyped: ScalarCheck = value => (isScalar(value) ? undefined : `expected any scalar, got &{${goPrint(value)}}`)

const SCALARS: Readonly<Record<ScalarName, ScalarCheck>> = {
  string: text,
  bytes: text,
  bool: truth,
  int32: numeric,
  int64: numeric,
  double: numeric,
  time: untyped,
  microTime: untyped,
  duration: untyped,
  quantity: untyped,
  intOrString: untyped,
  raw: () => undefined,
}
