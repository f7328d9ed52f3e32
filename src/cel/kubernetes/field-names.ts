/** The names of object fields in CEL expressions. */
import type { TypeProvider } from '../checker/library.ts'

/** Reserved words of CEL; fields of these names can be used escaped and unescaped. */
export const RESERVED: ReadonlySet<string> = new Set(
  'true false null in as break const continue else for function if import let loop package namespace return var void while'.split(' '),
)
const ESCAPES: Readonly<Record<string, string>> = { __: '__underscores__', '.': '__dot__', '-': '__dash__', '/': '__slash__' }

/** The name of a field in rules; undefined for one that rules cannot name. */
export function escapeName(name: string): string | undefined {
  if (!/^[a-zA-Z_./-][a-zA-Z0-9_./-]*$/.test(name)) return undefined
  return RESERVED.has(name) ? `__${name}__` : name.replace(/__|[./-]/g, found => ESCAPES[found]!)
}

/** Finds fields whose names are reserved words of CEL also by their unescaped names. */
export const withReservedNames =
  (findField: TypeProvider['findField']): TypeProvider['findField'] =>
  (type, field) =>
    findField(type, field) ?? (RESERVED.has(field) ? findField(type, `__${field}__`) : undefined)
