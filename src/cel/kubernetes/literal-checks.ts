/** Kubernetes' checks of an expression beside its types: valid literals, and lists and maps of one type. */

import type { CheckedAst } from '../checker/checked-ast.ts'
import { type CelType, formatType, unwrapOptional } from '../checker/types.ts'
import { formatCallIssues } from '../libraries/string-format-check.ts'
import { toDuration, toTimestamp } from '../runtime/conversions.ts'
import { regexOf } from '../runtime/regex-cache.ts'
import { CelFault, type CelValue, intOf } from '../runtime/values.ts'
import type { Expr } from '../syntax/ast.ts'
import type { CelIssue } from '../syntax/source.ts'
import { descendants } from '../syntax/walk.ts'

/** The issues of an expression that type-checks. */
export function literalIssues(ast: CheckedAst): CelIssue[] {
  return [...aggregateIssues(ast), ...argumentIssues(ast), ...formatCallIssues(ast)]
}

/** Mixed lists are allowed in calls of this function. */
const MIXING_FUNCTION = 'format'

function* aggregateIssues(ast: CheckedAst): Iterable<CelIssue> {
  const mismatch = (expr: Expr, expected: CelType, found: CelType): CelIssue => ({
    location: ast.source.locate(expr.offset),
    message: `expected type '${formatType(expected)}' but found '${formatType(found)}'`,
  })
  const typeOf = (expr: Expr, isOptional: boolean): CelType => {
    const type = ast.types[expr.id]!
    return isOptional ? unwrapOptional(type) : type
  }
  for (const expr of descendants(ast.expr, inner => inner.kind !== 'call' || inner.function !== MIXING_FUNCTION)) {
    if (expr.kind === 'list') {
      const types = expr.elements.map((element, i) => typeOf(element, expr.optional.includes(i)))
      const odd = types.findIndex(type => !areEquivalent(types[0]!, type))
      if (odd >= 0) yield mismatch(expr.elements[odd]!, types[0]!, types[odd]!)
    } else if (expr.kind === 'map') {
      const types = expr.entries.map(({ key, value, optional }) => [typeOf(key, false), typeOf(value, optional)] as const)
      for (const [i, { key, value }] of expr.entries.entries()) {
        if (!areEquivalent(types[0]![0], types[i]![0])) yield mismatch(key, types[0]![0], types[i]![0])
        if (!areEquivalent(types[0]![1], types[i]![1])) yield mismatch(value, types[0]![1], types[i]![1])
      }
    }
  }
}

/** Whether two types are the same except for the names of type variables. */
function areEquivalent(a: CelType, b: CelType): boolean {
  if (a.kind !== b.kind || a.params.length !== b.params.length || (a.kind !== 'typeParam' && a.name !== b.name)) return false
  return a.params.every((param, i) => areEquivalent(param, b.params[i]!))
}

const checkedArguments: ReadonlyMap<string, (value: CelValue) => unknown> = new Map<string, (value: CelValue) => unknown>([
  ['duration', toDuration],
  ['timestamp', toTimestamp],
  ['matches', pattern => (typeof pattern === 'string' ? regexOf(pattern) : undefined)],
])

/** Evaluates literal arguments of duration, timestamp and matches. */
function* argumentIssues(ast: CheckedAst): Iterable<CelIssue> {
  for (const expr of descendants(ast.expr)) {
    if (expr.kind !== 'call') continue
    const attempt = checkedArguments.get(expr.function)
    const [first] = expr.args
    if (!attempt || first?.kind !== 'literal') continue
    const { value } = first
    const given = value.type === 'string' ? value.value : value.type === 'int' ? intOf(value.value) : undefined
    if (given !== undefined && attempt(given) instanceof CelFault) {
      yield { location: ast.source.locate(first.offset), message: `invalid ${expr.function} argument` }
    }
  }
}
