/** The parameters of parsing: macros, and limits. */
import type { Constant, Expr, FieldEntry, MapEntry } from './ast.ts'

/** Creates nodes for a macro; they get fresh ids and the position of the macro. */
export interface MacroFactory {
  literal(value: Constant): Expr
  ident(name: string): Expr
  /** The accumulator variable. */
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
  /** A copy of the expression with fresh ids, for a macro that uses an argument twice. */
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

/** Why a macro does not accept its arguments; `at` is the wrong argument. */
export interface MacroProblem {
  readonly at: Expr
  readonly problem: string
}

/** Rewrites a call during parsing; undefined leaves the call as it is. */
export type ExpandMacro = (make: MacroFactory, target: Expr | undefined, args: readonly Expr[]) => Expr | MacroProblem | undefined

export interface Macro {
  readonly function: string
  /** The number of arguments; undefined accepts any. */
  readonly args: number | undefined
  readonly receiver: boolean
  readonly expand: ExpandMacro
}

/** The parser's environment; an environment of the checker is one. */
export interface Grammar {
  readonly settings: {
    /** The maximum length of the source, in code points. */
    readonly maxSourceLength: number
    /** The maximum nesting depth of an expression. */
    readonly maxDepth: number
    /** The maximum number of nodes after macro expansion. */
    readonly maxNodes: number
    /** `a && b && c` is one call with three arguments instead of a balanced tree of calls. */
    readonly variadicLogic: boolean
  }
  /** Enables `a.?b`, `a[?b]`, `[?a]` and `{?a: b}`. */
  readonly optionalSyntax: boolean
  /** The macro for a call of that name, number of arguments and style. */
  findMacro(name: string, args: number, receiver: boolean): Macro | undefined
}
