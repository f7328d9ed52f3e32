/** String rules that fields of pods share, as rules over a Ref. */
import { isDNS1123Label, isDNS1123Subdomain, isQualifiedName, isValidUserID, nameIsDNSSubdomain } from '../../lib/names.ts'
import { type FieldError, invalid, invalidEach, type Ref, required, unsupported, withValue } from '../../schema/refs.ts'

/** One error for each fault of a string; most have none, so that the Ref is created last. */
const faulty = (value: string, at: Ref<any>, faults: readonly string[]): Iterable<FieldError> =>
  faults.length === 0 ? NONE : invalidEach(withValue(at, value), faults)
const NONE: readonly FieldError[] = []

/** A DNS label. */
export const validateLabelText = (value: string, at: Ref<any>): Iterable<FieldError> => faulty(value, at, isDNS1123Label(value))

/** A DNS name. */
export const validateSubdomain = (value: string, at: Ref<any>): Iterable<FieldError> => faulty(value, at, isDNS1123Subdomain(value))

/** A label key. */
export const validateQualifiedName = (value: string, at: Ref<any>): Iterable<FieldError> => faulty(value, at, isQualifiedName(value))

/** The name of an object of a kind whose names are DNS names. */
export const validateObjectName = (name: string, at: Ref<any>): Iterable<FieldError> => faulty(name, at, nameIsDNSSubdomain(name))

/** A required DNS label. */
export function* validateRequiredLabelText(value: string | undefined, at: Ref<any>): Iterable<FieldError> {
  if (!value) yield required(at)
  else yield* validateLabelText(value, at)
}

/** One of the supported values; the empty string counts as missing. */
export function* validateChoice(value: string | undefined, at: Ref<any>, ...choices: readonly string[]): Iterable<FieldError> {
  if (!value) yield required(at)
  else if (!choices.includes(value)) yield unsupported(at, ...choices)
}

/** A user id, if there is one. */
export function* validateUser(user: number | bigint | undefined, at: Ref<any>): Iterable<FieldError> {
  if (user !== undefined) yield* invalidEach(at, isValidUserID(user))
}

/** A number that is not negative; absent is zero. */
export function* validateNonNegative(value: number | bigint | undefined, at: Ref<any>): Iterable<FieldError> {
  if ((value ?? 0) < 0) yield invalid(at, 'must be greater than or equal to 0')
}

/** A positive number; absent is zero. */
export function* validatePositive(value: number | bigint | undefined, at: Ref<any>): Iterable<FieldError> {
  if ((value ?? 0) <= 0) yield invalid(withValue(at, value ?? 0), 'must be greater than zero')
}
