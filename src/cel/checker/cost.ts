/** Estimates the minimum and maximum cost of an expression before it runs, from its tree and the known sizes of its inputs. */

import { accumulator, type CallExpr, type ComprehensionExpr, type Constant, type Expr } from '../syntax/ast.ts'
import { codePoints } from '../syntax/source.ts'
import type { CheckedAst } from './checked-ast.ts'
import {
  addRanges,
  type CallEstimate,
  type CallNode,
  type CostEstimator,
  type CostNode,
  exactly,
  LIST_CREATION_COST,
  MAP_CREATION_COST,
  multiplyRanges,
  type Range,
  REGEX_LENGTH_FACTOR,
  STRING_TRAVERSAL_FACTOR,
  STRUCT_CREATION_COST,
  scaleRange,
  sumRanges,
  UNLIMITED,
  uniteRanges,
  unknownSize,
  zeroCost,
} from './cost-range.ts'
import { type CelType, dynType, isOptionalType } from './types.ts'

export interface CostOptions {
  /** The cost of `has(a.b)` beside its operand. */
  readonly presenceTestCost?: bigint
}

/** Estimates a checked expression. */
export function estimateCost(ast: CheckedAst, estimator: CostEstimator, { presenceTestCost = 1n }: CostOptions = {}): Range {
  return new Coster(ast, estimator, presenceTestCost).cost(ast.expr)
}

/** The sizes of the entries of a container. */
interface EntrySize {
  readonly container: 'list' | 'map'
  readonly key: Range
  readonly value: Range
}

interface LocalVariable {
  readonly path: readonly string[]
  readonly size: Range | undefined
  readonly entrySize: EntrySize | undefined
}

const selectOrIdentCost = exactly(1)
const noPath: readonly string[] = []
const nothingSeen: Range = { min: UNLIMITED, max: 0n }

const uniteEntries = (a: EntrySize | undefined, b: EntrySize | undefined): EntrySize | undefined =>
  a && b && { container: a.container, key: uniteRanges(a.key, b.key), value: uniteRanges(a.value, b.value) }

class Coster {
  readonly #ast: CheckedAst
  readonly #estimator: CostEstimator
  readonly #presenceTestCost: bigint
  readonly #paths = new Map<number, readonly string[]>()
  readonly #sizes = new Map<number, Range>()
  readonly #entrySizes = new Map<number, EntrySize>()
  readonly #locals = new Map<string, LocalVariable[]>()

  constructor(ast: CheckedAst, estimator: CostEstimator, presenceTestCost: bigint) {
    this.#ast = ast
    this.#estimator = estimator
    this.#presenceTestCost = presenceTestCost
  }

  cost(expr: Expr): Range {
    switch (expr.kind) {
      case 'literal':
        return zeroCost
      case 'ident':
        this.#paths.set(expr.id, this.#local(expr.name)?.path ?? [expr.name])
        return selectOrIdentCost
      case 'select':
        return this.#select(expr)
      case 'call':
        return expr.function === 'dyn' && expr.args[0] ? this.#unwrapDyn(expr, expr.args[0]) : this.#call(expr)
      case 'list':
        return this.#list(expr)
      case 'map':
        return this.#map(expr)
      case 'struct':
        return addRanges(sumRanges(expr.fields.map(({ value }) => this.cost(value))), exactly(STRUCT_CREATION_COST))
      case 'comprehension':
        return isBinding(expr) ? this.#binding(expr) : this.#comprehension(expr)
    }
  }

  #select(expr: Expr & { kind: 'select' }): Range {
    const operand = this.cost(expr.operand)
    if (expr.testOnly) return addRanges(exactly(this.#presenceTestCost), operand)
    this.#paths.set(expr.id, [...this.#pathOf(expr.operand), expr.field])
    const { kind } = this.#typeOf(expr.operand)
    return kind === 'map' || kind === 'object' || kind === 'typeParam' ? addRanges(operand, selectOrIdentCost) : operand
  }

  /** `dyn(x)` only hides the type of x. */
  #unwrapDyn(expr: CallExpr, argument: Expr): Range {
    const cost = this.cost(argument)
    this.#copySizes(expr, argument)
    return addRanges(exactly(1), cost)
  }

