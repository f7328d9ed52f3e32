/** Explains why a text is no expression. */

import type { Env } from './env.ts'
import type { Tokens } from './lexer.ts'
import type { CelIssue, Source } from './source.ts'

export function explainSyntax(env: Env, source: Source, scanned: Tokens): CelIssue[] {
  void env
  void scanned
  return [{ location: source.locate(0), message: 'Syntax error' }]
}
