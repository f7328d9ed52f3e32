/** A Ref is a typed path into one object: it knows where it points and what is there. Field errors are made from refs. */

import { goQuote } from '../lib/go-text.ts'
import type { AnyType } from './types.ts'

const TARGET = Symbol('target')
type Target = { readonly path: string; readonly value: unknown; readonly type: AnyType | undefined }

export type Ref<T> = { readonly [TARGET]?: T } & (T extends readonly (infer E)[]
  ? { readonly [i: number]: Ref<E> }
  : T extends object
    ? { readonly [K in keyof T]-?: Ref<NonNullable<T[K]>> }
    : unknown)

/**
 * Points at a value; reading a property or an index points further in, whether or not anything is there.
 * Given its type, errors about a number or a boolean that is absent show what absent means.
 */
export function refTo<T>(value: T, path = '', type?: AnyType): Ref<T> {
  return new Proxy(EMPTY, {
    get(_, key) {
      if (key === TARGET) return { path, value, type }
      const name = String(key)
      const next = INDEX.test(name) ? `${path}[${name}]` : path === '' ? name : `${path}.${name}`
      return refTo((value as Record<string, unknown> | undefined | null)?.[name], next, type && typeWithin(type, name))
    },
  }) as Ref<T>
}
function typeWithin({ shape }: AnyType, name: string): AnyType | undefined {
  if (shape.kind === 'message') return Object.hasOwn(shape.fields, name) ? shape.fields[name]![1] : undefined
  return shape.kind === 'list' ? shape.item : undefined
}
const EMPTY = Object.freeze({})
const INDEX = /^\d+$/

/** Points at one entry of a map, written `path[key]`. */
export function entry<T>(ref: Ref<Record<string, T>>, key: string): Ref<T> {
  const { path, value } = targetOf(ref)
  return refTo(Object.hasOwn(value ?? {}, key) ? (value as Record<string, T>)[key]! : undefined, `${path}[${key}]`) as Ref<T>
}

/** The same place with another value to report, for errors about something derived from what is there. */
export const withValue = <T>(ref: Ref<any>, value: T): Ref<T> => refTo(value, targetOf(ref).path)

export const pathOf = (ref: Ref<any>): string => targetOf(ref).path
export const targetValue = <T>(ref: Ref<T>): T | undefined => targetOf(ref).value as T | undefined

export type FieldReason =
  | 'FieldValueInvalid'
  | 'FieldValueRequired'
  | 'FieldValueForbidden'
  | 'FieldValueNotSupported'
  | 'FieldValueDuplicate'
  | 'FieldValueNotFound'
  | 'FieldValueTooLong'
  | 'FieldValueTooMany'
  | 'FieldValueTooFew'
  | 'FieldValueTypeInvalid'
  | 'InternalError'

/** What is wrong with one field. `message` is what clients read after the field's name. */
export type FieldError = { readonly reason: FieldReason; readonly field: string; readonly message: string }

export const invalid = (ref: Ref<any>, detail: string): FieldError => aboutValue('FieldValueInvalid', 'Invalid value', ref, detail)
/** Invalid for a reason that says it all, of a value too large or too secret to show. */
export const invalidUnshown = (ref: Ref<any>, detail: string): FieldError => about('FieldValueInvalid', 'Invalid value', ref, detail)
export const duplicate = (ref: Ref<any>): FieldError => aboutValue('FieldValueDuplicate', 'Duplicate value', ref)
export const notFoundValue = (ref: Ref<any>): FieldError => aboutValue('FieldValueNotFound', 'Not found', ref)
export const unsupported = (ref: Ref<any>, ...supported: readonly string[]): FieldError =>
  aboutValue(
    'FieldValueNotSupported',
    'Unsupported value',
    ref,
    supported.length ? `supported values: ${supported.map(s => JSON.stringify(s)).join(', ')}` : '',
  )
export const required = (ref: Ref<any>, detail = ''): FieldError => about('FieldValueRequired', 'Required value', ref, detail)
export const forbidden = (ref: Ref<any>, detail: string): FieldError => about('FieldValueForbidden', 'Forbidden', ref, detail)
export const tooLong = (ref: Ref<any>, max: number, unit: 'byte' | 'character' = 'byte'): FieldError =>
  about('FieldValueTooLong', 'Too long', ref, `may not be more than ${max} ${unit}${max === 1 ? '' : 's'}`)
export const tooMany = (ref: Ref<any>, actual: number, max: number): FieldError =>
  aboutValue('FieldValueTooMany', 'Too many', withValue(ref, actual), `must have at most ${max} item${max === 1 ? '' : 's'}`)
export const tooFew = (ref: Ref<any>, actual: number, min: number): FieldError =>
  aboutValue('FieldValueTooFew', 'Too few', withValue(ref, actual), `must have at least ${min} item${min === 1 ? '' : 's'}`)
export const internal = (ref: Ref<any>, detail: string): FieldError => about('InternalError', 'Internal error', ref, detail)

/** One invalid error for each message of a text rule such as those in `lib/names.ts`. */
export function* invalidEach(ref: Ref<any>, details: readonly string[]): Iterable<FieldError> {
  for (const detail of details) yield invalid(ref, detail)
}

const targetOf = (ref: Ref<any>): Target => (ref as { [TARGET]: Target })[TARGET]
const about = (reason: FieldReason, title: string, ref: Ref<any>, detail = ''): FieldError => ({
  reason,
  field: targetOf(ref).path,
  message: detail === '' ? title : `${title}: ${detail}`,
})
const aboutValue = (reason: FieldReason, title: string, ref: Ref<any>, detail = ''): FieldError =>
  about(reason, `${title}: ${show(valueToShow(targetOf(ref)))}`, ref, detail)
/** Go's JSON leaves nothing that could be taken for HTML. */
const HTML = /[<>&\u2028\u2029]/g

const ZEROS: { readonly [scalar: string]: unknown } = { int32: 0, int64: 0, double: 0, bool: false }

/** Absent numbers and booleans are zero, unless zero is something else than absent. */
function valueToShow({ value, type }: Target): unknown {
  if (value !== undefined || type?.shape.kind !== 'scalar' || type.flags.optional) return value
  return ZEROS[type.shape.name]
}

/** Absent shows as the empty text: most fields are text, and for them absent and empty are the same. */
function show(value: unknown): string {
  if (value === undefined) return '""'
  if (typeof value === 'string') return goQuote(value)
  if (typeof value === 'bigint') return String(value)
  const text = JSON.stringify(value, (_, v) => (typeof v === 'bigint' ? Number(v) : v))
  return text.replace(HTML, char => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** How much is said about what is wrong with one object, in characters. A hostile one can be wrong in more ways than there is room to tell. */
const MOST_SAID = 1 << 20

/** What is wrong, in order, as far as there is room to tell it; rules that come after that are not asked. */
export function gatherErrors(...sources: readonly (() => Iterable<FieldError> | undefined)[]): FieldError[] {
  const errors: FieldError[] = []
  let length = 0
  for (const source of sources)
    for (const error of source() ?? []) {
      errors.push(error)
      length += error.field.length + error.message.length
      if (length > MOST_SAID) return errors
    }
  return errors
}
