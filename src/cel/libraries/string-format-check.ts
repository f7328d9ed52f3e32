/** Checks calls of `string.format` with literal templates and arguments. */

import type { CheckedAst } from '../checker/checked-ast.ts'
import { type CelType, dynType } from '../checker/types.ts'
import type { CallExpr, Expr, ListExpr } from '../syntax/ast.ts'
import type { CelIssue } from '../syntax/source.ts'
import { descendants } from '../syntax/walk.ts'
import { type ClauseVerb, clauseProblems, FormatError, fillTemplate } from './string-format-template.ts'

/** The issues of all such calls in an expression. */
export function* formatCallIssues(ast: CheckedAst): Iterable<CelIssue> {
  for (const expr of descendants(ast.expr)) {
    if (expr.kind === 'call' && expr.function === 'format') yield* issuesOf(ast, expr)
  }
}

function* issuesOf(ast: CheckedAst, call: CallExpr): Iterable<CelIssue> {
  const { target, args } = call
  const overloads = ast.references[call.id]?.overloads ?? []
  if (overloads.length > 0 && !overloads.includes('string_format')) return
  const [list] = args
  if (target?.kind !== 'literal' || target.value.type !== 'string' || args.length !== 1 || list?.kind !== 'list') return
  const issue = (message: string, at: Expr = call): CelIssue => ({ location: ast.source.locate(at.offset), message })
  try {
    const { used } = fillTemplate(target.value.value, fillerOf(ast, list))
    const given = list.elements.length
    if (given > used) yield issue(`too many arguments supplied to string.format (expected ${used}, got ${given})`)
  } catch (error) {
    if (!(error instanceof FormatError)) throw error
    const blamed = error.node === undefined ? undefined : [...descendants(list)].find(({ id }) => id === error.node)
    yield issue(error.message, blamed)
  }
}

function fillerOf(ast: CheckedAst, { elements }: ListExpr) {
  const typeOf = (expr: Expr): CelType => ast.types[expr.id] ?? dynType
  return {
    count: elements.length,
    fill({ verb }: { verb: ClauseVerb }, index: number): string {
      const element = elements[index]!
      const bad = verb === 's' ? undisplayable(element, typeOf) : takes(verb, typeOf(element)) ? undefined : element
      if (bad) throw new FormatError(`${clauseProblems[verb]} ${typeOf(bad).name}`, bad.id)
      return ''
    },
  }
}

const kinds: Readonly<Record<ClauseVerb, readonly string[]>> = {
  s: ['list', 'map', 'int', 'uint', 'double', 'bool', 'string', 'timestamp', 'bytes', 'duration', 'type', 'null'],
  d: ['int', 'uint'],
  // Infinities and NaN are passed as strings.
  f: ['double', 'string'],
  e: ['double', 'string'],
  b: ['int', 'uint', 'bool'],
  x: ['int', 'uint', 'string', 'bytes'],
  X: ['int', 'uint', 'string', 'bytes'],
  o: ['int', 'uint'],
}

const takes = (verb: ClauseVerb, type: CelType): boolean => type.kind === 'dyn' || kinds[verb].includes(type.kind)

/** The first part of an argument that cannot be formatted; list and map literals are traversed. */
function undisplayable(expr: Expr, typeOf: (expr: Expr) => CelType): Expr | undefined {
  if (!takes('s', typeOf(expr))) return expr
  const parts = expr.kind === 'list' ? expr.elements : expr.kind === 'map' ? expr.entries.flatMap(({ key, value }) => [key, value]) : []
  for (const part of parts) {
    const bad = undisplayable(part, typeOf)
    if (bad) return bad
  }
  return undefined
}
