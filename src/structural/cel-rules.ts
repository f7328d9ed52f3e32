/** The rules of a whole schema (`x-kubernetes-validations`), compiled at first use and run on written objects. */
import { isObject, type Json, type JsonObject } from '../lib/json-value.ts'
import type { FieldError } from '../schema/refs.ts'
import { type CompiledRule, compiledRules } from './compile-rules.ts'
import { Correlation, itemsByKey, keyOf } from './correlation.ts'
import { withEnvelope } from './envelope.ts'
import { childOf, entryOf } from './place.ts'
import { RuleRunner, RulesEnded, type Stand } from './rule-runner.ts'
import { escapeName, type RuleType, ruleTypeOf } from './rule-types.ts'
import type { Structural } from './schema.ts'

export type RuleFindings = {
  readonly errors: readonly FieldError[]
  /** What is wrong with parts that did not change: told, and tolerated. */
  readonly warnings: readonly string[]
}

const NOTHING: RuleFindings = { errors: [], warnings: [] }

/**
 * What the rules of a schema find wrong with a whole object, and on an update with its change.
 * Rules are compiled when they are first run.
 */
export function judgeByRules(structural: Structural, object: JsonObject, old?: JsonObject, correlation?: Correlation): RuleFindings {
  const node = structural.has.rules ? ruleTreeOf(structural) : undefined
  if (node === undefined) return NOTHING
  const runner = new RuleRunner()
  const whole = correlation ?? (old && new Correlation(structural, object, old))
  try {
    visit(node, object, { path: '', old: old ?? null, correlation: whole, above: undefined }, runner)
  } catch (error) {
    if (!(error instanceof RulesEnded)) throw error
  }
  return runner
}

/** Judges values by the rules of their schemas with one budget for all of them: when it is spent, that is told and nothing more is judged. */
export function ruleJudge(): (structural: Structural, value: Json, stand: { readonly path: string; readonly old: Json }) => FieldError[] {
  const runner = new RuleRunner()
  let ended = false
  return (structural, value, { path, old }) => {
    const node = ended || !mayHaveRules(structural) ? undefined : ruleTreeOf(structural, structural.embedded ? 'root' : 'part')
    if (node === undefined) return []
    const known = runner.errors.length
    try {
      visit(node, value, { path, old, correlation: undefined, above: undefined }, runner)
    } catch (error) {
      if (!(error instanceof RulesEnded)) throw error
      ended = true
    }
    return runner.errors.slice(known)
  }
}

/** The rules at a place and below it; undefined where there are none. */
type RuleNode = {
  readonly schema: Structural
  readonly rules: Iterable<CompiledRule> | undefined
  readonly allOf: readonly RuleNode[]
  readonly items: RuleNode | undefined
  readonly values: RuleNode | undefined
  readonly members: ReadonlyMap<string, RuleNode>
}

const trees = new WeakMap<Structural, RuleNode | { none: true }>()

function ruleTreeOf(structural: Structural, place: 'root' | 'part' = 'root'): RuleNode | undefined {
  let tree = trees.get(structural)
  if (tree === undefined) {
    const type = ruleTypeOf(structural, ROOT_TYPE, place)
    tree = (type && nodeOf(structural, { schema: structural, type, root: type, whole: place === 'root' })) ?? { none: true }
    trees.set(structural, tree)
  }
  return 'none' in tree ? undefined : tree
}
const ROOT_TYPE = 'selfType'

/** Where rules are compiled for: the schema that describes the values, their type, the type that names are from. */
type Spot = { readonly schema: Structural; readonly type: RuleType; readonly root: RuleType; readonly whole: boolean }

