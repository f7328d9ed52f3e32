/** Resolves qualified names inside a namespace. */

import type { Expr } from '../syntax/ast.ts'

/** The full names that a name may resolve to, best first: in `a.b`, `x` is `a.b.x`, `a.x`, then `x`; `.x` is `x` only. */
export function candidateNames(container: string, name: string): readonly string[] {
  if (name.startsWith('.')) return [name.slice(1)]
  if (container === '') return [name]
  const candidates: string[] = []
  for (let prefix = container; prefix !== ''; prefix = prefix.slice(0, Math.max(0, prefix.lastIndexOf('.')))) {
    candidates.push(`${prefix}.${name}`)
  }
  return [...candidates, name]
}

/** The parts of an expression that is only a qualified name. */
export function qualifiers(expr: Expr): string[] | undefined {
  const names: string[] = []
  for (let at = expr; ; at = at.operand) {
    if (at.kind === 'ident') return [at.name, ...names.reverse()]
    if (at.kind !== 'select' || at.testOnly) return undefined
    names.push(at.field)
  }
}

/** The qualified name that an expression is; undefined if it is not one. */
export const qualifiedName = (expr: Expr): string | undefined => qualifiers(expr)?.join('.')
