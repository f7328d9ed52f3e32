/** Environments and shorthand for tests of evaluation. For tests only. */

import { createEnv, type Env, type EnvSettings } from '../../../src/cel/checker/env.ts'
import type { Library } from '../../../src/cel/checker/library.ts'
import {
  mapInsertDeclarations,
  optionalFunctionDeclarations,
  optionalTypeVariables,
} from '../../../src/cel/checker/optional-declarations.ts'
import { standardFunctionDeclarations, standardTypeVariables } from '../../../src/cel/checker/standard-declarations.ts'
import { standardTypes } from '../../../src/cel/checker/standard-types.ts'
import { type CelType, dynType } from '../../../src/cel/checker/types.ts'
import type { PlanOptions } from '../../../src/cel/runtime/planner.ts'
import type { Bindings, EvaluateOptions, Evaluation } from '../../../src/cel/runtime/program.ts'
import { dynShape } from '../../../src/cel/runtime/shapes.ts'
import type { CelValue } from '../../../src/cel/runtime/values.ts'
import { bindLibrary, optionalMacros, standardMacros, twoVariableMacros } from '../../../src/cel/syntax/macros.ts'
import { compile } from './compile.ts'

/** All libraries of CEL itself. */
export const wholeLibrary = (): Library => ({
  functions: [...standardFunctionDeclarations(), ...optionalFunctionDeclarations(), ...mapInsertDeclarations()],
  variables: [...standardTypeVariables(), ...optionalTypeVariables()],
  macros: [...standardMacros(), ...twoVariableMacros(), ...optionalMacros(), ...(bindLibrary().macros ?? [])],
  types: standardTypes,
  optionalSyntax: true,
})

/** An environment of all libraries of CEL itself and some variables. */
export function testEnv(variables: { readonly [name: string]: CelType } = {}, settings: EnvSettings = {}): Env {
  const declared = Object.entries(variables).map(([name, type]) => ({ name, type }))
  return createEnv([wholeLibrary(), { variables: declared }], { crossTypeNumericComparisons: true, ...settings })
}

/** The value of JSON, whole numbers being ints. */
export const fromJson = (json: unknown): CelValue => dynShape.read(json as Parameters<typeof dynShape.read>[0])

/** Evaluates an expression; the variables it is given are declared as dyn. */
export function run(source: string, bindings: Bindings = {}, options: EvaluateOptions & Partial<PlanOptions> = {}): Evaluation {
  const env = testEnv(Object.fromEntries(Object.keys(bindings).map(name => [name, dynType])))
  return compile(env, source, options).evaluate(bindings, options)
}

/** The value of an expression. */
export const valueOfExpression = (source: string, bindings: Bindings = {}): CelValue => run(source, bindings, { optimize: false }).value
