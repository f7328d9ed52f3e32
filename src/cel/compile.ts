/** From the text of an expression to a program that evaluates it. */

import { check } from './checker/checker.ts'
import type { Env } from './checker/env.ts'
import type { PlanOptions } from './runtime/planner.ts'
import { createProgram, type Program } from './runtime/program.ts'
import { parse } from './syntax/parser.ts'

/**
 * Parses, checks and plans an expression. Throws CelError if it cannot be parsed or does not type-check, and CelProgramError if no
 * program can be made of it.
 */
export function compile(env: Env, source: string, options: Partial<PlanOptions> = {}): Program {
  return createProgram(env, check(env, parse(env, source)), options)
}
