/** What parsing depends on beside the text: macros, and limits. */
import type { Constant, Expr, FieldEntry, MapEntry } from './ast.ts'

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

/** What an expression is parsed in; an environment of the checker is one. */
export interface Grammar {
  readonly settings: {
    /** The longest source, in code points. */
    readonly maxSourceLength: number
    /** How deep an expression may nest. */
    readonly maxDepth: number
    /** How many nodes an expression may have once its macros are expanded. */
    readonly maxNodes: number
    /** `a && b && c` is one call with three arguments instead of a balanced tree of calls. */
    readonly variadicLogic: boolean
  }
  /** Whether there are `a.?b`, `a[?b]`, `[?a]` and `{?a: b}`. */
  readonly optionalSyntax: boolean
  /** The macro for a call of that name, number of arguments and style. */
  findMacro(name: string, args: number, receiver: boolean): Macro | undefined
}
