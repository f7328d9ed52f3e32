/** Builds the nodes of a syntax tree during parsing: assigns ids, parses literals, expands macros, and collects issues. */

import {
  accumulator,
  type CallExpr,
  type Constant,
  type Expr,
  type FieldEntry,
  type IdentExpr,
  type ListExpr,
  type LiteralExpr,
  type MapEntry,
  type MapExpr,
  type SelectExpr,
  type StructExpr,
} from './ast.ts'
import type { ComprehensionParts, Grammar, MacroFactory, MacroProblem } from './grammar.ts'
import { CelError, type CelIssue, nowhere, type Source } from './source.ts'
import { unescapeBytes, unescapeString } from './unescape.ts'

const reserved = new Set(
  'as break const continue else false for function if import in let loop package namespace null return true var void while'.split(' '),
)

const minInt = -(2n ** 63n)
const MAX_INT = 2n ** 63n - 1n
const MAX_UINT = 2n ** 64n - 1n

/** The nodes of one expression. Ids are assigned in the same order as in cel-go. */
export class AstBuilder {
  readonly grammar: Grammar
  readonly source: Source
  readonly issues: CelIssue[] = []
  readonly macroCalls = new Map<number, CallExpr>()
  #nextId = 1

  constructor(grammar: Grammar, source: Source) {
    this.grammar = grammar
    this.source = source
  }

  /** A fresh id. Macros that use an argument twice can double a tree at every level, so the number is limited. */
  id(): number {
    if (this.#nextId > this.grammar.settings.maxNodes) {
      const message = `expression node limit exceeded: ${this.grammar.settings.maxNodes}`
      throw new CelError(this.source, [{ location: nowhere, message }])
    }
    return this.#nextId++
  }

  /** Records an issue; the returned node stands for the one that could not be built. */
  fail(offset: number | undefined, message: string): Expr {
    this.issues.push({ location: offset === undefined ? nowhere : this.source.locate(offset), message })
    return this.literal(offset ?? 0, { type: 'null' })
  }

  literal(offset: number, value: Constant): LiteralExpr {
    return { kind: 'literal', id: this.id(), offset, value }
  }

  int(offset: number, text: string): Expr {
    const negative = text.startsWith('-')
    const magnitude = BigInt(negative ? text.slice(1) : text)
    const value = negative ? -magnitude : magnitude
    if (value < minInt || value > MAX_INT) return this.fail(offset, 'invalid int literal')
    return this.literal(offset, { type: 'int', value })
  }

  uint(offset: number, text: string): Expr {
    const value = BigInt(text.slice(0, -1))
    if (value > MAX_UINT) return this.fail(offset, 'invalid uint literal')
    return this.literal(offset, { type: 'uint', value })
  }

  double(offset: number, text: string): Expr {
    const value = Number(text)
    if (!Number.isFinite(value)) return this.fail(offset, 'invalid double literal')
    return this.literal(offset, { type: 'double', value })
  }

  string(offset: number, text: string): Expr {
    const read = unescapeString(text)
    if ('problem' in read) return this.fail(offset, read.problem)
    return this.literal(offset, { type: 'string', value: read.value })
  }

  bytes(offset: number, text: string): Expr {
    const read = unescapeBytes(text.slice(1))
    if ('problem' in read) return this.fail(offset, read.problem)
    return this.literal(offset, { type: 'bytes', value: read.value })
  }

  /** A name as an expression; `start` is that of its leading dot, if it has one. */
  ident(start: number, offset: number, name: string): Expr {
    if (reserved.has(name)) return this.fail(start, `reserved identifier: ${name}`)
    return this.plainIdent(offset, start === offset ? name : `.${name}`)
  }

  plainIdent(offset: number, name: string): IdentExpr {
    return { kind: 'ident', id: this.id(), offset, name }
  }

  /** Undefined if a function of that name can be called; otherwise records an issue. */
  callable(start: number, name: string): Expr | undefined {
    return reserved.has(name) ? this.fail(start, `reserved identifier: ${name}`) : undefined
  }

  select(offset: number, operand: Expr, field: string): SelectExpr {
    return { kind: 'select', id: this.id(), offset, operand, field, testOnly: false }
  }

  list(id: number, offset: number, elements: readonly Expr[], optional: readonly number[]): ListExpr {
    return { kind: 'list', id, offset, elements, optional }
  }

  map(id: number, offset: number, entries: readonly MapEntry[]): MapExpr {
    return { kind: 'map', id, offset, entries }
  }

