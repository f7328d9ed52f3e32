/** What is known of the places of a schema when its rules are written: the types of values there, and how many there can be. */
import { saturate } from '../cel/estimate.ts'
import { mostValuesOf } from './compile-rules.ts'
import { escapeName, type RuleType, ruleTypeOf } from './rule-types.ts'
import { compileSchema, type JsonSchema } from './schema.ts'

/** The type of the values at a place, and the type that the names of its parts are from. */
export type ScopeType = { readonly type: RuleType; readonly root: RuleType }

/** What all rules of a schema may cost together. */
export const SCHEMA_COST_LIMIT = 100_000_000n

/** The cost of all rules of a schema, and the few that cost most. */
export class TotalCost {
  #sum = 0n
  readonly #most: { readonly path: string; readonly cost: bigint }[] = []

  get sum(): bigint {
    return this.#sum
  }

  /** The paths of the most expensive rules, the worst first. */
  get mostExpensive(): readonly string[] {
    return this.#most.map(({ path }) => path)
  }

  add(path: string, cost: bigint): void {
    this.#sum = saturate(this.#sum + cost)
    if (cost < SCHEMA_COST_LIMIT / 100n) return
    this.#most.push({ path, cost })
    this.#most.sort((a, b) => (a.cost === b.cost ? 0 : a.cost > b.cost ? -1 : 1))
    this.#most.length = Math.min(this.#most.length, 4)
  }
}

type Step = (above: ScopeType) => RuleType | undefined

export class RuleScope {
  readonly total: TotalCost
  readonly #schema: JsonSchema
  readonly #parent: RuleScope | undefined
  readonly #step: Step | undefined
  /** Whether there are rules here or above. */
  readonly hasRules: boolean
  /** How many values there can be; undefined where something above has no limit. */
  readonly #count: bigint | undefined
  #type: { readonly known: ScopeType | undefined } | undefined

  constructor(schema: JsonSchema, parent?: RuleScope, step?: Step) {
    this.#schema = schema
    this.#parent = parent
    this.#step = step
    this.total = parent?.total ?? new TotalCost()
    this.hasRules = parent?.hasRules === true || (schema['x-kubernetes-validations']?.length ?? 0) > 0
    this.#count = parent ? parent.#countBelow() : 1n
  }

  member(name: string, schema: JsonSchema): RuleScope {
    const escaped = escapeName(name)
    return new RuleScope(schema, this, ({ type }) => (escaped === undefined ? undefined : type.fields?.get(escaped)))
  }
  values(schema: JsonSchema): RuleScope {
    return new RuleScope(schema, this, ({ type }) => type.element)
  }
  items(schema: JsonSchema): RuleScope {
    return this.values(schema)
  }

  /** The type of the values here; undefined where the schema says too little about them. */
  get type(): ScopeType | undefined {
    this.#type ??= { known: this.#findType() }
    return this.#type.known
  }

  /** What an expression costs that is run on every value here. */
  costOf(maxCost: bigint): bigint {
    const { type } = this
    const count = this.#count ?? (type ? mostValuesOf(type.type) : 0n)
    return saturate(maxCost * count)
  }

  /** From the type above, where that has one, which is cheaper than making it anew. */
  #findType(): ScopeType | undefined {
    const parent = this.#parent
    const above = parent?.hasRules ? parent.type : undefined
    const type = above && this.#step?.(above)
    if (type) return { type, root: above.root }
    const isWhole = parent === undefined || this.#schema['x-kubernetes-embedded-resource'] === true
    const own = ruleTypeOf(compileSchema(this.#schema), 'selfType', isWhole ? 'root' : 'part')
    return own && { type: own, root: own }
  }

  #countBelow(): bigint | undefined {
    const { type, maxItems, maxProperties, additionalProperties } = this.#schema
    const limit = type === 'array' ? maxItems : type === 'object' && additionalProperties !== undefined ? maxProperties : 1
    if (this.#count === undefined || limit === undefined) return undefined
    return saturate(this.#count * (limit < 0 ? 0n : BigInt(limit)))
  }
}
