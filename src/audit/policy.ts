/** The audit policy: which requests are recorded, at which level, and in which stages. */
import { nameIsDNSSubdomain } from '../lib/names.ts'
import type { Attributes } from '../schema/access.ts'
import { type FieldError, invalid, type Ref, refTo, required, unsupported, withValue } from '../schema/refs.ts'
import { atomic, bool, message, type Static, string } from '../schema/types.ts'
import type { User } from '../schema/user.ts'

/** How much of a request is recorded, from nothing to the bodies of request and response. */
export const LEVELS = ['None', 'Metadata', 'Request', 'RequestResponse'] as const
export type Level = (typeof LEVELS)[number]

/** The moments of a request at which it is recorded. */
export const STAGES = ['RequestReceived', 'ResponseStarted', 'ResponseComplete', 'Panic'] as const
export type Stage = (typeof STAGES)[number]

const GroupResources = message('GroupResources', {
  group: [1, string],
  resources: [2, atomic(string)],
  resourceNames: [3, atomic(string)],
})
const PolicyRule = message('PolicyRule', {
  level: [1, string],
  users: [2, atomic(string)],
  userGroups: [3, atomic(string)],
  verbs: [4, atomic(string)],
  resources: [5, atomic(GroupResources)],
  namespaces: [6, atomic(string)],
  nonResourceURLs: [7, atomic(string)],
  omitStages: [8, atomic(string)],
  omitManagedFields: [9, bool.optional()],
})
const Policy = message('Policy', {
  rules: [2, atomic(PolicyRule)],
  omitStages: [3, atomic(string)],
  omitManagedFields: [4, bool],
})
type GroupResources = Static<typeof GroupResources>
type PolicyRule = Static<typeof PolicyRule>
export type PolicyDocument = Static<typeof Policy>

export const AUDIT_POLICY = { accepts: { 'audit.k8s.io/v1': 'Policy' }, type: Policy } as const

/** The part of a policy that applies to one request. */
export type RequestRule = {
  readonly level: Level
  readonly omitStages: ReadonlySet<string>
  readonly omitManagedFields: boolean
}

type CompiledRule = { readonly rule: PolicyRule; readonly applied: RequestRule }

export class AuditPolicy {
  readonly #rules: readonly CompiledRule[]
  readonly #otherwise: RequestRule
  /** The rules that apply to a user, whatever the request. Authenticators return the same object for the same user. */
  readonly #byUser = new WeakMap<User, readonly CompiledRule[]>()

  constructor({ rules = [], omitStages = [], omitManagedFields = false }: PolicyDocument) {
    this.#rules = rules.map(rule => ({
      rule,
      applied: {
        level: rule.level as Level,
        omitStages: new Set([...omitStages, ...(rule.omitStages ?? [])]),
        omitManagedFields: rule.omitManagedFields ?? omitManagedFields,
      },
    }))
    this.#otherwise = { level: 'None', omitStages: new Set(omitStages), omitManagedFields }
  }

  /** The first rule that matches decides; a request that none matches is not recorded. */
  ruleFor(user: User | undefined, attributes: Attributes): RequestRule {
    for (const { rule, applied } of this.#rulesOf(user)) if (matches(rule, attributes)) return applied
    return this.#otherwise
  }

  #rulesOf(user: User | undefined): readonly CompiledRule[] {
    const known = user && this.#byUser.get(user)
    if (known) return known
    const found = this.#rules.filter(({ rule }) => matchesUser(rule, user))
    if (user) this.#byUser.set(user, found)
    return found
  }
}

function matchesUser({ users = [], userGroups = [] }: PolicyRule, user: User | undefined): boolean {
  if (users.length > 0 && (user === undefined || !users.includes(user.name))) return false
  return userGroups.length === 0 || (user?.groups.some(group => userGroups.includes(group)) ?? false)
}

