/** A syntax tree whose names and types are known. */
import type { Constant, ParsedAst } from '../syntax/ast.ts'
import type { CelType } from './types.ts'

/** What a name or call means: a variable, type or constant by full name, or the overloads that fit, in order of declaration. */
export interface Reference {
  readonly name?: string
  readonly value?: Constant
  readonly overloads?: readonly string[]
}

/** A parsed tree whose names are resolved (idents, structs and calls carry full names); types and references by the id of a node. */
export interface CheckedAst extends ParsedAst {
  readonly types: readonly (CelType | undefined)[]
  readonly references: readonly (Reference | undefined)[]
  /** The type of the whole expression. */
  readonly type: CelType
}
