/** Whether two values of a type mean the same, though one may write an amount differently or leave out what is empty. */

import { deepEqual, isObject } from '../../lib/json-value.ts'
import { compareQuantity, parseQuantity } from '../../lib/quantity.ts'
import type { AnyType } from '../../schema/types.ts'

/** Amounts are compared by size, lists and maps without content are as good as none, everything else must be the same. */
export function meansTheSame(type: AnyType, a: any, b: any): boolean {
  if (a === b) return true
  const { shape, flags } = type
  if (shape.kind === 'message') {
    const [one, other] = flags.orEmpty ? [a ?? {}, b ?? {}] : [a ?? undefined, b ?? undefined]
    if (one === undefined || other === undefined) return one === other
    return Object.entries(shape.fields).every(([name, [, field]]) => meansTheSame(field, one[name], other[name]))
  }
  if (shape.kind === 'list') {
    const [one, other]: [any[], any[]] = [a ?? [], b ?? []]
    return one.length === other.length && one.every((item, i) => meansTheSame(shape.item, item, other[i]))
  }
  if (shape.kind === 'map') {
    const [one, other] = [a ?? {}, b ?? {}]
    const keys = Object.keys(one)
    return (
      keys.length === Object.keys(other).length &&
      keys.every(key => Object.hasOwn(other, key) && meansTheSame(shape.value, one[key], other[key]))
    )
  }
  if (shape.name === 'quantity' && typeof a === 'string' && typeof b === 'string')
    return compareQuantity(parseQuantity(a), parseQuantity(b)) === 0
  return deepEqual(a ?? undefined, b ?? undefined)
}

const CONTEXT = 3

/**
 * What changed between two values, line by line of their indented JSON, in the format of `diff -u`: one block from the first
 * change to the last. Keys are sorted unless an order is given.
 */
export function describeChange(before: unknown, after: unknown, { ordered = false }: { readonly ordered?: boolean } = {}): string {
  const [old, now] = [linesOf(before, ordered), linesOf(after, ordered)]
  let start = 0
  while (start < old.length && old[start] === now[start]) start++
  let end = 0
  while (end < Math.min(old.length, now.length) - start && old.at(-1 - end) === now.at(-1 - end)) end++
  const from = Math.max(0, start - CONTEXT)
  const [oldEnd, nowEnd] = [old.length - end, now.length - end]
  const tail = Math.min(end, CONTEXT)
  return [
    `@@ -${from + 1},${oldEnd + tail - from} +${from + 1},${nowEnd + tail - from} @@`,
    ...old.slice(from, start).map(line => ` ${line}`),
    ...old.slice(start, oldEnd).map(line => `-${line}`),
    ...now.slice(start, nowEnd).map(line => `+${line}`),
    ...old.slice(oldEnd, oldEnd + tail).map(line => ` ${line}`),
    '',
  ].join('\n')
}

function linesOf(value: unknown, ordered: boolean): string[] {
  const shown = (_: string, part: unknown) => (typeof part === 'bigint' ? Number(part) : isObject(part) && !ordered ? sorted(part) : part)
  return (JSON.stringify(value, shown, 1) ?? '').split('\n')
}

/** Keys in order, so that a change of order is no change. */
const sorted = (object: object): object => Object.fromEntries(Object.entries(object).sort(([a], [b]) => (a < b ? -1 : 1)))
