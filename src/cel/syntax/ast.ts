/** The syntax tree of a CEL expression, after macros are expanded. */

import type { Source } from './source.ts'

/** A literal as written; ints and uints are exact. */
export type Constant =
  | { readonly type: 'null' }
  | { readonly type: 'bool'; readonly value: boolean }
  | { readonly type: 'int'; readonly value: bigint }
  | { readonly type: 'uint'; readonly value: bigint }
  | { readonly type: 'double'; readonly value: number }
  | { readonly type: 'string'; readonly value: string }
  | { readonly type: 'bytes'; readonly value: Uint8Array }

/**
 * `id` is unique in a tree; `offset` is the reported position of the node in the source, in UTF-16 units (an operator, not its operands).
 */
interface Node {
  readonly id: number
  readonly offset: number
}

export interface LiteralExpr extends Node {
  readonly kind: 'literal'
  readonly value: Constant
}

/** A name; in a checked tree it is the full name of a variable, type or constant. `@result` is the accumulator of comprehensions. */
export interface IdentExpr extends Node {
  readonly kind: 'ident'
  readonly name: string
}

/** `operand.field`, or `has(operand.field)` when `testOnly`. `a.?b` is a call of `_?._` with the name as a literal. */
export interface SelectExpr extends Node {
  readonly kind: 'select'
  readonly operand: Expr
  readonly field: string
  readonly testOnly: boolean
}

/** A call of a function or operator (`_+_`, `_[_]`, `_?_:_`, `@in`), or of a member when there is a target. */
export interface CallExpr extends Node {
  readonly kind: 'call'
  readonly target: Expr | undefined
  readonly function: string
  readonly args: readonly Expr[]
}

/** `[a, ?b]`; `optional` has the indexes of the elements with a question mark. */
export interface ListExpr extends Node {
  readonly kind: 'list'
  readonly elements: readonly Expr[]
  readonly optional: readonly number[]
}

export interface MapEntry extends Node {
  readonly key: Expr
  readonly value: Expr
  readonly optional: boolean
}

/** `{key: value, ?key: value}`. */
export interface MapExpr extends Node {
  readonly kind: 'map'
  readonly entries: readonly MapEntry[]
}

export interface FieldEntry extends Node {
  readonly name: string
  readonly value: Expr
  readonly optional: boolean
}

/** `Type{field: value}`; in a checked tree the type is its full name. */
export interface StructExpr extends Node {
  readonly kind: 'struct'
  readonly type: string
  readonly fields: readonly FieldEntry[]
}

/**
 * A loop: `accuVar` starts as `accuInit`; for each element of `iterRange`, while `loopCondition` holds, it becomes `loopStep`; the
 * value is `result`. With `iterVar2`, the first variable is the index or key and the second the value.
 */
export interface ComprehensionExpr extends Node {
  readonly kind: 'comprehension'
  readonly iterRange: Expr
  readonly iterVar: string
  readonly iterVar2: string | undefined
  readonly accuVar: string
  readonly accuInit: Expr
  readonly loopCondition: Expr
  readonly loopStep: Expr
  readonly result: Expr
}

export type Expr = LiteralExpr | IdentExpr | SelectExpr | CallExpr | ListExpr | MapExpr | StructExpr | ComprehensionExpr

/** The result of parsing: the tree and its source; `macroCalls` has the original calls of expanded macros, by id. */
export interface ParsedAst {
  readonly expr: Expr
  readonly source: Source
  readonly macroCalls: ReadonlyMap<number, CallExpr>
}

/** The accumulator variable of macros; it cannot be written in an expression. */
export const accumulator = '@result'
