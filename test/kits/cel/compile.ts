/** Compiles the source of an expression to a program. */

import { check } from '../../../src/cel/checker/checker.ts'
import type { Env } from '../../../src/cel/checker/env.ts'
import type { PlanOptions } from '../../../src/cel/runtime/planner.ts'
import { createProgram, type Program } from '../../../src/cel/runtime/program.ts'
import { parse } from '../../../src/cel/syntax/parser.ts'

/**
 * Parses, checks and plans an expression. Throws CelError if it cannot be parsed or does not type-check, and CelProgramError if no program
 * can be created.
 */
export function compile(env: Env, source: string, options: Partial<PlanOptions> = {}): Program {
  return createProgram(env, check(env, parse(env, source)), options)
}
