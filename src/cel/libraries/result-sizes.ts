/** The maximum sizes of the results of string functions. */

import { addRanges, multiplyRanges, type Range, UNLIMITED } from '../checker/cost-range.ts'
import type { Expr } from '../syntax/ast.ts'

/** The size of a string after a replacement. */
export function replacedSize(text: Range, old: Range, replacement: Range): Range {
  const most = longest(text, old, replacement)
  const least = shortest(text, old, replacement)
  const count = { min: least.count, max: most.count }
  return addRanges(multiplyRanges(count, replacement), { min: least.kept, max: most.kept })
}

interface Replaced {
  readonly count: bigint
  /** The number of characters that remain. */
  readonly kept: bigint
}

/** The empty string matches around every character; otherwise the smallest parts become the largest, as often as possible. */
function longest(text: Range, old: Range, replacement: Range): Replaced {
  if (old.min === 0n) return { count: text.max < UNLIMITED ? text.max + 1n : text.max, kept: text.max }
  if (replacement.max <= old.min) return { count: 0n, kept: text.max }
  return { count: quotient(text.max, old.min), kept: 0n }
}

function shortest(text: Range, old: Range, replacement: Range): Replaced {
  if (old.max === 0n) return { count: text.min < UNLIMITED ? text.min + 1n : text.min, kept: text.min }
  if (old.max <= replacement.min) return { count: 0n, kept: text.min }
  return { count: quotient(text.min, old.max), kept: 0n }
}

// Divides in floating point, as Kubernetes does.
function quotient(a: bigint, b: bigint): bigint {
  const rounded = Math.ceil(Number(a) / Number(b))
  return rounded >= 2 ** 64 ? UNLIMITED : BigInt(rounded)
}

/** The number of parts of a split string: at most one for each character, or the value of a literal limit. */
export function splitSize(text: Range, limit: Expr | undefined): Range {
  const isLimited = limit?.kind === 'literal' && limit.value.type === 'int'
  return { min: 0n, max: isLimited ? BigInt.asUintN(64, limit.value.value as bigint) : text.max }
}

/** The size of the joined strings of a list. */
export function joinSize(list: Range, { element, separator }: { element?: Range; separator?: Range }): Range {
  const texts = element ? multiplyRanges(list, element) : { min: 0n, max: 0n }
  if (!separator) return texts
  const between = { min: list.min > 0n ? list.min - 1n : 0n, max: list.max > 0n ? list.max - 1n : 0n }
  return addRanges(texts, multiplyRanges(separator, between))
}
