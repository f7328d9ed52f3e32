/** Ranges of sizes and costs: unsigned 64-bit numbers whose sums and products stop at the greatest. */

import type { Expr } from '../syntax/ast.ts'
import type { CelType } from './types.ts'

/** The least and the most that a size or cost can be. */
export interface Range {
  readonly min: bigint
  readonly max: bigint
}

/** What a call may cost, and how large its result may be if that is a text, bytes, a list or a map. */
export interface CallEstimate {
  readonly cost: Range
  readonly resultSize?: Range
}

/** A node as estimators see it. */
export interface CostNode {
  /** From a variable through field names, `@items`, `@keys`, `@values` and `@indices`; undefined when it is reached otherwise. */
  readonly path: readonly string[] | undefined
  readonly type: CelType
  readonly expr?: Expr
  /** The size that the expression itself tells. */
  readonly size?: Range
}

export interface CallNode {
  readonly function: string
  readonly overload: string
  readonly target: CostNode | undefined
  readonly args: readonly CostNode[]
}

/** Knows the sizes of inputs and the costs of functions that CEL itself does not; undefined where it knows nothing. */
export interface CostEstimator {
  estimateSize(node: CostNode): Range | undefined
  estimateCall(call: CallNode): CallEstimate | undefined
}

/** The greatest number: that nothing is known of a size, or that a cost has no limit. */
export const UNLIMITED = 2n ** 64n - 1n

export const unknownSize: Range = { min: 0n, max: UNLIMITED }
export const zeroCost: Range = { min: 0n, max: 0n }

/** The size a node is known to have, from the expression or else from the estimator. */
export const sizeOf = (node: CostNode, estimator: CostEstimator): Range => node.size ?? estimator.estimateSize(node) ?? unknownSize

/** How much of a unit of cost it takes to pass over one character or byte. */
export const STRING_TRAVERSAL_FACTOR = 0.1
/** How much of a unit of cost one character of a regular expression makes. */
export const REGEX_LENGTH_FACTOR = 0.25
export const LIST_CREATION_COST = 10
export const MAP_CREATION_COST = 30
export const STRUCT_CREATION_COST = 40

/** A range of one value. */
export const exactly = (value: bigint | number): Range => ({ min: BigInt(value), max: BigInt(value) })

export const addRanges = (a: Range, b: Range): Range => ({ min: saturate(a.min + b.min), max: saturate(a.max + b.max) })

export const multiplyRanges = (a: Range, b: Range): Range => ({ min: saturate(a.min * b.min), max: saturate(a.max * b.max) })

/** The smallest range that holds both. */
export const uniteRanges = (a: Range, b: Range): Range => ({ min: a.min < b.min ? a.min : b.min, max: a.max > b.max ? a.max : b.max })

/** The range times a factor, rounded up. */
export const scaleRange = ({ min, max }: Range, factor: number): Range => ({ min: scale(min, factor), max: scale(max, factor) })

export const sumRanges = (ranges: readonly Range[]): Range => ranges.reduce(addRanges, zeroCost)

/** A number kept to 64 bits. */
export const saturate = (value: bigint): bigint => (value > UNLIMITED ? UNLIMITED : value)

const TWO_TO_64 = 2 ** 64

// Done in floating point, as cel-go does: the estimate decides which expressions may be stored, so rounding must agree.
function scale(value: bigint, factor: number): bigint {
  const product = Math.ceil(Number(value) * factor)
  return product >= TWO_TO_64 ? UNLIMITED : BigInt(product)
}
