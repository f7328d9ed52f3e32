/** What an environment is made of: functions with their overloads, variables and named types, and macros. */

import type { CelValue, EvaluationContext } from '../runtime/values.ts'
import type { Constant } from '../syntax/ast.ts'
import type { Macro } from '../syntax/grammar.ts'
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
