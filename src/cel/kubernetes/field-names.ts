/** How expressions name the fields of objects. */
import type { TypeProvider } from '../checker/library.ts'

/** Names that mean something to CEL by themselves; as fields they are known in both ways. */
export const RESERVED: ReadonlySet<string> = new Set(
  'true false null in as break const continue else for function if import let loop package namespace return var void while'.split(' '),
)
const ESCAPES: Readonly<Record<string, string>> = { __: '__underscores__', '.': '__dot__', '-': '__dash__', '/': '__slash__' }

/** The name by which rules know a member; undefined for one that they cannot name. */
export function escapeName(name: string): string | undefined {
  if (!/^[a-zA-Z_./-][a-zA-Z0-9_./-]*$/.test(name)) return undefined
  return RESERVED.has(name) ? `__${name}__` : name.replace(/__|[./-]/g, found => ESCAPES[found]!)
}

/** Finds fields that are named by words that CEL keeps for itself also as they are written. */
export const withReservedNames =
  (findField: TypeProvider['findField']): TypeProvider['findField'] =>
  (type, field) =>
    findField(type, field) ?? (RESERVED.has(field) ? findField(type, `__${field}__`) : undefined)
