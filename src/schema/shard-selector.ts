/**
 * Shard selectors: lists and watches of a part of the objects, selected by ranges of a hash.
 *
 *     shardRange(object.metadata.uid, '0x0000000000000000', '0x8000000000000000') || shardRange(object.metadata.uid, …)
 *
 * An object is in a range when the FNV-1a hash of its uid (or namespace) is at or above the first bound and below the second.
 */

import { fnv64a } from '../lib/fnv.ts'
import { goQuote } from '../lib/go-text.ts'
import { type Expression, ExpressionError, parseExpression } from './shard-expression.ts'

export type ShardField = 'object.metadata.uid' | 'object.metadata.namespace'
type Range = { readonly field: ShardField; readonly start: string; readonly end: string }

/** An invalid selector; the message has the position. */
export class ShardSelectorError extends Error {}

/** A selection of a part of all objects. */
export class ShardSelector {
  readonly field: ShardField
  /** The selector in canonical form. */
  readonly text: string
  /** Sorted and disjoint, so that a hash is found by binary search. */
  readonly #ranges: readonly (readonly [start: bigint, end: bigint])[]

  constructor(ranges: readonly [Range, ...Range[]]) {
    this.field = ranges[0].field
    this.text = ranges.map(({ field, start, end }) => `shardRange(${field}, '${start}', '${end}')`).join(' || ')
    this.#ranges = merged(ranges.map(({ start, end }) => [BigInt(start), BigInt(end)]))
  }

  /** Whether a value of the field is in one of the ranges. */
  has(value: string): boolean {
    const hash = hashOf(value)
    let low = 0
    let high = this.#ranges.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.#ranges[middle]![1] <= hash) low = middle + 1
      else high = middle
    }
    return low < this.#ranges.length && this.#ranges[low]![0] <= hash
  }
}

/** Parses a selector; throws ShardSelectorError. */
export function parseShardSelector(text: string): ShardSelector {
  const trimmed = text.trim()
  if (trimmed === '') throw new ShardSelectorError('empty shard selector is not allowed; omit the parameter for unfiltered lists')
  const [first, ...more] = rangesOf(expressionOf(trimmed))
  for (const { field } of more)
    if (field !== first!.field)
      throw new ShardSelectorError(`all shard ranges must use the same field, got "${first!.field}" and "${field}"`)
  return new ShardSelector([first!, ...more])
}

/** Caches one hash: many watchers test the same object one after the other, and objects of one namespace follow each other. */
let asked = ''
let answer = fnv64a('')
function hashOf(value: string): bigint {
  if (value !== asked) {
    answer = fnv64a(value)
    asked = value
  }
  return answer
}

function merged(ranges: [bigint, bigint][]): [bigint, bigint][] {
  const out: [bigint, bigint][] = []
  for (const [start, end] of ranges.sort((a, b) => (a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0))) {
    const last = out.at(-1)
    if (last === undefined || start > last[1]) out.push([start, end])
    else if (end > last[1]) last[1] = end
  }
  return out
}

function expressionOf(text: string): Expression {
  try {
    return parseExpression(text)
  } catch (error) {
    throw error instanceof ExpressionError ? new ShardSelectorError(`CEL parse error: ${error.message}`) : error
  }
}

/** The numbers of expression kinds in messages. */
const KIND_NUMBERS = { call: 1, ident: 3, literal: 5, select: 7 } as const

function rangesOf(expression: Expression): Range[] {
  const found: Range[] = []
  // The tree of a selector with many ranges leans to the left, as deep as it is long.
  const open = [expression]
  for (let e = open.pop(); e !== undefined; e = open.pop()) {
    if (e.kind !== 'call')
      throw new ShardSelectorError(`unexpected expression kind ${KIND_NUMBERS[e.kind]}; expected shardRange() call or || operator`)
    if (e.name === '_||_') open.push(...e.args.toReversed())
    else if (e.name === 'shardRange') found.push(rangeOf(e.args))
    else throw new ShardSelectorError(`unsupported function ${goQuote(e.name)}; only shardRange() and || are allowed`)
  }
  return found
}

function rangeOf(args: readonly Expression[]): Range {
  if (args.length !== 3) throw new ShardSelectorError(`shardRange() requires exactly 3 arguments, got ${args.length}`)
  const field = pathOf(args[0]!)
  if (field !== 'object.metadata.uid' && field !== 'object.metadata.namespace')
    throw new ShardSelectorError(`unsupported field path ${goQuote(field)}; supported: object.metadata.uid, object.metadata.namespace`)
  const start = boundOf(args[1]!, 'hexStart')
  const end = boundOf(args[2]!, 'hexEnd')
  if (BigInt(start) >= BigInt(end)) throw new ShardSelectorError(`shard range start ${start} must be less than end ${end}`)
  return { field, start, end }
}

function pathOf(expression: Expression): string {
  const fields: string[] = []
  let e = expression
  for (; e.kind === 'select'; e = e.operand) fields.push(e.field)
  if (e.kind === 'ident') return [e.name, ...fields.reverse()].join('.')
  throw new ShardSelectorError(
    `shardRange() first argument: expected field path (e.g. object.metadata.uid), got expression kind ${KIND_NUMBERS[e.kind]}`,
  )
}

const DIGITS = 16
const TOP = '0x10000000000000000'

/** A bound is written with all its digits; only the upper end of all hashes has one more. */
function boundOf(e: Expression, name: string): string {
  if (e.kind !== 'literal')
    throw new ShardSelectorError(`${name} must be a string literal (e.g. '0xff'), got expression kind ${KIND_NUMBERS[e.kind]}`)
  const { text } = e
  const quoted = goQuote(text)
  if (e.type !== 'string') throw new ShardSelectorError(`${name} must be a string literal, got ${e.type}`)
  if (!text.startsWith('0x')) throw new ShardSelectorError(`${name} must have '0x' prefix, got ${quoted}`)
  const digits = text.slice(2)
  const length = Buffer.byteLength(digits)
  if (digits === '') throw new ShardSelectorError(`${name}: hex value is required after '0x'`)
  if (length > DIGITS + 1)
    throw new ShardSelectorError(`${name}: hex value too long (${length} chars, max ${DIGITS + 1}): ${goQuote(digits)}`)
  const odd = /[^0-9a-f]/u.exec(digits)
  if (odd) throw new ShardSelectorError(`${name}: invalid hex character ${goQuote(odd[0])} in ${quoted}`)
  if (length > DIGITS && text !== TOP) throw new ShardSelectorError(`${name}: 17-digit hex value must be '${TOP}' (2^64), got ${quoted}`)
  if (length < DIGITS) {
    const meant = goQuote(`0x${digits.padStart(DIGITS, '0')}`)
    throw new ShardSelectorError(`${name} must be a 0x-prefixed 16-digit hex value, got ${quoted} (did you mean ${meant}?)`)
  }
  return text
}
