/** Where errors are that no field has. */
import { pathOf, type Ref, refTo } from '../../schema/refs.ts'

/** A path under `at` for errors that no field has, with `value` as the value. */
export const under = <T>(at: Ref<any>, name: string, value?: T): Ref<T> =>
  refTo(value, pathOf(at) === '' ? name : `${pathOf(at)}.${name}`) as Ref<T>

/** The object as a whole, for errors about no field in particular. */
export const wholeObject: Ref<any> = refTo(undefined, '')
