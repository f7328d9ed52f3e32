/** Runs expressions in the environment of Kubernetes, for tests of its libraries. */

import { baseEnv } from '../../../src/cel/kubernetes/base-env.ts'
import { checkExpression, isProblem } from '../../../src/cel/kubernetes/expression.ts'
import { createProgram } from '../../../src/cel/runtime/program.ts'
import { showValue } from '../../../src/cel/runtime/show-value.ts'
import { CelFault, type CelValue } from '../../../src/cel/runtime/values.ts'

/** The value of an expression that stored objects may have; throws what is wrong with it. */
export function evaluate(text: string): CelValue {
  const env = baseEnv('stored')
  const ast = checkExpression(env, text)
  if (isProblem(ast)) throw new Error(ast.detail)
  const { value } = createProgram(env, ast).evaluate({})
  if (value instanceof CelFault) throw new Error(value.message)
  return value
}

/** What an expression gives as text. */
export const shown = (text: string): string => showValue(evaluate(text))

/** What is wrong with an expression, compiled or run. */
export function problemOf(text: string): string {
  try {
    return `none, it is ${shown(text)}`
  } catch (error) {
    return (error as Error).message
  }
}
