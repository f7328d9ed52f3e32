/** Runs expressions in the environment of Kubernetes, for tests of its libraries. */

import { createProgram } from '../program.ts'
import { showValue } from '../show-value.ts'
import { CelFault, type CelValue } from '../values.ts'
import { baseEnv } from './base-env.ts'
import { checkExpression, isProblem } from './expression.ts'

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