  #call(expr: CallExpr): Range {
    const argCosts = expr.args.map(arg => this.cost(arg))
    const args = expr.args.map(arg => this.#node(arg))
    const overloads = this.#ast.references[expr.id]?.overloads ?? []
    if (overloads.length === 0) return zeroCost
    const targetCost = expr.target ? this.cost(expr.target) : zeroCost
    const target = expr.target && this.#node(expr.target)
    let cost = nothingSeen
    let resultSize: Range | undefined
    for (const overload of overloads) {
      const estimate = this.#overload(expr, { function: expr.function, overload, target, args }, argCosts)
      cost = uniteRanges(cost, estimate.cost)
      if (estimate.resultSize) resultSize = resultSize ? uniteRanges(resultSize, estimate.resultSize) : estimate.resultSize
      const indexed = expr.args[0]
      if (indexed && (overload === 'index_list' || overload === 'index_map')) {
        resultSize = this.#entrySize(indexed)?.value
        this.#paths.set(expr.id, [...this.#pathOf(indexed), overload === 'index_list' ? '@items' : '@values'])
      }
      resultSize ??= this.#size(expr)
    }
    if (resultSize) this.#sizes.set(expr.id, resultSize)
    return addRanges(targetCost, cost)
  }

  #overload(expr: CallExpr, call: CallNode, argCosts: readonly Range[]): CallEstimate {
    const known = this.#estimator.estimateCall(call)
    if (known) return { ...known, cost: addRanges(known.cost, sumRanges(argCosts)) }
    this.#trackEntries(expr, call.overload)
    return estimateStandardCall(call, argCosts)
  }

  /** Propagates the sizes of entries through conditionals and concatenations of containers. */
  #trackEntries({ id, args }: CallExpr, overload: string): void {
    const [first, second, third] = args
    const joined = overload === 'add_list' || overload === 'add_string' || overload === 'add_bytes' ? [first, second] : []
    const [a, b] = overload === 'conditional' ? [second, third] : joined
    const united = a && b && uniteEntries(this.#entrySize(a), this.#entrySize(b))
    if (united) this.#entrySizes.set(id, united)
  }

  #list({ id, elements }: Expr & { kind: 'list' }): Range {
    const costs = elements.map(element => this.cost(element))
    const sizes = elements.map(element => this.#sizeOrUnknown(element))
    this.#entrySizes.set(id, { container: 'list', key: exactly(1), value: spanOf(sizes) })
    return addRanges(sumRanges(costs), exactly(LIST_CREATION_COST))
  }

  #map({ id, entries }: Expr & { kind: 'map' }): Range {
    const costs = entries.flatMap(({ key, value }) => [this.cost(key), this.cost(value)])
    const key = spanOf(entries.map(entry => this.#sizeOrUnknown(entry.key)))
    const value = spanOf(entries.map(entry => this.#sizeOrUnknown(entry.value)))
    this.#entrySizes.set(id, { container: 'map', key, value })
    return addRanges(sumRanges(costs), exactly(MAP_CREATION_COST))
  }

  #comprehension(expr: ComprehensionExpr): Range {
    const before = addRanges(this.cost(expr.iterRange), this.cost(expr.accuInit))
    this.#pushValueOf(expr.accuVar, expr.accuInit)
    const variables = expr.iterVar2 === undefined ? [expr.iterVar] : [expr.iterVar, expr.iterVar2]
    this.#pushIterated(expr, variables)
    const each = addRanges(this.cost(expr.loopCondition), this.cost(expr.loopStep))
    for (const name of variables) this.#locals.get(name)?.pop()
    const after = this.cost(expr.result)
    this.#locals.get(expr.accuVar)?.pop()
    const count = this.#sizeOrUnknown(expr.iterRange)
    this.#rememberGathered(expr, count)
    return sumRanges([before, after, multiplyRanges(count, each)])
  }

  #rememberGathered({ id, accuInit, loopStep }: ComprehensionExpr, count: Range): void {
    if (accuInit.kind === 'literal') {
      const size = this.#size(accuInit)
      if (size) this.#sizes.set(id, size)
    } else if (accuInit.kind === 'list' || accuInit.kind === 'map') {
      this.#sizes.set(id, count)
      const entries = this.#entrySize(loopStep)
      if (entries) this.#entrySizes.set(id, entries)
    }
  }

  #binding(expr: ComprehensionExpr): Range {
    const before = addRanges(this.cost(expr.iterRange), this.cost(expr.accuInit))
    this.#pushValueOf(expr.accuVar, expr.accuInit)
    const result = this.cost(expr.result)
    this.#locals.get(expr.accuVar)?.pop()
    this.#copySizes(expr, expr.result)
    return addRanges(before, result)
  }

  #pushValueOf(name: string, expr: Expr): void {
    this.#push(name, { path: this.#pathOf(expr), size: this.#size(expr), entrySize: this.#entrySize(expr) })
  }

  #pushIterated({ iterRange }: ComprehensionExpr, names: readonly string[]): void {
    const entries = this.#entrySize(iterRange)
    const isList = (entries?.container ?? this.#typeOf(iterRange).kind) === 'list'
    const path = this.#pathOf(iterRange)
    const value = { path: [...path, isList ? '@items' : '@values'], size: entries?.value, entrySize: undefined }
    const key = { path: [...path, isList ? '@indices' : '@keys'], size: entries?.key, entrySize: undefined }
    const [first, second] = names
    if (second !== undefined) {
      this.#push(first!, key)
      this.#push(second, value)
    } else this.#push(first!, isList ? value : key)
  }

  #push(name: string, variable: LocalVariable): void {
    const known = this.#locals.get(name)
    if (known) known.push(variable)
    else this.#locals.set(name, [variable])
  }

  #local(name: string): LocalVariable | undefined {
    return this.#locals.get(name)?.at(-1)
  }

  #typeOf(expr: Expr): CelType {
    return this.#ast.types[expr.id] ?? dynType
  }

  #pathOf(expr: Expr): readonly string[] {
    const local = expr.kind === 'ident' ? this.#local(expr.name) : undefined
    return local?.path ?? this.#paths.get(expr.id) ?? noPath
  }

  #node(expr: Expr): CostNode {
    const path = this.#pathOf(expr)
    const size = this.#size(expr)
    // The accumulator of a comprehension is no input.
    const shown = path.length === 0 || path[0] === accumulator ? undefined : path
    return { path: shown, type: this.#typeOf(expr), expr, ...(size && { size }) }
  }

  #copySizes(to: Expr, from: Expr): void {
    const size = this.#size(from)
    if (size) this.#sizes.set(to.id, size)
    const entries = this.#entrySize(from)
    if (entries) this.#entrySizes.set(to.id, entries)
  }

  #sizeOrUnknown(expr: Expr): Range {
    return this.#size(expr) ?? unknownSize
  }

  #size(expr: Expr): Range | undefined {
    const known = this.#sizes.get(expr.id) ?? constantSize(expr)
    if (known) return known
    const estimated = this.#estimator.estimateSize({ expr, path: this.#pathOf(expr), type: this.#typeOf(expr) })
    if (estimated) this.#sizes.set(expr.id, estimated)
    return estimated ?? typeSize(this.#typeOf(expr)) ?? (expr.kind === 'ident' ? this.#local(expr.name)?.size : undefined)
  }

  #entrySize(expr: Expr): EntrySize | undefined {
    return this.#entrySizes.get(expr.id) ?? (expr.kind === 'ident' ? this.#local(expr.name)?.entrySize : undefined)
  }
}

