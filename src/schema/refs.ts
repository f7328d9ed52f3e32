/** A Ref is a typed path into one object: it has the path and the value there. Field errors are created from Refs. */

import { goFieldValue, goQuote } from '../lib/go-text.ts'
import type { Json } from '../lib/json-value.ts'
import { LIMITS } from '../lib/limits.ts'
import type { Step } from '../lib/step.ts'
import { truncate } from '../lib/truncate.ts'
import type { AnyType } from './types.ts'

const TARGET = Symbol('target')

/** The target of a Ref. Rules create Refs to everything they visit; paths are needed only for the few errors. */
class Target {
  readonly value: unknown
  readonly #above: Target | undefined
  readonly #step: string
  readonly #join: Join
  #path: string | undefined
  #type: AnyType | undefined

  constructor(value: unknown, { above, step, join, type }: Whence) {
    this.value = value
    this.#above = above
    this.#step = step
    this.#join = join
    this.#type = type
  }

  get path(): string {
    if (this.#path !== undefined) return this.#path
    // Schemas nest deeper than the call stack.
    const unknown: Target[] = []
    for (let at: Target | undefined = this; at && at.#path === undefined; at = at.#above) unknown.push(at)
    for (const at of unknown.reverse()) at.#path = at.#join(at.#above === undefined ? '' : at.#above.#path!, at.#step)
    return this.#path!
  }

  /** The type of a field, item or entry inside a value of a known type. */
  get type(): AnyType | undefined {
    const untyped: Target[] = []
    let around: Target = this
    for (; !around.#type && (around.#join === inward || around.#join === entered); around = around.#above!) untyped.push(around)
    let type = around.#type
    for (const at of untyped.reverse()) type = type && typeWithin(type, at.#step)
    return type
  }
}

type Join = (path: string, step: string) => string
type Whence = { readonly above?: Target; readonly step: string; readonly join: Join; readonly type?: AnyType | undefined }

const start: Join = (_, path) => path
const inward: Join = (path, step) => (INDEX.test(step) ? `${path}[${step}]` : path === '' ? step : `${path}.${step}`)
const entered: Join = (path, key) => `${path}[${key}]`
const unmoved: Join = path => path

export type Ref<T> = { readonly [TARGET]?: T } & (T extends readonly (infer E)[]
  ? { readonly [i: number]: Ref<E> }
  : T extends object
    ? { readonly [K in keyof T]-?: Ref<NonNullable<T[K]>> }
    : unknown)

/**
 * Points at a value; reading a property or an index points further in, whether or not it exists. With its type, errors about an absent
 * number or boolean show the value that absent means.
 */
export const refTo = <T>(value: T, path = '', type?: AnyType): Ref<T> => refAt<T>(value, { step: path, join: start, type })

const refAt = <T>(value: unknown, whence: Whence): Ref<T> => new Proxy(new Target(value, whence), INTO) as unknown as Ref<T>

const INTO: ProxyHandler<Target> = {
  get(target, key) {
    if (key === TARGET) return target
    const step = String(key)
    return refAt((target.value as Record<string, unknown> | undefined | null)?.[step], { above: target, step, join: inward })
  },
}

function typeWithin({ shape }: AnyType, name: string): AnyType | undefined {
  if (shape.kind === 'message') return Object.hasOwn(shape.fields, name) ? shape.fields[name]![1] : undefined
  if (shape.kind === 'map') return shape.value
  return shape.kind === 'list' ? shape.item : undefined
}
const INDEX = /^\d+$/

/** Points at one entry of a map, written `path[key]`. */
export function entry<T>(ref: Ref<Record<string, T>>, key: string): Ref<T> {
  const above = targetOf(ref)
  return refAt(Object.hasOwn(above.value ?? {}, key) ? (above.value as Record<string, T>)[key]! : undefined, {
    above,
    step: key,
    join: entered,
  })
}

/** The same field path with another value to report, for errors about a derived value. */
export const withValue = <T>(ref: Ref<any>, value: T): Ref<T> => refAt(value, { above: targetOf(ref), step: '', join: unmoved })

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

/** An error of one field. Clients see `message` after the field's name. */
export type FieldError = { readonly reason: FieldReason; readonly field: string; readonly message: string }

export const invalid = (ref: Ref<any>, detail: string): FieldError => aboutValue('FieldValueInvalid', 'Invalid value', ref, detail)
/** An invalid value that is too large or too secret to show. */
export const invalidUnshown = (ref: Ref<any>, detail: string): FieldError => about('FieldValueInvalid', 'Invalid value', ref, detail)
export const duplicate = (ref: Ref<any>): FieldError => aboutValue('FieldValueDuplicate', 'Duplicate value', ref)
export const notFoundValue = (ref: Ref<any>): FieldError => aboutValue('FieldValueNotFound', 'Not found', ref)
export const unsupported = (ref: Ref<any>, ...supported: readonly string[]): FieldError =>
  aboutValue(
    'FieldValueNotSupported',
    'Unsupported value',
    ref,
    supported.length ? `supported values: ${supported.map(goQuote).join(', ')}` : '',
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

/** One invalid error for each message of a string rule such as those in `lib/names.ts`. */
export const invalidEach = (ref: Ref<any>, details: readonly string[]): readonly FieldError[] => details.map(detail => invalid(ref, detail))

/** Whether rules yield any errors. */
export function hasErrors(errors: Iterable<FieldError>): boolean {
  for (const _ of errors) return true
  return false
}

const targetOf = (ref: Ref<any>): Target => (ref as { [TARGET]: Target })[TARGET]
const about = (reason: FieldReason, title: string, ref: Ref<any>, detail = ''): FieldError => ({
  reason,
  field: targetOf(ref).path,
  message: detail === '' ? title : `${title}: ${truncate(detail, LIMITS.errorTextLength)}`,
})
const aboutValue = (reason: FieldReason, title: string, ref: Ref<any>, detail = ''): FieldError =>
  about(reason, `${title}: ${goFieldValue(valueToShow(targetOf(ref)), targetOf(ref).type ?? 'given')}`, ref, detail)

const ZEROS: { readonly [scalar: string]: Json } = { int32: 0, int64: 0, double: 0, bool: false }

/** Absent numbers and booleans are zero, unless the type distinguishes zero from absent. */
function valueToShow({ value, type }: Target): Json | undefined {
  if (value !== undefined || type?.shape.kind !== 'scalar' || type.flags.optional) return value as Json | undefined
  return ZEROS[type.shape.name]
}

/**
 * Field errors as rules yield them. Rules that take long yield nothing now and then: there others may run, as in a step
 * (`lib/step.ts`).
 */
export type FieldErrors = Iterable<FieldError | undefined>

/** Rules, run only if those before them have not reached the limit of errors; they are told which errors those have found. */
export type ErrorSource = (found: readonly FieldError[]) => FieldErrors | undefined

/** The errors of all sources, in order, up to a limit: a hostile object can have more errors than anyone reads. */
export function* gatherErrors(...sources: readonly ErrorSource[]): Step<FieldError[]> {
  const errors: FieldError[] = []
  let length = 0
  for (const source of sources) {
    for (const error of source(errors) ?? NO_ERRORS) {
      if (error === undefined) {
        yield
        continue
      }
      errors.push(error)
      length += error.field.length + error.message.length
      if (errors.length === LIMITS.errorCauses || length > LIMITS.errorTextLength) return errors
    }
    yield
  }
  return errors
}

const NO_ERRORS: FieldErrors = []

/** All errors of rules, where nobody else has to run meanwhile. */
export function errorsOf(errors: FieldErrors): FieldError[] {
  const found: FieldError[] = []
  for (const error of errors) if (error !== undefined) found.push(error)
  return found
}
