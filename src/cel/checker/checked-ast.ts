/** A syntax tree with resolved names and types. */
import type { Constant, ParsedAst } from '../syntax/ast.ts'
import type { CelType } from './types.ts'

/** The meaning of a name or call: a variable, type or constant by full name, or the matching overloads, in order of declaration. */
export interface Reference {
  readonly name?: string
  readonly value?: Constant
  readonly overloads?: readonly string[]
}

/** A parsed tree with resolved names (idents, structs and calls have full names); types and references by the id of a node. */
export interface CheckedAst extends ParsedAst {
  readonly types: readonly (CelType | undefined)[]
  readonly references: readonly (Reference | undefined)[]
  /** The type of the whole expression. */
  readonly type: CelType
}
