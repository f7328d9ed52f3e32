/** Ranges of sizes and costs: unsigned 64-bit numbers with saturating sums and products. */

import type { Expr } from '../syntax/ast.ts'
import type { CelType } from './types.ts'

/** The minimum and maximum of a size or cost. */
export interface Range {
  readonly min: bigint
  readonly max: bigint
}

/** The cost of a call, and the size of its result if that is a string, bytes, a list or a map. */
export interface CallEstimate {
  readonly cost: Range
  readonly resultSize?: Range
}

/** A node, as estimators see it. */
export interface CostNode {
  /** The path from a variable through field names, `@items`, `@keys`, `@values` and `@indices`; undefined for other expressions. */
  readonly path: readonly string[] | undefined
  readonly type: CelType
  readonly expr?: Expr
  /** The size that follows from the expression itself. */
  readonly size?: Range
}

export interface CallNode {
  readonly function: string
  readonly overload: string
  readonly target: CostNode | undefined
  readonly args: readonly CostNode[]
}

/**
 * Estimates the sizes of inputs and the costs of functions that CEL itself does not know; returns undefined where it does not know either.
 */
export interface CostEstimator {
  estimateSize(node: CostNode): Range | undefined
  estimateCall(call: CallNode): CallEstimate | undefined
}

/** The largest number: an unknown size, or an unlimited cost. */
export const UNLIMITED = 2n ** 64n - 1n

export const unknownSize: Range = { min: 0n, max: UNLIMITED }
export const zeroCost: Range = { min: 0n, max: 0n }

/** The size of a node, from the expression or else from the estimator. */
export const sizeOf = (node: CostNode, estimator: CostEstimator): Range => node.size ?? estimator.estimateSize(node) ?? unknownSize

/** The cost of traversing one character or byte. */
export const STRING_TRAVERSAL_FACTOR = 0.1
/** The cost of one character of a regular expression. */
export const REGEX_LENGTH_FACTOR = 0.25
export const LIST_CREATION_COST = 10
export const MAP_CREATION_COST = 30
export const STRUCT_CREATION_COST = 40

/** A range of one value. */
export const exactly = (value: bigint | number): Range => ({ min: BigInt(value), max: BigInt(value) })

export const addRanges = (a: Range, b: Range): Range => ({ min: saturate(a.min + b.min), max: saturate(a.max + b.max) })

export const multiplyRanges = (a: Range, b: Range): Range => ({ min: saturate(a.min * b.min), max: saturate(a.max * b.max) })

/** The smallest range that contains both. */
export const uniteRanges = (a: Range, b: Range): Range => ({ min: a.min < b.min ? a.min : b.min, max: a.max > b.max ? a.max : b.max })

/** The range times a factor, rounded up. */
export const scaleRange = ({ min, max }: Range, factor: number): Range => ({ min: scale(min, factor), max: scale(max, factor) })

export const sumRanges = (ranges: readonly Range[]): Range => ranges.reduce(addRanges, zeroCost)

/** A number kept to 64 bits. */
export const saturate = (value: bigint): bigint => (value > UNLIMITED ? UNLIMITED : value)

const TWO_TO_64 = 2 ** 64

// Computed in floating point, as in cel-go: the estimate decides which expressions may be stored, so rounding must agree.
function scale(value: bigint, factor: number): bigint {
  const product = Math.ceil(Number(value) * factor)
  return product >= TWO_TO_64 ? UNLIMITED : BigInt(product)
}
