/** Kinds, and versions with other fields, that are served only if `--runtime-config` turns them on. */
import type { Kind } from '../schema/kind.ts'

export const kindsOnRequest: readonly Kind<any>[] = []
