/** Rules for the paths of files in volumes and containers. */
import { type FieldError, invalid, type Ref, withValue } from '../../../../schema/refs.ts'

/** No element of the path is `..`. */
export function* validateNoBacksteps(path: string, at: Ref<any>): Iterable<FieldError> {
  if (hasBacksteps(path)) yield invalid(withValue(at, path), "must not contain '..'")
}

/** The path is relative and stays below its base directory. */
export function* validateLocalDescendingPath(path: string, at: Ref<any>): Iterable<FieldError> {
  if (isAbsolutePath(path)) yield invalid(withValue(at, path), 'must be a relative path')
  yield* validateNoBacksteps(path, at)
}

/** The path is relative, descends, and does not begin with two dots, which are reserved for atomic updates of volumes. */
export function* validateLocalNonReservedPath(path: string, at: Ref<any>): Iterable<FieldError> {
  yield* validateLocalDescendingPath(path, at)
  if (path.startsWith('..') && !path.startsWith('../')) yield invalid(withValue(at, path), "must not start with '..'")
}

export const hasBacksteps = (path: string): boolean => path.split('/').includes('..')
export const isAbsolutePath = (path: string): boolean => path.startsWith('/')

/** The error for an invalid file mode. */
export const FILE_MODE_MESSAGE = 'must be a number between 0 and 0777 (octal), both inclusive'
export const isFileMode = (mode: number): boolean => mode >= 0 && mode <= 0o777
