/** Costs of library functions at run time, by the sizes of their arguments. */

import { LIST_CREATION_COST, REGEX_LENGTH_FACTOR, STRING_TRAVERSAL_FACTOR } from '../checker/cost-range.ts'
import { CelList, CelMap, type CelValue, elementsOf, sizeOf } from '../runtime/values.ts'

type Args = readonly CelValue[]

/** Values of library types that have a size for costs, though not for expressions. */
export interface Sized {
  readonly costSize: number
}

/** The size of a value; 1 for values without a size. */
export function actualSize(value: CelValue | undefined): number {
  if (value === undefined) return 1
  if (typeof value === 'object' && value !== null && 'costSize' in value) return (value as CelValue & Sized).costSize
  return sizeOf(value) ?? 1
}

export const unitCost = (): number => 1

/** Traversing the first argument once. */
export const traversal = (args: Args): number => perCharacter(args[0], STRING_TRAVERSAL_FACTOR)

/** Traversing the first argument and producing as much output. */
export const doubleTraversal = (args: Args): number => perCharacter(args[0], 2 * STRING_TRAVERSAL_FACTOR)

/** Some cost for each unit of a value's size, rounded up. */
export const perCharacter = (value: CelValue | undefined, factor: number): number => Math.ceil(actualSize(value) * factor)

/** Matching a pattern of some length against a string. */
export const matchingCost = (text: CelValue | undefined, patternLength: number): number =>
  Math.ceil((1 + actualSize(text)) * STRING_TRAVERSAL_FACTOR) * Math.ceil(patternLength * REGEX_LENGTH_FACTOR)

/** A call that creates a list of `size` elements, each at some cost. */
export const allocation = (size: number, factor = 1): number => Math.trunc(size * factor) + 1 + LIST_CREATION_COST

/** Traversing everything in a value. */
export function wholeTraversal(value: CelValue | undefined): number {
  if (typeof value === 'string') return Math.trunc(Buffer.byteLength(value) * STRING_TRAVERSAL_FACTOR)
  if (value instanceof Uint8Array) return Math.trunc(value.length * STRING_TRAVERSAL_FACTOR)
  let cost = 0
  if (value instanceof CelList) {
    for (const element of elementsOf(value)) cost += wholeTraversal(element)
    return cost
  }
  if (value instanceof CelMap) {
    for (const key of value.keys()) cost += wholeTraversal(key) + wholeTraversal(value.find(key))
    return cost
  }
  return 1
}
