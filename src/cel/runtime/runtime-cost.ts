/** Costs of the standard functions at run time, as in cel-go. */

import { CelOptional, type CelValue, sizeOf } from './values.ts'

export const selectCost = 1
export const listCost = 10
export const mapCost = 30
export const structCost = 40

/** The cost of a call by its first two arguments, before it is made. */
export type ArgumentCost = (a: CelValue, b: CelValue) => number

const traversal = 0.1
const perPatternCharacter = 0.25

/** The size of a value; 1 for values without a size. */
function actualSize(value: CelValue): number {
  const size = sizeOf(value)
  if (size !== undefined) return size
  return value instanceof CelOptional && value.value !== undefined ? actualSize(value.value) : 1
}

const traverse = (size: number): number => Math.ceil(size * traversal)

/** The cost of comparing two values. */
export const comparisonCost: ArgumentCost = (a, b) => traverse(Math.min(actualSize(a), actualSize(b)))

const ofFirst: ArgumentCost = a => traverse(actualSize(a))
const ofSecond: ArgumentCost = (_, b) => traverse(actualSize(b))
const ofSum: ArgumentCost = (a, b) => traverse(actualSize(a) + actualSize(b))
const ofProduct: ArgumentCost = (a, b) => traverse(actualSize(a)) * traverse(actualSize(b))
// One more than the length of the string, so that a costly pattern is not free on an empty string.
const ofMatch: ArgumentCost = (a, b) => traverse(1 + actualSize(a)) * Math.ceil(actualSize(b) * perPatternCharacter)

const costs: ReadonlyMap<string, ArgumentCost> = new Map<string, ArgumentCost>([
  ['starts_with_string', ofSecond],
  ['ends_with_string', ofSecond],
  ['string_to_bytes', ofFirst],
  ['bytes_to_string', ofFirst],
  ['strings_quote', ofFirst],
  ['string_format', ofFirst],
  ['in_list', (_, b) => actualSize(b)],
  ...['less', 'greater', 'less_equals', 'greater_equals'].flatMap((verb): [string, ArgumentCost][] => [
    [`${verb}_string`, comparisonCost],
    [`${verb}_bytes`, comparisonCost],
  ]),
  ['add_string', ofSum],
  ['add_bytes', ofSum],
  ['matches', ofMatch],
  ['matches_string', ofMatch],
  ['contains_string', ofProduct],
])

/** The cost of an overload by its id; undefined for those that cost 1. */
export const standardCost = (overload: string): ArgumentCost | undefined => costs.get(overload)
