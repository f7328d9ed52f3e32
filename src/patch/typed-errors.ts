// Faults of an applied configuration: fields the type does not know, values of another kind, repeated keys.

import { GoValue, goPrint, goSyntax, goType } from '../lib/go-text.ts'
import { isObject, type Json, type JsonObject } from '../lib/json-value.ts'
import type { AnyType, ScalarName } from '../schema/types.ts'
import { pathText } from './field-set.ts'
import { elementText, type PathElement } from './path-element.ts'
import {
  elementOf,
  itemElement,
  itemFault,
  type ListStructure,
  type MapStructure,
  type MessageStructure,
  type Structure,
  structureOf,
} from './structure.ts'

export type TypedError = { readonly path: string; readonly message: string }

/** Every field path at which the value does not fit the type. An applied configuration may name no item twice; a whole object may. */
export function typedErrors(type: AnyType, value: Json): TypedError[] {
  const errors: TypedError[] = []
  check(structureOf(type), value, new At(errors))
  return errors
}

/** Whether a value that was sent whole fits the type. */
export function fitsType(type: AnyType, value: Json): boolean {
  try {
    check(structureOf(type), value, new At(undefined))
    return true
  } catch (error) {
    if (error instanceof Unfit) return false
    throw error
  }
}

class Unfit extends Error {}

/** All errors in one text, as clients read it. */
export function typedErrorText(errors: readonly TypedError[]): string {
  const lines = errors.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`))
  return lines.length === 1 ? lines[0]! : ['errors:', ...lines.map(line => `  ${line}`)].join('\n')
}

/** Where a check is; the text of its path is made only when something is wrong there. */
class At {
  readonly #errors: TypedError[] | undefined
  readonly #path: PathElement[] = []
  /** Without a list for errors the first ends the check, and items may be there twice. */
  constructor(errors: TypedError[] | undefined) {
    this.#errors = errors
  }

  get allowsDuplicates(): boolean {
    return this.#errors === undefined
  }

  report(message: string): void {
    if (!this.#errors) throw new Unfit()
    this.#errors.push({ path: pathText(this.#path), message })
  }
  enter(element: PathElement): void {
    this.#path.push(element)
  }
  leave(): void {
    this.#path.pop()
  }
}

function check(structure: Structure, value: Json | undefined, at: At): void {
  // Null is a value of every type: it says that the field is to be empty.
  if (value === null || value === undefined) return
  switch (structure.kind) {
    case 'scalar': {
      const message = SCALARS[structure.name](value)
      if (message !== undefined) at.report(message)
      return
    }
    case 'list':
      if (Array.isArray(value)) checkItems(structure, value, at)
      else at.report(`expected list, got &{${goPrint(value)}}`)
      return
    default:
      if (isObject(value) && !((value as unknown) instanceof GoValue)) checkMembers(structure, value, at)
      else if (structure.kind === 'message' || !structure.anything) at.report(`expected map, got &{${goPrint(value)}}`)
  }
}

function checkMembers(structure: MessageStructure | MapStructure, value: JsonObject, at: At): void {
  for (const key of Object.keys(value)) {
    const part = structure.kind === 'map' ? structure.value : (structure.members.get(key)?.structure ?? structure.others)
    // Most members are scalars that fit; where they are is of no interest.
    if (part?.kind === 'scalar' && (value[key] === null || SCALARS[part.name](value[key]!) === undefined)) continue
    at.enter(elementOf(structure, key))
    if (part === undefined) at.report('field not declared in schema')
    else check(part, value[key], at)
    at.leave()
  }
}

function checkItems(list: ListStructure, items: readonly Json[], at: At): void {
  const seen = new Set<string>()
  for (const [i, item] of items.entries()) {
    const element = list.atomic ? `i:${i}` : itemElement(list, item)
    if (element === undefined) {
      at.report(`element ${i}: ${itemFault(list, item)}`)
      return
    }
    if (seen.has(element) && !at.allowsDuplicates) at.report(`duplicate entries for key ${elementText(element)}`)
    seen.add(element)
    at.enter(element)
    check(list.item, item, at)
    at.leave()
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
