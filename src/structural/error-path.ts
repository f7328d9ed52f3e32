/** Paths into an object as field errors write them: members after a dot, entries of maps and items of lists in brackets. */

export const childOf = (path: string, name: string): string => (path === '' ? name : `${path}.${name}`)
export const entryOf = (path: string, key: string | number): string => `${path}[${key}]`