const spanOf = (sizes: readonly Range[]): Range => (sizes.length === 0 ? zeroCost : sizes.reduce(uniteRanges, nothingSeen))

/** `cel.bind` and the like: a comprehension over nothing, whose result sees the accumulator. */
function isBinding({ iterRange, loopCondition, accuVar }: ComprehensionExpr): boolean {
  const neverLoops = loopCondition.kind === 'literal' && loopCondition.value.type === 'bool' && !loopCondition.value.value
  return iterRange.kind === 'list' && iterRange.elements.length === 0 && neverLoops && accuVar !== '__result__'
}

// Sizes that follow from an expression or a type alone.

/** The size of a literal, or of a list or map literal. */
function constantSize(expr: Expr): Range | undefined {
  if (expr.kind === 'literal') return exactly(literalSize(expr.value))
  if (expr.kind === 'list') return exactly(expr.elements.length)
  return expr.kind === 'map' ? exactly(expr.entries.length) : undefined
}

/** The size of every value of a type: 1 for types of fixed size. */
function typeSize(type: CelType): Range | undefined {
  return isScalar(type) ? exactly(1) : undefined
}

function literalSize(constant: Constant): number {
  if (constant.type === 'string') return codePoints(constant.value, 0, constant.value.length)
  return constant.type === 'bytes' ? constant.value.length : 1
}

const scalars: ReadonlySet<string> = new Set(['bool', 'double', 'duration', 'int', 'timestamp', 'uint'])

const isScalar = (type: CelType): boolean => (isOptionalType(type) ? isScalar(type.params[0]!) : scalars.has(type.kind))

// Costs of calls of the standard functions.

/** The estimate of a call that no estimator knows; most cost one unit and the cost of their arguments. */
function estimateStandardCall(call: CallNode, argCosts: readonly Range[]): CallEstimate {
  const [first = nothing, second = nothing, third = nothing] = argCosts
  if (call.overload === 'logical_or' || call.overload === 'logical_and') {
    // The second operand may not be evaluated. More than two arguments stand for nested calls.
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

// A character takes up to four bytes. Products of unknown sizes wrap around, as in cel-go.
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
  // One more character, so that a costly pattern is not free on an empty string.
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
