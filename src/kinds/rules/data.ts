/** The data of ConfigMap and Secret, and its rules. */
import { isConfigMapKey } from '../../lib/names.ts'
import { entry, type FieldError, invalid, invalidEach, type Ref, withValue } from '../../schema/refs.ts'

/** The limit of all values of one object together. */
export const MAX_DATA_BYTES = 1024 * 1024
export const SEALED = 'field is immutable when `immutable` is set'

type Data = Record<string, string> | null | undefined

/** Keys become file names; those in `others` are used by the other map. */
export function* validateKeys(
  data: Data,
  at: Ref<Record<string, string>>,
  others?: { readonly data: Data; readonly name: string },
): Iterable<FieldError> {
  for (const key of Object.keys(data ?? {})) {
    const faults = isConfigMapKey(key)
    const isTaken = others?.data ? Object.hasOwn(others.data, key) : false
    if (faults.length === 0 && !isTaken) continue
    const here = withValue(entry(at, key), key)
    yield* invalidEach(here, faults)
    if (isTaken) yield invalid(here, `duplicate of key present in ${others!.name}`)
  }
}

/** The number of bytes of all values. */
export function sizeOf(data: Data, encoding: 'utf8' | 'base64'): number {
  let size = 0
  // Object.values would take several times as long for an object with many keys.
  for (const key of Object.keys(data ?? {})) size += Buffer.byteLength(data![key]!, encoding)
  return size
}
