/** The parts of an environment: functions with their overloads, variables and named types, and macros. */

import type { CelValue, EvaluationContext } from '../runtime/values.ts'
import type { Constant } from '../syntax/ast.ts'
import type { Macro } from '../syntax/grammar.ts'
import type { CelType } from './types.ts'

/** Evaluates an overload; a failure is an error value, never an exception. */
export type Evaluate = (args: readonly CelValue[], context: EvaluationContext) => CelValue

/** One signature of a function. The first of `params` of a member is the receiver, which is the first argument at evaluation. */
export interface Overload {
  /** Unique in an environment; it connects declarations and implementations. */
  readonly id: string
  readonly params: readonly CelType[]
  readonly result: CelType
  readonly member?: boolean
  /** Arguments may be errors: the overload handles them itself (`&&`, `||`, `?:`). */
  readonly nonStrict?: boolean
  readonly evaluate?: Evaluate
  /** The cost of a call at run time; the default is 1. */
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

/** Finds types by name: object types with their fields, and names of types and constants. */
export interface TypeProvider {
  /** The type of that name, if there is one: the value of `type(value)`, and the type of `Name{…}`. */
  findType(name: string): CelType | undefined
  /** The type of a field of an object type, if there is such a field. */
  findField(type: string, field: string): CelType | undefined
  /** The constant of that full name: the values of protobuf's enums. */
  findConstant?(name: string): Constant | undefined
  /** The value of `Name{…}`, without optional fields that have no value; undefined if this provider does not have the type. */
  construct?(type: string, fields: ReadonlyMap<string, CelValue>): CelValue | undefined
}

/** A part of an environment. */
export interface Library {
  readonly variables?: readonly VariableDecl[]
  readonly functions?: readonly FunctionDecl[]
  readonly macros?: readonly Macro[]
  readonly types?: TypeProvider
  /** Enables `a.?b`, `a[?b]`, `[?a]` and `{?a: b}`. */
  readonly optionalSyntax?: boolean
}
