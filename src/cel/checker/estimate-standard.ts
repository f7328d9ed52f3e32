/** What calls of the standard functions may cost. */

import {
  addRanges,
  type CallEstimate,
  type CallNode,
  type CostNode,
  exactly,
  multiplyRanges,
  type Range,
  REGEX_LENGTH_FACTOR,
  STRING_TRAVERSAL_FACTOR,
  scaleRange,
  sumRanges,
  uniteRanges,
  unknownSize,
} from './estimate.ts'

/** The estimate of a call that no estimator knows; most cost one unit and what their arguments cost. */
export function estimateStandardCall(call: CallNode, argCosts: readonly Range[]): CallEstimate {
  const [first = nothing, second = nothing, third = nothing] = argCosts
  if (call.overload === 'logical_or' || call.overload === 'logical_and') {
    // The second may not be looked at. More arguments than two stand for nested calls.
    return { cost: { min: first.min, max: sumRanges(argCosts).max } }
  }
  if (call.overload === 'conditional') {
    const [, whenTrue, whenFalse] = call.args
    return {
      cost: addRanges(first, uniteRanges(second, third)),
      resultSize: uniteRanges(sizeOrUnknown(whenTrue), sizeOrUnknown(whenFalse)),
    }
  }
  const estimate = byOverload.get(call.overload)?.(call) ?? { cost: exactly(1) }
  return { ...estimate, cost: addRanges(estimate.cost, sumRanges(argCosts)) }
}

const nothing = exactly(0)
const sizeOrUnknown = (node: CostNode | undefined): Range => node?.size ?? unknownSize
const traversal = (size: Range): Range => scaleRange(size, STRING_TRAVERSAL_FACTOR)
const wrap = (value: bigint): bigint => BigInt.asUintN(64, value)

type Estimate = (call: CallNode) => CallEstimate | undefined

const format: Estimate = ({ target }) => target && { cost: traversal(sizeOrUnknown(target)) }

// A character takes up to four bytes. Products of unknown sizes wrap around, as they do in cel-go.
const stringToBytes: Estimate = ({ args }) => {
  const size = sizeOrUnknown(args[0])
  return { cost: traversal(size), resultSize: { min: size.min, max: wrap(size.max * 4n) } }
}

const bytesToString: Estimate = ({ args }) => {
  const size = sizeOrUnknown(args[0])
  return { cost: traversal(size), resultSize: { min: size.min / 4n, max: size.max } }
}

const quote: Estimate = ({ args }) => {
  const size = sizeOrUnknown(args[0])
  return { cost: traversal(size), resultSize: { min: wrap(size.min + 2n), max: wrap(size.max * 2n + 2n) } }
}

const affix: Estimate = ({ args }) => (args.length === 1 ? { cost: traversal(sizeOrUnknown(args[0])) } : undefined)

const membership: Estimate = ({ args }) => ({ cost: scaleRange(sizeOrUnknown(args[1]), 1) })

const matches: Estimate = ({ target, args }) => {
  const [text, pattern] = target ? [target, args[0]] : args
  // One more character, so that a costly pattern is not free on an empty text.
  const textCost = traversal(addRanges(sizeOrUnknown(text), exactly(1)))
  return { cost: multiplyRanges(textCost, scaleRange(sizeOrUnknown(pattern), REGEX_LENGTH_FACTOR)) }
}

const contains: Estimate = ({ target, args }) =>
  target && { cost: multiplyRanges(traversal(sizeOrUnknown(target)), traversal(sizeOrUnknown(args[0]))) }

const concatenation: Estimate = ({ overload, args }) => {
  const size = addRanges(sizeOrUnknown(args[0]), sizeOrUnknown(args[1]))
  return { cost: overload === 'add_list' ? exactly(1) : traversal(size), resultSize: size }
}

const comparison: Estimate = ({ args }) => {
  const [a, b] = [sizeOrUnknown(args[0]).max, sizeOrUnknown(args[1]).max]
  const max = a < b ? a : b
  return { cost: traversal({ min: max > 0n ? 1n : 0n, max }) }
}

const byOverload: ReadonlyMap<string, Estimate> = new Map([
  ['string_format', format],
  ['string_to_bytes', stringToBytes],
  ['bytes_to_string', bytesToString],
  ['strings_quote', quote],
  ['starts_with_string', affix],
  ['ends_with_string', affix],
  ['in_list', membership],
  ['matches', matches],
  ['matches_string', matches],
  ['contains_string', contains],
  ...['add_string', 'add_bytes', 'add_list'].map((id): [string, Estimate] => [id, concatenation]),
  ...['less', 'greater', 'less_equals', 'greater_equals'].flatMap((name): [string, Estimate][] => [
    [`${name}_string`, comparison],
    [`${name}_bytes`, comparison],
  ]),
  ['equals', comparison],
  ['not_equals', comparison],
])
