/** Checks the rules that types declare: required, limits, enums, formats, immutability. Yields all errors, in field order. */
import { deepEqual } from '../lib/json-value.ts'
import { type FieldError, invalid, invalidEach, type Ref, required, tooFew, tooLong, tooMany, unsupported } from './refs.ts'
import type { AnyType, MessageShape, Rules } from './types.ts'

/** The stored value, on updates: undefined for a field that was absent. */
export type Before = { readonly value: any }

/** Checks a conformed value, and on updates its change from the stored one. */
export function* check(type: AnyType, value: any, at: Ref<any>, before?: Before): Iterable<FieldError> {
  if (!hasRules(type)) return
  const { shape, rules, flags } = type
  if (!isEmpty(value)) yield* checkRules(rules, value, at)
  else if (flags.required) yield required(at)
  if (flags.immutable && before && !deepEqual(before.value ?? null, value ?? null)) yield invalid(at, 'field is immutable')
  if (value === undefined || value === null) return
  const into = at as Record<string | number, Ref<any>>
  if (shape.kind === 'list' && hasRules(shape.item)) for (let i = 0; i < value.length; i++) yield* check(shape.item, value[i], into[i]!)
  if (shape.kind === 'message')
    for (const [name, field] of ruledFields(shape)) {
      // Most fields of most objects are absent and optional; they need no Ref.
      const part = value[name]
      if ((part !== undefined && part !== null) || field.flags.required || (field.flags.immutable && before))
        yield* check(field, part, into[name]!, before && { value: before.value?.[name] })
    }
}

const fieldsWithRules = new WeakMap<MessageShape, readonly (readonly [name: string, type: AnyType])[]>()

/** The fields of a message with a rule at or below them. */
export function ruledFields(shape: MessageShape): readonly (readonly [name: string, type: AnyType])[] {
  let fields = fieldsWithRules.get(shape)
  if (!fields) {
    fields = Object.entries(shape.fields).flatMap(([name, [, type]]) => (hasRules(type) ? [[name, type] as const] : []))
    fieldsWithRules.set(shape, fields)
  }
  return fields
}

function* checkRules({ min, max, enum: values, format }: Rules, value: any, at: Ref<any>): Iterable<FieldError> {
  if (typeof value === 'number' || typeof value === 'bigint') {
    if (min !== undefined && value < min) yield invalid(at, `must be greater than or equal to ${min}`)
    if (max !== undefined && value > max) yield invalid(at, `must be less than or equal to ${max}`)
  } else if (typeof value === 'string') {
    if (values && !values.includes(value)) yield unsupported(at, ...values)
    if (max !== undefined && Buffer.byteLength(value) > max) yield tooLong(at, max)
    if (format) yield* invalidEach(at, format(value))
  } else {
    const size = Array.isArray(value) ? value.length : Object.keys(value).length
    if (min !== undefined && size < min) yield tooFew(at, size, min)
    if (max !== undefined && size > max) yield tooMany(at, size, max)
  }
}

const isEmpty = (value: any) => value === undefined || value === null || value === '' || (Array.isArray(value) && value.length === 0)

const known = new WeakMap<AnyType, boolean>()

/** Whether a type has rules at or below it; most of a large type has none and is skipped. */
function hasRules(type: AnyType): boolean {
  const answer = known.get(type)
  if (answer !== undefined) return answer
  known.set(type, false)
  const { shape, rules, flags } = type
  const own = flags.required === true || flags.immutable === true || Object.keys(rules).length > 0
  const found =
    own ||
    (shape.kind === 'list' && hasRules(shape.item)) ||
    (shape.kind === 'message' && Object.values(shape.fields).some(([, field]) => hasRules(field)))
  known.set(type, found)
  return found
}
