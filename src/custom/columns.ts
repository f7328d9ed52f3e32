/** Table columns that a definition asks for: JSON paths into the object, shown as people read them. */
import type { ColumnDefinition } from '../kinds/apiextensions/definition-shapes.ts'
import { goJson, goWholePrint } from '../lib/go-text.ts'
import { JsonPathError, parseJsonPath } from '../lib/json-path.ts'
import { findFirst } from '../lib/json-path-search.ts'
import type { Json } from '../lib/json-value.ts'
import { humanDuration, isZeroTime, millisecondsOf, parseTime, TimeError } from '../lib/time.ts'
import type { Budget } from '../schema/budget.ts'
import { age, type Cell, type CellContext, type Column } from '../schema/columns.ts'
import type { AnyObject } from '../schema/object-meta.ts'

type Type = Column<AnyObject>[0]

/** The columns after Name. Without any there is Age; a path that cannot be read takes all columns with it, as in kube-apiserver. */
export function printerColumns(columns: readonly ColumnDefinition[] | undefined): readonly (readonly [string, Column<AnyObject>])[] {
  try {
    return (columns?.length ? columns : AGE).map(columnOf)
  } catch (error) {
    if (error instanceof JsonPathError) return []
    throw error
  }
}

const AGE: readonly ColumnDefinition[] = [{ name: 'Age', type: 'date', description: age[2], jsonPath: '.metadata.creationTimestamp' }]

function columnOf({ name, type, format, description, priority, jsonPath }: ColumnDefinition): readonly [string, Column<AnyObject>] {
  const path = parseJsonPath(`{${jsonPath}}`)
  const doc = description || `Custom resource definition column (in JSONPath format): ${jsonPath}`
  const get = (object: AnyObject, ctx: CellContext) => {
    if (ctx.budget.isSpent) return TOO_EXPENSIVE
    try {
      return cellOf(type, findFirst(path, object as unknown as Json, ctx.budget), ctx)
    } catch (error) {
      if (ctx.budget.isSpent) return TOO_EXPENSIVE
      throw error
    }
  }
  return [name, [type as Type, get, doc, { ...(format && { format }), ...(priority && { priority }) }]]
}

/** Stands in the cells that are left once the budget of the table is spent. */
const TOO_EXPENSIVE = '<too expensive>'

/** A cell of a column's type; values of another type are not shown. */
function cellOf(type: string, value: Json | undefined, { now, budget }: CellContext): Cell {
  if (value === undefined) return null
  switch (type) {
    case 'string':
      return textOf(value, budget)
    case 'integer':
      return typeof value === 'number' ? Math.trunc(value) : typeof value === 'bigint' ? value : null
    case 'number':
      return typeof value === 'number' || typeof value === 'bigint' ? value : null
    case 'boolean':
      return typeof value === 'boolean' ? value : null
    case 'date':
      return typeof value === 'string' ? sinceText(value, now) : null
    default:
      return null
  }
}

function textOf(value: Json, budget: Budget): string {
  if (value === null) return '<no value>'
  const text = typeof value === 'object' ? goJson(value) : goWholePrint(value)
  budget.charge(text.length / CHARS_PER_UNIT)
  return text
}
/** How much of a text takes about as long to write as it takes to look at a value. */
const CHARS_PER_UNIT = 8

function sinceText(text: string, now: Date): string {
  if (text === '' || text === 'null') return '<unknown>'
  try {
    const instant = parseTime(text)
    return isZeroTime(instant) ? '<unknown>' : humanDuration(now.getTime() - millisecondsOf(instant))
  } catch (error) {
    if (error instanceof TimeError) return '<invalid>'
    throw error
  }
}
