/** Sizes that an expression or a type tells by itself. */

import type { Constant, Expr } from '../syntax/ast.ts'
import { codePoints } from '../syntax/source.ts'
import { exactly, type Range } from './estimate.ts'
import { type CelType, isOptionalType } from './types.ts'

/** The size of a literal, or of a list or map that is written out. */
export function constantSize(expr: Expr): Range | undefined {
  if (expr.kind === 'literal') return exactly(literalSize(expr.value))
  if (expr.kind === 'list') return exactly(expr.elements.length)
  return expr.kind === 'map' ? exactly(expr.entries.length) : undefined
}

/** The size of every value of a type: one for those that do not vary. */
export function typeSize(type: CelType): Range | undefined {
  return isScalar(type) ? exactly(1) : undefined
}

function literalSize(constant: Constant): number {
  if (constant.type === 'string') return codePoints(constant.value, 0, constant.value.length)
  return constant.type === 'bytes' ? constant.value.length : 1
}

const scalars: ReadonlySet<string> = new Set(['bool', 'double', 'duration', 'int', 'timestamp', 'uint'])

const isScalar = (type: CelType): boolean => (isOptionalType(type) ? isScalar(type.params[0]!) : scalars.has(type.kind))
