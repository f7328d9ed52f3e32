/** What an expression may cost at most and at least, told before it runs, from its tree and from what is known of its inputs. */

import { accumulator, type CallExpr, type CheckedAst, type ComprehensionExpr, type Expr } from '../syntax/ast.ts'
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
  STRUCT_CREATION_COST,
  sumRanges,
  UNLIMITED,
  uniteRanges,
  unknownSize,
  zeroCost,
} from './estimate.ts'
import { constantSize, typeSize } from './estimate-size.ts'
import { estimateStandardCall } from './estimate-standard.ts'
import { type CelType, dynType } from './types.ts'

export interface CostOptions {
  /** What `has(a.b)` costs beside its operand. */
  readonly presenceTestCost?: bigint
}

/** Estimates a checked expression. */
export function estimateCost(ast: CheckedAst, estimator: CostEstimator, { presenceTestCost = 1n }: CostOptions = {}): Range {
  return new Coster(ast, estimator, presenceTestCost).cost(ast.expr)
}

/** The sizes of what a container holds. */
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

  /** Sizes of entries outlive choosing between two containers and joining them. */
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
    // What a comprehension gathers is no input.
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

/** `cel.bind` and its like: a comprehension over nothing, whose result sees the variable that would gather. */
function isBinding({ iterRange, loopCondition, accuVar }: ComprehensionExpr): boolean {
  const neverLoops = loopCondition.kind === 'literal' && loopCondition.value.type === 'bool' && !loopCondition.value.value
  return iterRange.kind === 'list' && iterRange.elements.length === 0 && neverLoops && accuVar !== '__result__'
}
