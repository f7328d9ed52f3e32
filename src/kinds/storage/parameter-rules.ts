/** What classes of storage have in common: a driver that is named, and parameters that it understands. */
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

/** Few enough, small enough, and each with a name. */
export function* validateParameters(
  parameters: Readonly<Record<string, string>> | undefined,
  at: Ref<Record<string, string>>,
): Iterable<FieldError> {
  const entries = Object.entries(parameters ?? {})
  if (entries.length > MAX_PARAMETERS) return yield tooLong(at, MAX_PARAMETERS)
  if (entries.some(([name]) => name === '')) yield invalid(withValue(at, ''), 'field can not be empty.')
  if (bytesOf(parameters) > MAX_PARAMETER_BYTES) yield tooLong(at, MAX_PARAMETER_BYTES)
}

/** How many bytes names and values take together. */
export const bytesOf = (texts: Readonly<Record<string, string>> | undefined): number =>
  Object.entries(texts ?? {}).reduce((sum, [name, value]) => sum + Buffer.byteLength(name) + Buffer.byteLength(value), 0)
