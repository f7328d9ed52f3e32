/** Rules for the resources and conditions that admission registrations match. */
import { isQualifiedName, isValidPathSegmentName } from '../../lib/names.ts'
import {
  duplicate,
  type FieldError,
  invalid,
  invalidEach,
  pathOf,
  type Ref,
  refTo,
  required,
  tooMany,
  unsupported,
  withValue,
} from '../../schema/refs.ts'
import { validateLabelSelector } from '../rules/meta.ts'
import { validateExpression, validatePresence } from './expression-rules.ts'
import type { MatchCondition, MatchResources, NamedRuleWithOperations, RuleWithOperations } from './match-shapes.ts'

export const FAILURE_POLICIES: readonly string[] = ['Fail', 'Ignore']
export const REINVOCATION_POLICIES: readonly string[] = ['IfNeeded', 'Never']
export const MATCH_POLICIES: readonly string[] = ['Equivalent', 'Exact']
const OPERATIONS: readonly string[] = ['*', 'CONNECT', 'CREATE', 'DELETE', 'UPDATE']
const MUTABLE: readonly string[] = ['*', 'CONNECT', 'CREATE', 'UPDATE']
const SCOPES: readonly string[] = ['*', 'Cluster', 'Namespaced']
const MAX_CONDITIONS = 64

/** Rules for operations and resources. */
export function* validateRule(rule: RuleWithOperations, at: Ref<RuleWithOperations>): Iterable<FieldError> {
  const { operations = [], apiGroups = [], apiVersions = [], resources = [], scope } = rule
  yield* validateWildcard(operations, at.operations, 'operations')
  for (const [i, operation] of operations.entries())
    if (!OPERATIONS.includes(operation)) yield unsupported(at.operations[i]!, ...OPERATIONS)
  yield* validateWildcard(apiGroups, at.apiGroups, 'API groups')
  yield* validateWildcard(apiVersions, at.apiVersions, 'API versions')
  for (const [i, version] of apiVersions.entries()) if (version === '') yield required(at.apiVersions[i]!)
  yield* validateResources(resources, at.resources)
  if (!SCOPES.includes(scope)) yield unsupported(at.scope, ...SCOPES)
}

/** Rules for the resources that a policy or its binding matches. */
export function* validateMatchResources(match: MatchResources, at: Ref<MatchResources>): Iterable<FieldError> {
  if (!MATCH_POLICIES.includes(match.matchPolicy)) yield unsupported(at.matchPolicy, ...MATCH_POLICIES)
  yield* validateLabelSelector(match.namespaceSelector, at.namespaceSelector)
  yield* validateLabelSelector(match.objectSelector, at.objectSelector)
  for (const part of ['resourceRules', 'excludeResourceRules'] as const)
    for (const [i, rule] of (match[part] ?? []).entries()) yield* validateNamedRule(rule, at[part][i]!)
}

/** A deletion cannot be mutated. The path has no index of the rule, as in kube-apiserver. */
export function* validateMutableOperations(match: MatchResources, at: Ref<MatchResources>): Iterable<FieldError> {
  for (const { operations = [] } of match.resourceRules ?? [])
    for (const operation of operations)
      if (!MUTABLE.includes(operation)) yield unsupported(refTo(operation, `${pathOf(at.resourceRules)}.operations`), ...MUTABLE)
}

export type ConditionOptions = {
  /** Whether conditions may use parameters. */
  readonly hasParams?: boolean
  /** The expressions of the stored object's conditions. */
  readonly stored?: ReadonlySet<string>
}

/** The expressions of conditions. */
export const expressionsOf = (conditions: readonly MatchCondition[] = []): string[] => conditions.map(({ expression }) => expression)

/** Rules for conditions: not too many, each with a unique name and an expression that compiles. */
export function* validateMatchConditions(
  conditions: readonly MatchCondition[],
  at: Ref<MatchCondition[]>,
  { hasParams = false, stored = new Set() }: ConditionOptions = {},
): Iterable<FieldError> {
  if (conditions.length > MAX_CONDITIONS) yield tooMany(at, conditions.length, MAX_CONDITIONS)
  const seen = new Set<string>()
  for (const [i, { name, expression }] of conditions.entries()) {
    const here = at[i]!
    yield* validatePresence(expression, here.expression)
    const trimmed = expression.trim()
    const variables = { hasParams, hasAuthorizer: true }
    yield* validateExpression(trimmed, withValue(here.expression, trimmed), { use: 'condition', variables, stored })
    if (!name) yield required(here.name)
    else yield* invalidEach(here.name, isQualifiedName(name))
    if (seen.has(name)) yield duplicate(here.name)
    if (name) seen.add(name)
  }
}

function* validateNamedRule(rule: NamedRuleWithOperations, at: Ref<NamedRuleWithOperations>): Iterable<FieldError> {
  const seen = new Set<string>()
  for (const [i, name] of (rule.resourceNames ?? []).entries()) {
    yield* invalidEach(at.resourceNames[i]!, isValidPathSegmentName(name))
    if (seen.has(name)) yield duplicate(at.resourceNames[i]!)
    seen.add(name)
  }
  yield* validateRule(rule, at)
}

function* validateWildcard(values: readonly string[], at: Ref<string[]>, what: string): Iterable<FieldError> {
  if (values.length === 0) yield required(at)
  if (values.length > 1 && values.includes('*')) yield invalid(at, `if '*' is present, must not specify other ${what}`)
}

/** A wildcard that covers everything must be the only item. */
function* validateResources(resources: readonly string[], at: Ref<string[]>): Iterable<FieldError> {
  if (resources.length === 0) yield required(at)
  const [whole, anywhere] = [new Set<string>(), new Set<string>()]
  let plain = false
  for (const [i, resource] of resources.entries()) {
    if (resource === '') {
      yield required(at[i]!)
      continue
    }
    const slash = resource.indexOf('/')
    if (slash < 0) {
      // Only the last one counts, as in kube-apiserver.
      plain = resource !== '*'
      continue
    }
    const [parent, sub] = [resource.slice(0, slash), resource.slice(slash + 1)]
    if (whole.has(parent)) yield invalid(at[i]!, `if '${parent}/*' is present, must not specify ${resource}`)
    if (anywhere.has(sub)) yield invalid(at[i]!, `if '*/${sub}' is present, must not specify ${resource}`)
    if (sub === '*') whole.add(parent)
    if (parent === '*') anywhere.add(sub)
  }
  if (resources.length > 1 && resources.includes('*/*')) yield invalid(at, "if '*/*' is present, must not specify other resources")
  if (resources.includes('*') && plain) yield invalid(at, "if '*' is present, must not specify other resources without subresources")
}
