/** Runs expressions in the environment of Kubernetes, for tests of its libraries. */

import { estimateCost } from '../cost.ts'
import { createProgram } from '../program.ts'
import { showValue } from '../show-value.ts'
import { CelFault, type CelValue } from '../values.ts'
import { baseEnv } from './base-env.ts'
import { kubernetesEstimator } from './call-estimates.ts'
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

/** What running an expression costs, and what it was estimated to cost. */
export function costsOf(text: string): { actual: number; min: bigint; max: bigint } {
  const env = baseEnv('stored')
  const ast = checkExpression(env, text)
  if (isProblem(ast)) throw new Error(ast.detail)
  const { cost: actual } = createProgram(env, ast).evaluate({})
  return { actual, ...estimateCost(ast, kubernetesEstimator(), { presenceTestCost: 0n }) }
}
