/** Semantic equality of two values of a type: quantities may be written differently, and empty fields left out. */

import { deepEqual } from '../../lib/json-value.ts'
import { compareQuantity, parseQuantity } from '../../lib/quantity.ts'
import { unifiedDiff } from '../../lib/unified-diff.ts'
import type { AnyType } from '../../schema/types.ts'
import { internalRepresentation } from './internal-representation.ts'

/** Quantities are compared by value, empty lists and maps equal absent ones, everything else must be the same. */
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

/** The difference between two values of a type: of the indented JSON of Kubernetes' internal type. */
export const describeChange = (type: AnyType, before: unknown, after: unknown): string =>
  unifiedDiff(linesOf(type, before), linesOf(type, after))

function linesOf(type: AnyType, value: unknown): string[] {
  const shown = (_: string, part: unknown) => (typeof part === 'bigint' ? Number(part) : part)
  return (JSON.stringify(internalRepresentation(type, value), shown, 1) ?? '').split('\n')
}
