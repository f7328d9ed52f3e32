/** The scope of expressions at one position of a schema: the type of their values, and the possible number of them. */
import { saturate } from '../../cel/checker/cost-range.ts'
import { escapeName } from '../../cel/kubernetes/field-names.ts'
import { type RuleType, ruleTypeOf } from '../../structural/rule-types.ts'
import { compileSchema, type Structural } from '../../structural/schema.ts'
import type { Schema } from './json-schema.ts'

/** The limits of the estimated cost of one expression, and of all expressions of a schema. */
export const MAX_EXPRESSION_COST = 10_000_000n
export const MAX_SCHEMA_COST = 100_000_000n

/** A type, and the enclosing type from which its name derives. */
export type Typed = { readonly type: RuleType; readonly root: RuleType }

export type ExpressionScope = {
  /** The type of the values; undefined where the schema is incomplete. Computed on first use. */
  readonly typed: () => Typed | undefined
  /** The possible number of values by the limits of all enclosing lists and maps; undefined where one has no limit. */
  readonly cardinality: bigint | undefined
  readonly costs: Costs
  member(name: string, schema: Schema): ExpressionScope
  values(schema: Schema): ExpressionScope
  items(schema: Schema): ExpressionScope
}

/** The scope of a whole object. */
export function rootScope(schema: Schema): ExpressionScope {
  const compiled = once(() => compileSchema(schema))
  const typed = once(() => rootType(compiled(), 'root'))
  return scopeOf({ schema, compiled, typed, cardinality: 1n, costs: new Costs() })
}

type ScopeSource = {
  readonly schema: Schema
  readonly compiled: () => Structural | undefined
  readonly typed: () => Typed | undefined
  readonly cardinality: bigint | undefined
  readonly costs: Costs
}

function scopeOf(source: ScopeSource): ExpressionScope {
  const { typed, cardinality, costs } = source
  return {
    typed,
    cardinality,
    costs,
    member(name, schema) {
      const compiled = once(() => source.compiled()?.properties.get(name))
      const escaped = escapeName(name)
      return scopeOf(inside(source, schema, compiled, type => (escaped === undefined ? undefined : type.fields?.get(escaped))))
    },
    values(schema) {
      const compiled = once(() => {
        const additional = source.compiled()?.additional
        return typeof additional === 'object' ? additional : undefined
      })
      return scopeOf(inside(source, schema, compiled, type => type.element))
    },
    items(schema) {
      const compiled = once(() => source.compiled()?.items)
      return scopeOf(inside(source, schema, compiled, type => type.element))
    },
  }
}

/** The scope of a nested schema. A part that its parent's type does not include has a separate type. */
function inside(
  outer: ScopeSource,
  schema: Schema,
  compiled: () => Structural | undefined,
  partOf: (type: RuleType) => RuleType | undefined,
): ScopeSource {
  const typed = once(() => {
    const parent = outer.typed()
    const type = parent && partOf(parent.type)
    if (type) return { type, root: parent.root }
    const structural = compiled()
    return structural && rootType(structural, structural.embedded ? 'root' : 'part')
  })
  const each = partsAtMost(outer.schema)
  const cardinality = outer.cardinality === undefined || each === undefined ? undefined : timesAtMost(outer.cardinality, each)
  return { schema, compiled, typed, cardinality, costs: outer.costs }
}

function rootType(structural: Structural, position: 'root' | 'part'): Typed | undefined {
  const type = ruleTypeOf(structural, 'selfType', position)
  return type && { type, root: type }
}

/** The possible number of parts of a value; undefined where there is no limit. */
function partsAtMost({ type, additionalProperties, maxProperties, maxItems }: Schema): bigint | undefined {
  if (type === 'object' && additionalProperties !== undefined) return limit(maxProperties)
  return type === 'array' ? limit(maxItems) : 1n
}

const limit = (most: number | bigint | undefined) => (most === undefined ? undefined : most < 0 ? 0n : BigInt(most))

/** The product, saturated at the largest number. */
export const timesAtMost = (cost: bigint, times: bigint): bigint => saturate(cost * times)

/** The total cost of a schema's expressions, and the most expensive of them. */
class Costs {
  #total = 0n
  #highest: { readonly path: string; readonly cost: bigint }[] = []

  get total(): bigint {
    return this.#total
  }
  /** The paths of the most expensive ones, if they cost at least a hundredth of the limit. */
  get highest(): readonly string[] {
    return this.#highest.map(({ path }) => path)
  }

  add(path: string, cost: bigint): void {
    this.#total = saturate(this.#total + cost)
    if (cost < MAX_SCHEMA_COST / 100n) return
    this.#highest.push({ path, cost })
    this.#highest.sort((a, b) => (a.cost > b.cost ? -1 : a.cost < b.cost ? 1 : 0))
    this.#highest.length = Math.min(this.#highest.length, 4)
  }
}

/** The factor by which a cost exceeds its limit, for an error message. */
export function costMessage(what: string, cost: bigint, limit: bigint): string {
  const factor = Number(cost) / Number(limit)
  const times = factor > 100 ? 'more than 100x' : `${factor.toFixed(factor < 1.5 ? 6 : 1)}x`
  return `${what} exceeds budget by factor of ${times} (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)`
}

function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined
  return () => {
    made ??= { value: make() }
    return made.value
  }
}
