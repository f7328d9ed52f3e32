/** The rules of a whole schema (`x-kubernetes-validations`), compiled at first use and run on written objects. */
import { escapeName } from '../cel/kubernetes/field-names.ts'
import { isObject, type Json, type JsonObject } from '../lib/json-value.ts'
import type { Budget } from '../schema/budget.ts'
import type { FieldError, FieldErrors } from '../schema/refs.ts'
import { type CompiledRule, compiledRules } from './compile-rules.ts'
import { Correlation, itemsByKey, keyOf } from './correlation.ts'
import { withEnvelope } from './envelope.ts'
import { childOf, entryOf } from './error-path.ts'
import { type RuleContext, RuleRunner, RulesEnded } from './rule-runner.ts'
import { type RuleType, ruleTypeOf } from './rule-types.ts'
import type { Structural, ValidationRule } from './schema.ts'

export type RuleChecks = {
  /** The work that evaluating may cost. */
  readonly budget: Budget
  /** The stored object, on an update, and how the parts of the new one correlate with it. */
  readonly old?: JsonObject | undefined
  readonly correlation?: Correlation | undefined
  /** Takes the errors of parts that did not change: they are reported, and tolerated. */
  readonly warn?: ((text: string) => void) | undefined
}

/** Yields the errors that the rules of a schema find in a whole object, and on an update in its change. Others may run between values. */
export function* evaluateRules(structural: Structural, object: JsonObject, { budget, old, correlation, warn }: RuleChecks): FieldErrors {
  const node = structural.has.rules ? ruleTreeOf(structural) : undefined
  if (node === undefined) return
  const runner = new RuleRunner(budget)
  const whole = correlation ?? (old && new Correlation(structural, object, old))
  try {
    yield* visit(node, object, { path: '', old: old ?? null, correlation: whole, above: undefined }, runner)
  } catch (error) {
    if (!(error instanceof RulesEnded)) throw error
  }
  if (warn) for (const warning of runner.warnings) warn(warning)
  yield* runner.errors
}

/** Evaluates the rules on values one after the other, such as all defaults of a schema, with the limits that hold for one object. */
export class RuleEvaluator {
  readonly #runner: RuleRunner
  #hasEnded = false

  constructor(budget: Budget) {
    this.#runner = new RuleRunner(budget)
  }

