/** Compiles CEL expressions as Kubernetes does, with the errors that clients see. */

import type { CheckedAst } from '../checker/checked-ast.ts'
import { check } from '../checker/checker.ts'
import type { Env } from '../checker/env.ts'
import { CelProgramError } from '../runtime/planner.ts'
import { createProgram, type Program } from '../runtime/program.ts'
import { regexOf } from '../runtime/regex-cache.ts'
import { CelFault } from '../runtime/values.ts'
import { parse } from '../syntax/parser.ts'
import { CelError } from '../syntax/source.ts'
import { descendants } from '../syntax/walk.ts'
import { literalIssues } from './literal-checks.ts'

/** An error of an expression; errors of program creation are reported as internal errors. */
export interface ExpressionProblem {
  readonly reason: 'invalid' | 'internal'
  readonly detail: string
}

export const invalidExpression = (detail: string): ExpressionProblem => ({ reason: 'invalid', detail })

export const isProblem = (result: object): result is ExpressionProblem => 'detail' in result

/** The checked expression, or the error. */
export function checkExpression(env: Env, text: string): CheckedAst | ExpressionProblem {
  try {
    const ast = check(env, parse(env, text))
    const issues = literalIssues(ast)
    if (issues.length > 0) throw new CelError(ast.source, issues)
    return ast
  } catch (error) {
    if (error instanceof CelError) return invalidExpression(`compilation failed: ${error.message}`)
    throw error
  }
}

/** The program of a checked expression, or the error. */
export function programOf(env: Env, ast: CheckedAst): Program | ExpressionProblem {
  const failed = (why: string): ExpressionProblem => ({ reason: 'internal', detail: `program instantiation failed: ${why}` })
  const pattern = brokenPattern(ast)
  if (pattern) return failed(pattern.message)
  try {
    return createProgram(env, ast)
  } catch (error) {
    if (error instanceof CelProgramError) return failed(error.message)
    throw error
  }
}

const MATCHERS: ReadonlySet<string> = new Set(['matches', 'find', 'findAll'])

/** Literal patterns are compiled with the program. */
function brokenPattern({ expr }: CheckedAst): CelFault | undefined {
  for (const node of descendants(expr)) {
    if (node.kind !== 'call' || !MATCHERS.has(node.function)) continue
    const pattern = node.target ? node.args[0] : node.args[1]
    const regex = pattern?.kind === 'literal' && pattern.value.type === 'string' ? regexOf(pattern.value.value) : undefined
    if (regex instanceof CelFault) return regex
  }
  return undefined
}
