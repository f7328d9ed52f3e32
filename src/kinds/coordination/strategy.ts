/** The strategies by which the holder of a lease is chosen among candidates. */
import { isQualifiedName } from '../../lib/names.ts'
import { type FieldError, invalidEach, type Ref, unsupported, withValue } from '../../schema/refs.ts'

export const OLDEST_VERSION = 'OldestEmulationVersion'

/** The path names the field twice: as in kube-apiserver. */
export function* validateStrategy(strategy: string, at: Ref<string>): Iterable<FieldError> {
  const here = withValue((at as Record<string, Ref<string>>)['strategy']!, strategy)
  if (strategy.includes('/')) yield* invalidEach(here, isQualifiedName(strategy))
  else if (strategy !== OLDEST_VERSION) yield unsupported(here, OLDEST_VERSION)
}