  /** The errors of a value at a field path; no more once the cost limit has been exceeded. */
  evaluate(structural: Structural, value: Json, { path, old }: { readonly path: string; readonly old: Json }): FieldError[] {
    const node = this.#hasEnded || !mayHaveRules(structural) ? undefined : ruleTreeOf(structural, structural.embedded ? 'root' : 'part')
    if (node === undefined) return []
    const known = this.#runner.errors.length
    try {
      for (const _ of visit(node, value, { path, old, correlation: undefined, above: undefined }, this.#runner));
    } catch (error) {
      if (!(error instanceof RulesEnded)) throw error
      this.#hasEnded = true
    }
    return this.#runner.errors.slice(known)
  }
}

/**
 * Compiles the rules that apply to an object one by one; others may run between them. They are work of the request, whether or not an
 * earlier one has compiled them. Rules that were not compiled like that are compiled when they are first evaluated.
 */
export function* compileRules(structural: Structural, object: JsonObject, budget: Budget): Iterable<undefined> {
  const node = structural.has.rules ? ruleTreeOf(structural) : undefined
  if (!node) return
  // An object that meets too many is refused before the first is compiled.
  chargeFor(node, object, { budget, done: new Set() })
  yield* compileFor(node, object, new Set())
}

/** `done` are those of which all rules, and all below, have been met by a value. */
type ChargingRules = { readonly budget: Budget; readonly done: Set<RuleNode> }

function chargeFor(node: RuleNode, value: Json, charging: ChargingRules): void {
  const { budget, done } = charging
  if (node.rules) budget.chargeOnce(node.rules, node.rules.work)
  for (const [part, below] of partsMet(node, value, done)) chargeFor(part, below, charging)
  noteIfDone(node, done)
}

function* compileFor(node: RuleNode, value: Json, done: Set<RuleNode>): Iterable<undefined> {
  if (node.rules) while (node.rules.compileNext()) yield undefined
  for (const [part, below] of partsMet(node, value, done)) yield* compileFor(part, below, done)
  noteIfDone(node, done)
}

/** The nodes below a node that a value meets, with the parts of the value, unless all of a node is done. */
function* partsMet({ allOf, items, values, members }: RuleNode, value: Json, done: Set<RuleNode>): Generator<readonly [RuleNode, Json]> {
  const isMet = (part: RuleNode, below: Json) => below !== null && !done.has(part)
  for (const part of allOf) if (isMet(part, value)) yield [part, value]
  if (Array.isArray(value)) {
    if (items) for (const item of value) if (isMet(items, item)) yield [items, item]
  } else if (isObject(value)) {
    if (values) for (const name of Object.keys(value)) if (isMet(values, value[name]!)) yield [values, value[name]!]
    for (const [name, member] of members) if (Object.hasOwn(value, name) && isMet(member, value[name]!)) yield [member, value[name]!]
  }
}

function noteIfDone(node: RuleNode, done: Set<RuleNode>): void {
  const { allOf, items, values, members } = node
  if ([...allOf, items, values, ...members.values()].every(part => part === undefined || done.has(part))) done.add(node)
}

/** The rules of a schema and of the schemas below it. */
type RuleNode = {
  readonly schema: Structural
  readonly rules: LazyRules | undefined
  readonly allOf: readonly RuleNode[]
  readonly items: RuleNode | undefined
  readonly values: RuleNode | undefined
  readonly members: ReadonlyMap<string, RuleNode>
}

const trees = new WeakMap<Structural, RuleNode | { none: true }>()

function ruleTreeOf(structural: Structural, position: 'root' | 'part' = 'root'): RuleNode | undefined {
  let tree = trees.get(structural)
  if (tree === undefined) {
    const type = ruleTypeOf(structural, ROOT_TYPE, position)
    tree = (type && nodeOf(structural, { schema: structural, type, root: type, whole: position === 'root' })) ?? { none: true }
    trees.set(structural, tree)
  }
  return 'none' in tree ? undefined : tree
}
const ROOT_TYPE = 'selfType'

/** The scope that rules are compiled for: the schema that describes the values, their type, and the type that names are from. */
type RuleScope = { readonly schema: Structural; readonly type: RuleType; readonly root: RuleType; readonly whole: boolean }

/** The rules of `stated`: the schema of the scope, or a member of its `allOf`, which restricts the same values. */
function nodeOf(stated: Structural, scope: RuleScope): RuleNode | undefined {
  const { schema, type, root, whole } = scope
  const described = stated === schema ? schema.source : { ...schema.source, 'x-kubernetes-validations': stated.rules }
  const rules = stated.rules.length > 0 ? new LazyRules(stated.rules, compiledRules(described, { type, root })) : undefined
  const allOf = stated.limits.allOf.flatMap(part => nodeOf(part, scope) ?? [])
  const items = partOf(stated.items, schema.items, type.element, root)
  const values = partOf(schemaOf(stated.additional), schemaOf(schema.additional), type.element, root)
  const members = new Map<string, RuleNode>()
  for (const [name, part] of stated.properties) {
    const node = memberOf(name, part, scope)
    if (node) members.set(name, node)
  }
  if (!rules && allOf.length === 0 && !items && !values && members.size === 0) return undefined
  return { schema: whole ? withEnvelope(schema) : schema, rules, allOf, items, values, members }
}

/** The rules of one schema, each compiled when it is first asked for. */
class LazyRules implements Iterable<CompiledRule> {
  /** The work of compiling all of them, in units of a request's budget. */
  readonly work: number
  readonly #known: CompiledRule[] = []
  readonly #rest: Iterator<CompiledRule>

  constructor(stated: readonly ValidationRule[], compiled: Iterable<CompiledRule>) {
    this.work = stated.reduce((sum, { rule, messageExpression }) => sum + workOf(rule) + workOf(messageExpression), 0)
    this.#rest = compiled[Symbol.iterator]()
  }

  /** Compiles one more; false when all are. */
  compileNext(): boolean {
    const next = this.#rest.next()
    if (!next.done) this.#known.push(next.value)
    return !next.done
  }

  *[Symbol.iterator](): Iterator<CompiledRule> {
    for (let i = 0; i < this.#known.length || this.compileNext(); i++) yield this.#known[i]!
  }
}

const workOf = (text: string | undefined): number => (text ? RULE_WORK + text.length * CHARACTER_WORK : 0)
const RULE_WORK = 5000
const CHARACTER_WORK = 60

const schemaOf = (additional: Structural['additional']) => (typeof additional === 'object' ? additional : undefined)

function partOf(
  stated: Structural | undefined,
  schema: Structural | undefined,
  type: RuleType | undefined,
  root: RuleType,
): RuleNode | undefined {
  if (!stated || !schema || !type || !mayHaveRules(stated)) return undefined
  return nodeOf(stated, { schema, type, root, whole: schema.embedded })
}

/** A member that rules cannot name has a type of its own; one of which too little is known has no rules. */
function memberOf(name: string, stated: Structural, { schema, type, root }: RuleScope): RuleNode | undefined {
  const described = schema.properties.get(name)
  if (!described || !mayHaveRules(stated)) return undefined
  const escaped = escapeName(name)
  const own = escaped === undefined ? ruleTypeOf(described, ROOT_TYPE, described.embedded ? 'root' : 'part') : undefined
  const member = escaped === undefined ? own : type.fields?.get(escaped)
  return partOf(stated, described, member, own ?? root)
}

/** Whether a schema or a restricting schema in it may have rules. */
const mayHaveRules = (stated: Structural): boolean => stated.has.rules || stated.has.nestedRules

function* visit(node: RuleNode, value: Json, ctx: RuleContext, runner: RuleRunner): Iterable<undefined> {
  if (value === null) return
  if (node.rules) {
    runner.run(node.rules, node.schema, value, ctx)
    yield undefined
  }
  // Errors of restricting schemas are not tolerated, as those of their keywords are not.
  for (const part of node.allOf) yield* visit(part, value, { ...ctx, correlation: undefined }, runner)
  if (Array.isArray(value)) yield* visitItems(node, value, ctx, runner)
  else if (isObject(value)) yield* visitMembers(node, value, ctx, runner)
}

function* visitItems({ schema, items }: RuleNode, list: readonly Json[], ctx: RuleContext, runner: RuleRunner): Iterable<undefined> {
  if (!items) return
  const { correlation } = ctx
  const before = !correlation && schema.list === 'map' && Array.isArray(ctx.old) ? itemsByKey(schema, ctx.old) : undefined
  for (const [i, item] of list.entries()) {
    const key = before && keyOf(schema, item)
    // A value that correlates has been looked up already.
    const next = correlation?.index(i)
    const old = next ? next.old : key === undefined ? undefined : before!.get(key)
    yield* visit(items, item, below(ctx, entryOf(ctx.path, i), old, next), runner)
  }
}

function* visitMembers({ values, members }: RuleNode, object: JsonObject, ctx: RuleContext, runner: RuleRunner): Iterable<undefined> {
  const old = isObject(ctx.old) ? ctx.old : {}
  const go = (node: RuleNode, name: string, path: string) =>
    visit(node, object[name]!, memberContext(ctx, name, path, Object.hasOwn(old, name) ? old[name] : undefined), runner)
  const names = Object.keys(object)
  if (values) for (const name of names) yield* go(values, name, entryOf(ctx.path, name))
  if (members.size > 0)
    for (const name of names) {
      const node = members.get(name)
      if (node) yield* go(node, name, childOf(ctx.path, name))
    }
}

function memberContext(ctx: RuleContext, name: string, path: string, old: Json | undefined): RuleContext {
  // Both versions of an object are read as the same version: that it did not change means nothing.
  const hidden = ctx.correlation && !ctx.above && (name === 'apiVersion' || name === 'kind')
  if (hidden) return { path, old: old ?? null, correlation: undefined, above: undefined }
  return below(ctx, path, old, ctx.correlation?.key(name))
}

function below({ correlation, above }: RuleContext, path: string, old: Json | undefined, next: Correlation | undefined): RuleContext {
  return { path, old: old ?? null, correlation: next, above: correlation ?? above }
}
