/** Rules of `x-kubernetes-validations` as programs, with their faults and their estimated cost. */

import { estimateCost } from '../cel/checker/cost.ts'
import type { CostEstimator } from '../cel/checker/cost-range.ts'
import { type Env, extendEnv } from '../cel/checker/env.ts'
import type { Library } from '../cel/checker/library.ts'
import { type CelType, optionalType } from '../cel/checker/types.ts'
import { baseEnv, type ExpressionAge } from '../cel/kubernetes/base-env.ts'
import { checkExpression, isProblem, programOf } from '../cel/kubernetes/expression.ts'
import { withReservedNames } from '../cel/kubernetes/field-names.ts'
import { sizedTypesLibrary, sizesOf } from '../cel/kubernetes/sized-types.ts'
import { kubernetesEstimator } from '../cel/libraries/call-estimates.ts'
import type { Program } from '../cel/runtime/program.ts'
import { fieldAt } from './field-path.ts'
import { MAX_REQUEST_BYTES, type RuleType } from './rule-types.ts'
import type { JsonSchema, ValidationRule } from './schema.ts'

/** An expression that became a program, or its fault. */
export type CompiledExpression =
  | { readonly program: Program; readonly maxCost: bigint; readonly usesOldSelf: boolean }
  | { readonly problem: string; readonly usesOldSelf: boolean }

export type CompiledRule = {
  readonly rule: ValidationRule
  /** Undefined for a rule that says nothing. */
  readonly condition: CompiledExpression | undefined
  /** The message expression, where the rule has one and compiles itself. */
  readonly message: CompiledExpression | undefined
  /** The field that is to blame, seen from the value; empty for the value itself. */
  readonly fieldPath: string
}

/** Whether an expression was there before, in which case it may use all that this server knows. */
export type AgeOf = (kind: 'rule' | 'messageExpression', text: string) => ExpressionAge

const STORED: AgeOf = () => 'stored'

export type RulesOf = { readonly type: RuleType; readonly root?: RuleType; readonly ageOf?: AgeOf }

/**
 * Compiles the rules of one schema for values of a type, each when it is asked for: there can be very many. `root` is a type that has it
 * as a part, whose names it uses. Rules are compiled once per schema.
 */
export function* compiledRules(schema: JsonSchema, { type, root = type, ageOf = STORED }: RulesOf): Iterable<CompiledRule> {
  const compiler = compilerFor(schema, type, root)
  for (const rule of schema['x-kubernetes-validations'] ?? []) yield compiler.rule(schema, rule, ageOf)
}

/** Keyed by schema, and by the names of the types, which depend on the schema that it is a part of. */
const compilers = new WeakMap<JsonSchema, Map<string, RuleCompiler>>()

function compilerFor(schema: JsonSchema, type: RuleType, root: RuleType): RuleCompiler {
  let byType = compilers.get(schema)
  if (byType === undefined) compilers.set(schema, (byType = new Map()))
  const key = `${root.type.name} ${type.type.name}`
  let compiler = byType.get(key)
  if (compiler === undefined) byType.set(key, (compiler = new RuleCompiler(type, root)))
  return compiler
}

/** How often a value can be there at most when nothing but the size of a request limits it. */
export const mostValuesOf = ({ minSize }: RuleType): bigint => BigInt(Math.floor(MAX_REQUEST_BYTES / (minSize + 1)))

const libraries = new WeakMap<RuleType, Library>()

class RuleCompiler {
  readonly #type: RuleType
  readonly #types: Library
  readonly #estimator: CostEstimator
  readonly #envs = new Map<string, Env>()
  /** Rules that are written alike are compiled once. */
  readonly #known = new Map<string, CompiledExpression>()

  constructor(type: RuleType, root: RuleType) {
    this.#type = type
    let library = libraries.get(root)
    if (library === undefined) libraries.set(root, (library = typesOf(root)))
    this.#types = library
    // Whatever has a name counts as large as self, as in kube-apiserver: names of types, too, which makes `type(self) == int` affordable.
    this.#estimator = kubernetesEstimator(sizesOf({ get: () => type }))
  }

  rule(schema: JsonSchema, rule: ValidationRule, ageOf: AgeOf): CompiledRule {
    if (rule.rule.trim() === '') return { rule, condition: undefined, message: undefined, fieldPath: '' }
    const optional = rule.optionalOldSelf === true
    const condition = this.#compiled(rule.rule, { age: ageOf('rule', rule.rule), optional }, CONDITION)
    const text = 'problem' in condition ? undefined : rule.messageExpression
    const message = text ? this.#compiled(text, { age: ageOf('messageExpression', text), optional }, MESSAGE) : undefined
    const found = rule.fieldPath ? fieldAt(rule.fieldPath, schema) : undefined
    return { rule, condition, message, fieldPath: found === undefined || 'fault' in found ? '' : found.path }
  }

  #compiled(text: string, { age, optional }: { age: ExpressionAge; optional: boolean }, wanted: ExpressionUse): CompiledExpression {
    const key = `${wanted.kind} ${age} ${optional} ${text}`
    let known = this.#known.get(key)
    if (known === undefined) this.#known.set(key, (known = this.#expression(text, this.#env(age, optional), wanted)))
    return known
  }

  #expression(text: string, env: Env, { kind, prefix, otherType }: ExpressionUse): CompiledExpression {
    const checked = checkExpression(env, text)
    if (isProblem(checked)) return { problem: `${prefix}${checked.detail}`, usesOldSelf: false }
    if (checked.type.kind !== kind) return { problem: otherType, usesOldSelf: false }
    const usesOldSelf = checked.references.some(reference => reference?.name === 'oldSelf')
    const program = programOf(env, checked)
    if (isProblem(program)) return { problem: `${prefix}${program.detail}`, usesOldSelf }
    const estimator = this.#estimator
    let maxCost: bigint | undefined
    return {
      program,
      usesOldSelf,
      // Asked when a definition is validated, and not for its objects.
      get maxCost() {
        maxCost ??= estimateCost(checked, estimator, { presenceTestCost: 0n }).max
        return maxCost
      },
    }
  }

  #env(age: ExpressionAge, optional: boolean): Env {
    const key = `${age} ${optional}`
    let env = this.#envs.get(key)
    if (env === undefined) this.#envs.set(key, (env = extendEnv(baseEnv(age), [this.#types, variablesFor(this.#type.type, optional)])))
    return env
  }
}

function typesOf(root: RuleType): Library {
  const types = sizedTypesLibrary(root).types!
  return { types: { ...types, findField: withReservedNames(types.findField) } }
}

const variablesFor = (type: CelType, optional: boolean): Library => ({
  variables: [
    { name: 'self', type },
    { name: 'oldSelf', type: optional ? optionalType(type) : type },
  ],
})

type ExpressionUse = { readonly kind: 'bool' | 'string'; readonly prefix: string; readonly otherType: string }
const CONDITION: ExpressionUse = { kind: 'bool', prefix: '', otherType: 'cel expression must evaluate to a bool' }
const MESSAGE: ExpressionUse = { kind: 'string', prefix: 'messageExpression ', otherType: 'messageExpression must evaluate to a string' }
