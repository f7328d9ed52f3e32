/** Error paths that are not those of a field. */
import { pathOf, type Ref, refTo } from '../../schema/refs.ts'

/** A path under `at` that is not a field, with `value` as the value. */
export const under = <T>(at: Ref<any>, name: string, value?: T): Ref<T> =>
  refTo(value, pathOf(at) === '' ? name : `${pathOf(at)}.${name}`) as Ref<T>

/** The object as a whole, for errors about no field in particular. */
export const wholeObject: Ref<any> = refTo(undefined, '')