  struct(id: number, offset: number, type: string, fields: readonly FieldEntry[]): StructExpr {
    return { kind: 'struct', id, offset, type, fields }
  }

  /** A call, or the expansion of a macro of that name. */
  call(id: number, offset: number, name: string, target: Expr | undefined, args: readonly Expr[]): Expr {
    const macro = this.grammar.findMacro(name, args.length, target !== undefined)
    const expanded = macro?.expand(this.#factory(offset), target, args)
    if (expanded === undefined) return { kind: 'call', id, offset, target, function: name, args }
    if (isProblem(expanded)) return this.fail(expanded.at.offset, expanded.problem)
    this.macroCalls.set(expanded.id, { kind: 'call', id: 0, offset, target, function: name, args })
    return expanded
  }

  /** A chain of `&&` or `||` as a balanced tree: the order does not matter, and depth costs. */
  logic(name: string, terms: readonly Expr[], ops: readonly { id: number; offset: number }[]): Expr {
    if (terms.length === 1) return terms[0]!
    if (this.grammar.settings.variadicLogic) return { kind: 'call', ...ops[0]!, target: undefined, function: name, args: terms }
    const balanced = (low: number, high: number): Expr => {
      const middle = (low + high + 1) >> 1
      const left = middle === low ? terms[middle]! : balanced(low, middle - 1)
      const right = middle === high ? terms[middle + 1]! : balanced(middle + 1, high)
      return { kind: 'call', ...ops[middle]!, target: undefined, function: name, args: [left, right] }
    }
    return balanced(0, ops.length - 1)
  }

  #factory(offset: number): MacroFactory {
    const node = () => ({ id: this.id(), offset })
    const call = (name: string, target: Expr | undefined, args: Expr[]): Expr => ({ kind: 'call', ...node(), target, function: name, args })
    return {
      literal: value => this.literal(offset, value),
      ident: name => this.plainIdent(offset, name),
      accumulator: () => this.plainIdent(offset, accumulator),
      select: (operand, field) => ({ kind: 'select', ...node(), operand, field, testOnly: false }),
      presenceTest: (operand, field) => ({ kind: 'select', ...node(), operand, field, testOnly: true }),
      call: (name, ...args) => call(name, undefined, args),
      memberCall: (name, target, ...args) => call(name, target, args),
      list: (...elements) => ({ kind: 'list', ...node(), elements, optional: [] }),
      map: (...entries) => ({ kind: 'map', ...node(), entries }),
      mapEntry: (key, value) => ({ ...node(), key, value, optional: false }),
      struct: (type, ...fields) => ({ kind: 'struct', ...node(), type, fields }),
      field: (name, value) => ({ ...node(), name, value, optional: false }),
      comprehension: (parts: ComprehensionParts) => ({
        kind: 'comprehension',
        ...node(),
        ...parts,
        iterVar2: parts.iterVar2,
        accuVar: parts.accuVar ?? accumulator,
      }),
      copy: expr => this.#copy(expr),
    }
  }

  #copy(expr: Expr): Expr {
    const id = this.id()
    const written = this.macroCalls.get(expr.id)
    if (written) this.macroCalls.set(id, written)
    switch (expr.kind) {
      case 'literal':
      case 'ident':
        return { ...expr, id }
      case 'select':
        return { ...expr, id, operand: this.#copy(expr.operand) }
      case 'call':
        return { ...expr, id, args: expr.args.map(arg => this.#copy(arg)), target: expr.target && this.#copy(expr.target) }
      case 'list':
        return { ...expr, id, elements: expr.elements.map(element => this.#copy(element)) }
      case 'map': {
        const entries = expr.entries.map(entry => ({ ...entry, id: this.id(), key: this.#copy(entry.key), value: this.#copy(entry.value) }))
        return { ...expr, id, entries }
      }
      case 'struct':
        return { ...expr, id, fields: expr.fields.map(field => ({ ...field, id: this.id(), value: this.#copy(field.value) })) }
      case 'comprehension':
        return {
          ...expr,
          id,
          iterRange: this.#copy(expr.iterRange),
          accuInit: this.#copy(expr.accuInit),
          loopCondition: this.#copy(expr.loopCondition),
          loopStep: this.#copy(expr.loopStep),
          result: this.#copy(expr.result),
        }
    }
  }
}

const isProblem = (made: Expr | MacroProblem): made is MacroProblem => 'problem' in made
