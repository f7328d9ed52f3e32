/** Runs expressions in the environment of Kubernetes, for tests of its libraries. */

import { baseEnv } from '../../../src/cel/kubernetes/base-env.ts'
import { checkExpression, isProblem } from '../../../src/cel/kubernetes/expression.ts'
import { createProgram } from '../../../src/cel/runtime/program.ts'
import { showValue } from '../../../src/cel/runtime/show-value.ts'
import { CelFault, type CelValue } from '../../../src/cel/runtime/values.ts'

/** The value of an expression of a stored object; throws its errors. */
export function evaluate(text: string): CelValue {
  const env = baseEnv('stored')
  const ast = checkExpression(env, text)
  if (isProblem(ast)) throw new Error(ast.detail)
  const { value } = createProgram(env, ast).evaluate({})
  if (value instanceof CelFault) throw new Error(value.message)
  return value
}

/** The value of an expression, formatted. */
export const shown = (text: string): string => showValue(evaluate(text))

/** The error of an expression, at compile time or at run time. */
export function problemOf(text: string): string {
  try {
    return `none, it is ${shown(text)}`
  } catch (error) {
    return (error as Error).message
  }
}
