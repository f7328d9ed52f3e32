/** What an environment is made of: functions with their overloads, variables, macros and named types. */

import type { CelValue, EvaluationContext } from '../runtime/values.ts'
import type { Constant, Expr, FieldEntry, MapEntry } from '../syntax/ast.ts'
import type { CelType } from './types.ts'

/** How an overload is evaluated; a failure is an error value, never an exception. */
export type Evaluate = (args: readonly CelValue[], context: EvaluationContext) => CelValue

/** One signature of a function. For a member the first of `params` is the receiver, and the first argument at evaluation. */
export interface Overload {
  /** Unique in an environment; declarations and implementations are joined by it. */
  readonly id: string
  readonly params: readonly CelType[]
  readonly result: CelType
  readonly member?: boolean
  /** Arguments may be errors: the overload decides itself (`&&`, `||`, `?:`). */
  readonly nonStrict?: boolean
  readonly evaluate?: Evaluate
  /** What a call costs at run time; a call without one costs 1. */
  readonly cost?: (args: readonly CelValue[], result: CelValue) => number
}

export interface FunctionDecl {
  readonly name: string
  readonly overloads: readonly Overload[]
}

/** A name bound to a type; with a value it is a constant. */
export interface VariableDecl {
  readonly name: string
  readonly type: CelType
  readonly value?: Constant
}

/** Makes nodes for a macro; they get fresh ids and stand where the macro was written. */
export interface MacroFactory {
  literal(value: Constant): Expr
  ident(name: string): Expr
  /** The variable that gathers the result. */
  accumulator(): Expr
  select(operand: Expr, field: string): Expr
  presenceTest(operand: Expr, field: string): Expr
  call(name: string, ...args: Expr[]): Expr
  memberCall(name: string, target: Expr, ...args: Expr[]): Expr
  list(...elements: Expr[]): Expr
  map(...entries: MapEntry[]): Expr
  mapEntry(key: Expr, value: Expr): MapEntry
  struct(type: string, ...fields: FieldEntry[]): Expr
  field(name: string, value: Expr): FieldEntry
  comprehension(parts: ComprehensionParts): Expr
  /** The same expression with fresh ids, for a macro that uses an argument twice. */
  copy(expr: Expr): Expr
}

export interface ComprehensionParts {
  readonly iterRange: Expr
  readonly iterVar: string
  readonly iterVar2?: string
  readonly accuVar?: string
  readonly accuInit: Expr
  readonly loopCondition: Expr
  readonly loopStep: Expr
  readonly result: Expr
}

/** Why a macro cannot take its arguments; `at` is the argument to blame. */
export interface MacroProblem {
  readonly at: Expr
  readonly problem: string
}

/** Rewrites a call as it is parsed; undefined leaves the call as it is. */
export type ExpandMacro = (make: MacroFactory, target: Expr | undefined, args: readonly Expr[]) => Expr | MacroProblem | undefined

export interface Macro {
  readonly function: string
  /** The number of arguments it takes; undefined takes any. */
  readonly args: number | undefined
  readonly receiver: boolean
  readonly expand: ExpandMacro
}

/** Knows types by name: object types with their fields, and names that mean a type or a constant. */
export interface TypeProvider {
  /** The type of that name, if there is one: what `type(value)` gives, and what `Name{…}` makes. */
  findType(name: string): CelType | undefined
  /** The type of a field of an object type, if there is such a field. */
  findField(type: string, field: string): CelType | undefined
  /** The constant of that full name: the values of protobuf's enums. */
  findConstant?(name: string): Constant | undefined
  /** The value that `Name{…}` makes, optional fields without a value left out; undefined if it is not for this provider to make. */
  construct?(type: string, fields: ReadonlyMap<string, CelValue>): CelValue | undefined
}

/** A part of an environment. */
export interface Library {
  readonly variables?: readonly VariableDecl[]
  readonly functions?: readonly FunctionDecl[]
  readonly macros?: readonly Macro[]
  readonly types?: TypeProvider
  /** Turns on `a.?b`, `a[?b]`, `[?a]` and `{?a: b}`. */
  readonly optionalSyntax?: boolean
}
