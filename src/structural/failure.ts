/** Failures that a schema finds in a value, until it is known whether they count, and then as the field errors that clients see. */
import { goFieldValue, goQuote } from '../lib/go-text.ts'
import type { Json } from '../lib/json-value.ts'
import { LIMITS } from '../lib/limits.ts'
import type { Budget } from '../schema/budget.ts'
import type { FieldError, FieldReason } from '../schema/refs.ts'

/** One thing that is wrong. Two with the same text are the same. */
export type Failure = {
  readonly text: string
  /** The field that is wrong; undefined for failures of the value as a whole. */
  readonly field: string | undefined
  readonly reason: FieldReason
  /** The beginning of the message, in the words of the reason; the text itself for most. */
  readonly message: string
}

/** How much is said about one value, in characters: a hostile object can have more errors than a response shows, which need not be found. */
export const MAX_LENGTH = LIMITS.errorTextLength

/** As many errors as fit: they are enough to reject the object. */
export function bounded(errors: Iterable<FieldError>): FieldError[] {
  const some: FieldError[] = []
  let length = 0
  for (const error of errors) {
    some.push(error)
    length += error.field.length + error.message.length
    if (length > MAX_LENGTH) break
  }
  return some
}

/** The result of a schema: failures, and how many of its checks passed, which shows the alternative that was meant. */
export class ValidationResult {
  readonly failures: Failure[] = []
  fits = 0
  readonly #budget: Budget
  #texts: Set<string> | undefined
  #length = 0

  constructor(budget: Budget) {
    this.#budget = budget
  }

  get valid(): boolean {
    return this.failures.length === 0
  }

  add(failure: Failure): void {
    this.#budget.charge(FAILURE_WORK)
    if (this.#length > MAX_LENGTH) return
    this.#budget.charge(failure.message.length)
    this.#texts ??= new Set()
    if (this.#texts.has(failure.text)) return
    this.#length += failure.message.length
    this.#texts.add(failure.text)
    this.failures.push(failure)
  }

  merge(other: ValidationResult): void {
    for (const failure of other.failures) this.add(failure)
    this.fits += other.fits
  }
}

/** The units that a failure costs beside its text. */
const FAILURE_WORK = 8

/** A rule that the value of a field breaks. */
export function broken(path: string, rule: string, value: Json | undefined): Failure {
  const text = `${path} in body ${rule}`
  return { text, field: path, reason: 'FieldValueInvalid', message: `Invalid value: ${goFieldValue(value, 'sorted')}: ${text}` }
}

/** A value of the wrong type or format; `found` is its actual type. */
export function wrongType(path: string, type: string, found: string): Failure {
  const failure = broken(path, `must be of type ${type}: ${goQuote(found)}`, found)
  return { ...failure, reason: 'FieldValueTypeInvalid' }
}

export function missing(path: string): Failure {
  return { text: `${path} in body is required`, field: path, reason: 'FieldValueRequired', message: 'Required value' }
}

export function tooLong(path: string, max: number): Failure {
  const message = `Too long: may not be more than ${max} byte${max === 1 ? '' : 's'}`
  return { text: `${path} in body should be at most ${max} chars long`, field: path, reason: 'FieldValueTooLong', message }
}

/** Too many items or properties. */
export function tooMany(path: string, unit: 'items' | 'properties', { size, max }: { size: number; max: number }): Failure {
  const message = `Too many: ${size}: must have at most ${max} item${max === 1 ? '' : 's'}`
  return { text: `${path} in body should have at most ${max} ${unit}`, field: path, reason: 'FieldValueTooMany', message }
}

export function unsupported(path: string, value: Json, names: string): Failure {
  return {
    text: `${path} in body should be one of [${names}]`,
    field: path,
    reason: 'FieldValueNotSupported',
    message: `Unsupported value: ${goFieldValue(value, 'sorted')}: supported values: ${names}`,
  }
}

/** A property that may not be there. */
export function notAllowed(path: string, key: string): Failure {
  const text = `${path}.${key} in body is a forbidden property`
  return { text, field: path, reason: 'FieldValueInvalid', message: `Invalid value: ${goQuote(key)}: ${text}` }
}

/** A failure of the whole value and not of a field of it. */
export function overall(text: string): Failure {
  return { text, field: undefined, reason: 'FieldValueInvalid', message: `Invalid value: "": ${text}` }
}

/** The field error of a failure, with its path seen from `base`; a path of nothing is written as Go writes a nil path. */
export function fieldErrorOf({ field, reason, message }: Failure, base: string): FieldError {
  const path = field === undefined || field === '.' ? '' : field.replace(/^\./, '')
  const full = base === '' || path === '' ? base + path : `${base}.${path}`
  return { reason, field: full === '' ? NIL_PATH : full, message }
}
export const NIL_PATH = '<nil>'
