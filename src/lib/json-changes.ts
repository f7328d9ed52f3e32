/** The difference between two JSON values as the operations of a JSON Patch, for people who want to see it. */
import { deepEqual, isObject } from './json-value.ts'

export type JsonChange = { readonly op: 'add' | 'remove' | 'replace'; readonly path: string; readonly value?: unknown }

/** Operations that turn one value into the other. Lists are compared place by place, so one in the middle is seen as several changes. */
export function* changesBetween(before: unknown, after: unknown, path = ''): Generator<JsonChange> {
  if (deepEqual(before, after)) return
  if (isObject(before) && isObject(after)) {
    for (const name of Object.keys(before)) if (!Object.hasOwn(after, name)) yield { op: 'remove', path: `${path}/${escaped(name)}` }
    for (const [name, value] of Object.entries(after)) {
      const below = `${path}/${escaped(name)}`
      if (Object.hasOwn(before, name)) yield* changesBetween(before[name], value, below)
      else yield { op: 'add', path: below, value }
    }
  } else if (Array.isArray(before) && Array.isArray(after)) {
    const common = Math.min(before.length, after.length)
    for (let i = 0; i < common; i++) yield* changesBetween(before[i], after[i], `${path}/${i}`)
    // From the end, so that each place is still the one that is meant.
    for (let i = before.length - 1; i >= common; i--) yield { op: 'remove', path: `${path}/${i}` }
    for (let i = common; i < after.length; i++) yield { op: 'add', path: `${path}/${i}`, value: after[i] }
  } else yield { op: 'replace', path, value: after }
}

const escaped = (name: string): string => name.replaceAll('~', '~0').replaceAll('/', '~1')
