/** Cost estimates of cel-go's extensions for lists and sets. */

import {
  addRanges,
  type CallEstimate,
  type CallNode,
  type CostEstimator,
  type CostNode,
  exactly,
  LIST_CREATION_COST,
  multiplyRanges,
  type Range,
  STRING_TRAVERSAL_FACTOR,
  scaleRange,
  sizeOf,
  UNLIMITED,
} from '../checker/cost-range.ts'
import { sortableTypes } from './list-extension.ts'

/** The estimate of a call of an extension; undefined for other calls. */
export function estimateExtensionCall(call: CallNode, estimator: CostEstimator): CallEstimate | undefined {
  return byOverload().get(call.overload)?.(call, estimator)
}

type Estimate = (call: CallNode, estimator: CostEstimator) => CallEstimate | undefined

/** A call that creates a list of `size` elements, each at some cost. */
const allocation = (size: Range, factor: number): CallEstimate => ({
  cost: addRanges(scaleRange(size, factor), exactly(1 + LIST_CREATION_COST)),
  resultSize: size,
})

/** The value of an int literal, zero if it is negative. */
function literalOf(node: CostNode | undefined, otherwise: bigint): bigint {
  if (node?.expr?.kind !== 'literal' || node.expr.value.type !== 'int') return otherwise
  return node.expr.value.value < 0n ? 0n : node.expr.value.value
}

const slice: Estimate = ({ target, args }, estimator) => {
  if (!target) return undefined
  const end = literalOf(args[1], sizeOf(target, estimator).max)
  return allocation(exactly(BigInt.asUintN(64, end - literalOf(args[0], 0n))), 1)
}

const range: Estimate = ({ args }) => allocation(exactly(literalOf(args[0], UNLIMITED)), 1)

const reverse: Estimate = ({ target }, estimator) => target && allocation(sizeOf(target, estimator), 1)

const flatten: Estimate = ({ target, args }, estimator) => {
  const depth = args.length === 0 ? 1n : literalOf(args[0], UNLIMITED)
  return target && allocation(sizeOf(target, estimator), Number(depth))
}

const squared = (size: Range): Range => multiplyRanges(size, size)

const distinct: Estimate = ({ target }, estimator) => target && allocation(squared(sizeOf(target, estimator)), 2)

const sorting =
  (kind: string, keysOf: (call: CallNode) => CostNode | undefined): Estimate =>
  (call, estimator) => {
    const keys = keysOf(call)
    const factor = kind === 'string' || kind === 'bytes' ? 2 + STRING_TRAVERSAL_FACTOR : 2
    return keys && allocation(squared(sizeOf(keys, estimator)), factor)
  }

/** Each element of one list may be compared with each of the other. */
const sets =
  (factor: number): Estimate =>
  ({ args: [a, b] }, estimator) => {
    if (!a || !b) return undefined
    return { cost: addRanges(scaleRange(multiplyRanges(sizeOf(a, estimator), sizeOf(b, estimator)), factor), exactly(1)) }
  }

let table: ReadonlyMap<string, Estimate> | undefined

const byOverload = (): ReadonlyMap<string, Estimate> => {
  table ??= new Map<string, Estimate>([
    ['list_slice', slice],
    ['lists_range', range],
    ['list_reverse', reverse],
    ['list_flatten', flatten],
    ['list_flatten_int', flatten],
    ['list_distinct', distinct],
    ...sortableTypes.flatMap(({ kind, name }): [string, Estimate][] => [
      [`list_${name}_sort`, sorting(kind, ({ target }) => target)],
      [`list_${name}_sortByAssociatedKeys`, sorting(kind, ({ args }) => args[0])],
    ]),
    ['list_sets_contains_list', sets(1)],
    ['list_sets_intersects_list', sets(1)],
    ['list_sets_equivalent_list', sets(2)],
  ])
  return table
}
