/** Common rules of storage classes: their driver, and its parameters. */
import { isQualifiedName } from '../../lib/names.ts'
import { type FieldError, invalid, invalidEach, type Ref, required, tooLong, withValue } from '../../schema/refs.ts'

const MAX_PARAMETERS = 512
const MAX_PARAMETER_BYTES = 256 * 1024

/** A qualified name in either case. */
export function* validateDriver(driver: string, at: Ref<string>): Iterable<FieldError> {
  if (!driver) yield required(at)
  else {
    const lower = driver.toLowerCase()
    yield* invalidEach(withValue(at, lower), isQualifiedName(lower))
  }
}

/** Limited in number and size, each with a name. */
export function* validateParameters(
  parameters: Readonly<Record<string, string>> | undefined,
  at: Ref<Record<string, string>>,
): Iterable<FieldError> {
  const entries = Object.entries(parameters ?? {})
  if (entries.length > MAX_PARAMETERS) return yield tooLong(at, MAX_PARAMETERS)
  if (entries.some(([name]) => name === '')) yield invalid(withValue(at, ''), 'field can not be empty.')
  if (bytesOf(parameters) > MAX_PARAMETER_BYTES) yield tooLong(at, MAX_PARAMETER_BYTES)
}

/** The number of bytes of names and values together. */
export const bytesOf = (texts: Readonly<Record<string, string>> | undefined): number =>
  Object.entries(texts ?? {}).reduce((sum, [name, value]) => sum + Buffer.byteLength(name) + Buffer.byteLength(value), 0)