function matches({ verbs = [], namespaces = [], resources = [], nonResourceURLs = [] }: PolicyRule, attributes: Attributes): boolean {
  if (verbs.length > 0 && !verbs.includes(attributes.verb)) return false
  if (namespaces.length > 0 || resources.length > 0) return matchesResource(namespaces, resources, attributes)
  if (nonResourceURLs.length > 0)
    return attributes.resource === undefined && nonResourceURLs.some(pattern => matchesPath(attributes.path, pattern))
  return true
}

function matchesPath(path: string, pattern: string): boolean {
  if (pattern === '*' || pattern === path) return true
  return pattern.endsWith('*') && path.startsWith(pattern.slice(0, -1))
}

function matchesResource(namespaces: readonly string[], resources: readonly GroupResources[], { resource }: Attributes): boolean {
  if (resource === undefined) return false
  // Resources of the cluster have the empty namespace.
  if (namespaces.length > 0 && !namespaces.includes(resource.namespace)) return false
  return resources.length === 0 || resources.some(each => matchesGroup(each, resource))
}

function matchesGroup(
  { group = '', resources = [], resourceNames = [] }: GroupResources,
  resource: NonNullable<Attributes['resource']>,
): boolean {
  if (group !== '*' && group !== resource.group) return false
  if (resources.length === 0) return true
  if (resourceNames.length > 0 && !resourceNames.includes(resource.name)) return false
  const { plural, subresource } = resource
  const names = subresource === '' ? [plural, '*', `${plural}/*`] : [`${plural}/${subresource}`, '*', `*/${subresource}`, `${plural}/*`]
  return resources.some(name => names.includes(name))
}

/** Mistakes in a policy, with kube-apiserver's messages. */
export function* validatePolicy(policy: PolicyDocument): Iterable<FieldError> {
  const at = refTo(policy)
  yield* validateStages(policy.omitStages ?? [], at.omitStages)
  for (const [i, rule] of (policy.rules ?? []).entries()) yield* validateRule(rule, at.rules[i]!)
}

function* validateRule(rule: PolicyRule, at: Ref<PolicyRule>): Iterable<FieldError> {
  const { level = '', nonResourceURLs = [], resources = [], namespaces = [], omitStages = [] } = rule
  if (level === '') yield required(at.level)
  else if (!(LEVELS as readonly string[]).includes(level)) yield unsupported(at.level, ...LEVELS)
  yield* validatePaths(nonResourceURLs, at.nonResourceURLs)
  for (const each of resources) yield* validateGroup(each, at)
  yield* validateStages(omitStages, at.omitStages)
  if (nonResourceURLs.length > 0 && (resources.length > 0 || namespaces.length > 0))
    yield invalid(at.nonResourceURLs, 'rules cannot apply to both regular resources and non-resource URLs')
}

function* validatePaths(paths: readonly string[], at: Ref<string[]>): Iterable<FieldError> {
  for (const [i, path] of paths.entries()) {
    if (path === '*') continue
    if (!path.startsWith('/')) yield invalid(at[i]!, "non-resource URL rules must begin with a '/' character")
    if (path.slice(0, -1).includes('*')) yield invalid(at[i]!, "non-resource URL wildcards '*' must be the final character of the rule")
  }
}

/** Errors about resources name no index, as in kube-apiserver. */
function* validateGroup({ group = '', resources = [], resourceNames = [] }: GroupResources, at: Ref<PolicyRule>): Iterable<FieldError> {
  const here = at.resources as unknown as Ref<GroupResources>
  if (group !== '' && group !== '*') {
    const faults = nameIsDNSSubdomain(group)
    if (faults.length > 0) yield invalid(withValue(here.group, group), faults.join(','))
  }
  if (resourceNames.length > 0 && resources.length === 0)
    yield invalid(withValue(here.resourceNames, resourceNames), 'using resourceNames requires at least one resource')
}

function* validateStages(stages: readonly string[], at: Ref<string[]>): Iterable<FieldError> {
  for (const [i, stage] of stages.entries())
    if (!(STAGES as readonly string[]).includes(stage)) yield invalid(at[i]!, `allowed stages are ${STAGES.join(',')}`)
}