/** The rules of `stated`, which is the schema of a spot or one of its `allOf`, which only restrict what that describes. */
function nodeOf(stated: Structural, spot: Spot): RuleNode | undefined {
  const { schema, type, root, whole } = spot
  const described = stated === schema ? schema.source : { ...schema.source, 'x-kubernetes-validations': stated.rules }
  const rules = stated.rules.length > 0 ? remembered(compiledRules(described, { type, root })) : undefined
  const allOf = stated.limits.allOf.flatMap(part => nodeOf(part, spot) ?? [])
  const items = partOf(stated.items, schema.items, type.element, root)
  const values = partOf(schemaOf(stated.additional), schemaOf(schema.additional), type.element, root)
  const members = new Map<string, RuleNode>()
  for (const [name, part] of stated.properties) {
    const node = memberOf(name, part, spot)
    if (node) members.set(name, node)
  }
  if (!rules && allOf.length === 0 && !items && !values && members.size === 0) return undefined
  return { schema: whole ? withEnvelope(schema) : schema, rules, allOf, items, values, members }
}

/** What is gone through again and again, made when it is first come to. */
function remembered<T>(source: Iterable<T>): Iterable<T> {
  const known: T[] = []
  const rest = source[Symbol.iterator]()
  return {
    *[Symbol.iterator]() {
      for (let i = 0; ; i++) {
        if (i === known.length) {
          const next = rest.next()
          if (next.done) return
          known.push(next.value)
        }
        yield known[i]!
      }
    },
  }
}

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
function memberOf(name: string, stated: Structural, { schema, type, root }: Spot): RuleNode | undefined {
  const described = schema.properties.get(name)
  if (!described || !mayHaveRules(stated)) return undefined
  const escaped = escapeName(name)
  const own = escaped === undefined ? ruleTypeOf(described, ROOT_TYPE, described.embedded ? 'root' : 'part') : undefined
  const member = escaped === undefined ? own : type.fields?.get(escaped)
  return partOf(stated, described, member, own ?? root)
}

/** Restricting schemas are not counted among what has rules, so they are looked into. */
const mayHaveRules = (stated: Structural): boolean => stated.has.rules || stated.has.nestedRules

function visit(node: RuleNode, value: Json, stand: Stand, runner: RuleRunner): void {
  if (value === null) return
  if (node.rules) runner.run(node.rules, node.schema, value, stand)
  // What restricting schemas find is not forgiven, as their keywords are not.
  for (const part of node.allOf) visit(part, value, { ...stand, correlation: undefined }, runner)
  if (Array.isArray(value)) visitItems(node, value, stand, runner)
  else if (isObject(value)) visitMembers(node, value, stand, runner)
}

function visitItems({ schema, items }: RuleNode, list: readonly Json[], stand: Stand, runner: RuleRunner): void {
  if (!items) return
  const before = schema.list === 'map' && Array.isArray(stand.old) ? itemsByKey(schema, stand.old) : undefined
  for (const [i, item] of list.entries()) {
    const key = before && keyOf(schema, item)
    const old = key === undefined ? undefined : before!.get(key)
    visit(items, item, below(stand, entryOf(stand.path, i), old, stand.correlation?.index(i)), runner)
  }
}

function visitMembers({ values, members }: RuleNode, object: JsonObject, stand: Stand, runner: RuleRunner): void {
  const old = isObject(stand.old) ? stand.old : {}
  const go = (node: RuleNode, name: string, path: string) =>
    visit(node, object[name]!, memberStand(stand, name, path, Object.hasOwn(old, name) ? old[name] : undefined), runner)
  const names = Object.keys(object)
  if (values) for (const name of names) go(values, name, entryOf(stand.path, name))
  if (members.size > 0)
    for (const name of names) {
      const node = members.get(name)
      if (node) go(node, name, childOf(stand.path, name))
    }
}

function memberStand(stand: Stand, name: string, path: string, old: Json | undefined): Stand {
  // Both versions of an object are read as the same version: that it did not change means nothing.
  const hidden = stand.correlation && !stand.above && (name === 'apiVersion' || name === 'kind')
  if (hidden) return { path, old: old ?? null, correlation: undefined, above: undefined }
  return below(stand, path, old, stand.correlation?.key(name))
}

function below({ correlation, above }: Stand, path: string, old: Json | undefined, next: Correlation | undefined): Stand {
  return { path, old: old ?? null, correlation: next, above: correlation ?? above }
}
