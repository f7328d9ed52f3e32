/** Traverses a syntax tree. */

import type { Expr } from './ast.ts'

/** The children of an expression, in source order. */
function childrenOf(expr: Expr): readonly Expr[] {
  switch (expr.kind) {
    case 'literal':
    case 'ident':
      return []
    case 'select':
      return [expr.operand]
    case 'call':
      return expr.target ? [expr.target, ...expr.args] : expr.args
    case 'list':
      return expr.elements
    case 'map':
      return expr.entries.flatMap(({ key, value }) => [key, value])
    case 'struct':
      return expr.fields.map(({ value }) => value)
    case 'comprehension':
      return [expr.iterRange, expr.accuInit, expr.loopCondition, expr.loopStep, expr.result]
  }
}

/** An expression and its descendants, parents first. `enter` tells whether to visit the children of one. */
export function* descendants(expr: Expr, enter: (expr: Expr) => boolean = () => true): Generator<Expr, void, undefined> {
  const waiting = [expr]
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    yield next
    if (enter(next)) for (const child of childrenOf(next).toReversed()) waiting.push(child)
  }
}
