/** FlowSchema assigns requests to a priority level, and divides them into flows. */
import { deepEqual } from '../../lib/json-value.ts'
import { isDNS1123Label, nameIsDNSSubdomain } from '../../lib/names.ts'
import { age } from '../../schema/columns.ts'
import { conditionOf } from '../../schema/conditions.ts'
import { defineKind, type ObjectOf } from '../../schema/kind.ts'
import { type FieldError, forbidden, invalid, invalidEach, type Ref, required, unsupported, withValue } from '../../schema/refs.ts'
import { atomic, bool, int32, message, type Static, set, string } from '../../schema/types.ts'
import { internalRepresentation } from '../rules/internal-representation.ts'
import { looseConditions, validateLooseConditions } from './conditions.ts'

const UserSubject = message('UserSubject', {
  name: [1, string.always(), 'Name of the user; * for all.'],
})

const GroupSubject = message('GroupSubject', {
  name: [1, string.always(), 'Name of the group; * for all.'],
})

const ServiceAccountSubject = message('ServiceAccountSubject', {
  namespace: [1, string.always(), 'Namespace of the service account.'],
  name: [2, string.always(), 'Name of the service account; * for all of the namespace.'],
})
type ServiceAccountSubject = Static<typeof ServiceAccountSubject>

const Subject = message(
  'Subject',
  {
    kind: [1, string.always(), 'User, Group or ServiceAccount.'],
    user: [2, UserSubject, 'A user; only with kind User.'],
    group: [3, GroupSubject, 'A group; only with kind Group.'],
    serviceAccount: [4, ServiceAccountSubject, 'A service account; only with kind ServiceAccount.'],
  },
  { union: { by: 'kind' } },
)
type Subject = Static<typeof Subject>

const ResourcePolicyRule = message('ResourcePolicyRule', {
  verbs: [1, set(string).always(), 'The verbs that match; * for all.'],
  apiGroups: [2, set(string).always(), 'API groups; * for all.'],
  resources: [3, set(string).always(), 'Resources, also as resource/subresource; * for all.'],
  clusterScope: [4, bool, 'Whether requests that name no namespace match.'],
  namespaces: [5, set(string).always().omittable(), 'Namespaces whose requests match; * for all.'],
})
type ResourcePolicyRule = Static<typeof ResourcePolicyRule>

const NonResourcePolicyRule = message('NonResourcePolicyRule', {
  verbs: [1, set(string).always(), 'The verbs that match; * for all.'],
  nonResourceURLs: [6, set(string).always(), 'Paths that are no resources, such as /healthz or /healthz/*; * for all.'],
})
type NonResourcePolicyRule = Static<typeof NonResourcePolicyRule>

const PolicyRulesWithSubjects = message('PolicyRulesWithSubjects', {
  subjects: [1, atomic(Subject).always(), 'The users, groups and service accounts that match; one match is enough.'],
  resourceRules: [2, atomic(ResourcePolicyRule), 'Requests for resources that match.'],
  nonResourceRules: [3, atomic(NonResourcePolicyRule), 'Requests for other paths that match.'],
})
type PolicyRules = Static<typeof PolicyRulesWithSubjects>

const PriorityLevelConfigurationReference = message('PriorityLevelConfigurationReference', {
  name: [1, string.always(), 'Name of the priority level.'],
})

const FlowDistinguisherMethod = message('FlowDistinguisherMethod', {
  type: [1, string.always(), 'ByUser or ByNamespace.'],
})

const FlowSchemaSpec = message('FlowSchemaSpec', {
  priorityLevelConfiguration: [1, PriorityLevelConfigurationReference.orEmpty().expected(), 'The priority level of the requests.'],
  matchingPrecedence: [2, int32.default(1000).openapiDefault(0), 'Schemas with a lower number are tried first.'],
  distinguisherMethod: [3, FlowDistinguisherMethod, 'How requests are divided into flows; one flow if unset.'],
  rules: [4, atomic(PolicyRulesWithSubjects), 'Which requests match; one rule is enough.'],
})
type FlowSchemaSpec = Static<typeof FlowSchemaSpec>

const FlowSchemaStatus = message('FlowSchemaStatus', {
  conditions: [1, looseConditions('FlowSchemaCondition'), 'Latest observations.'],
})

export const FlowSchema = defineKind({
  group: 'flowcontrol.apiserver.{group_domain}',
  version: 'v1',
  kind: 'FlowSchema',
  scope: 'Cluster',
  names: { plural: 'flowschemas' },
  doc: 'Which requests share a priority level.',
  spec: FlowSchemaSpec.expected(),
  status: FlowSchemaStatus,
  generation: true,

  *validate({ metadata: { name = '' }, spec }, { spec: at }) {
    yield* validateFlowSchemaSpec(spec, at, name)
    const fixed = FIXED.get(name)
    if (fixed && !deepEqual(spec, fixed))
      yield invalid(withValue(at, internalRepresentation(FlowSchemaSpec, spec)), `spec of '${name}' must equal the fixed value`)
  },

  subresources: {
    status: { keepsMetadata: true, validate: ({ status }, { status: at }) => validateLooseConditions(status.conditions, at.conditions) },
  },

  blank: { spec: { matchingPrecedence: 0 } },
  rowOrder: (a, b) => a.spec.matchingPrecedence! - b.spec.matchingPrecedence! || (a.metadata.name! < b.metadata.name! ? -1 : 1),
  columns: {
    PriorityLevel: [
      'string',
      o => o.spec.priorityLevelConfiguration.name,
      '`name` is the name of the priority level configuration being referenced Required.',
    ],
    MatchingPrecedence: [
      'string',
      o => o.spec.matchingPrecedence,
      '`matchingPrecedence` is used to choose among the FlowSchemas that match a given request. The chosen FlowSchema is among those with the numerically lowest (which we take to be logically highest) MatchingPrecedence.  Each MatchingPrecedence value must be ranged in [1,10000]. Note that if the precedence is not specified, it will be set to 1000 as default.',
    ],
    DistinguisherMethod: [
      'string',
      o => o.spec.distinguisherMethod?.type ?? '<none>',
      '`distinguisherMethod` defines how to compute the flow distinguisher for requests that match this schema. `nil` specifies that the distinguisher is disabled and thus will always be the empty string.',
    ],
    Age: age,
    MissingPL: [
      'string',
      o => conditionOf(o.status.conditions, 'Dangling')?.status ?? '?',
      'references a broken or non-existent PriorityLevelConfiguration',
    ],
  },
})

/** An object of the kind FlowSchema. */
export type FlowSchema = ObjectOf<typeof FlowSchema>

const everythingBy = (...groups: string[]) => [
  {
    subjects: groups.map(name => ({ kind: 'Group', group: { name } })),
    resourceRules: [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'], clusterScope: true, namespaces: ['*'] }],
    nonResourceRules: [{ verbs: ['*'], nonResourceURLs: ['*'] }],
  },
]

/** The first and the last schema: every server needs them unchanged. */
const FIXED: ReadonlyMap<string, FlowSchemaSpec> = new Map([
  ['exempt', { priorityLevelConfiguration: { name: 'exempt' }, matchingPrecedence: 1, rules: everythingBy('system:masters') }],
  [
    'catch-all',
    {
      priorityLevelConfiguration: { name: 'catch-all' },
      matchingPrecedence: 10_000,
      distinguisherMethod: { type: 'ByUser' },
      rules: everythingBy('system:unauthenticated', 'system:authenticated'),
    },
  ],
])

const LAST_PRECEDENCE = 10_000
const VERBS = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'proxy', 'update', 'watch']

/** Rules for a schema of that name. */
function* validateFlowSchemaSpec(spec: FlowSchemaSpec, at: Ref<FlowSchemaSpec>, name: string): Iterable<FieldError> {
  const { matchingPrecedence: precedence, distinguisherMethod: method, priorityLevelConfiguration: level } = spec
  if (precedence <= 0) yield invalid(at.matchingPrecedence, 'must be a positive value')
  if (precedence > LAST_PRECEDENCE) yield invalid(at.matchingPrecedence, `must not be greater than ${LAST_PRECEDENCE}`)
  if (precedence === 1 && name !== 'exempt')
    yield invalid(at.matchingPrecedence, "only the schema named 'exempt' may have matchingPrecedence 1")
  if (method && method.type !== 'ByUser' && method.type !== 'ByNamespace')
    yield unsupported(withValue(at.distinguisherMethod.type, { Type: method.type }), 'ByNamespace', 'ByUser')
  if (level.name) yield* invalidEach(at.priorityLevelConfiguration.name, nameIsDNSSubdomain(level.name))
  else yield required(at.priorityLevelConfiguration.name, 'must reference a priority level')
  for (const [i, rule] of (spec.rules ?? []).entries()) yield* validatePolicyRules(rule, at.rules[i]!)
}

function* validatePolicyRules(rules: PolicyRules, at: Ref<PolicyRules>): Iterable<FieldError> {
  const { subjects, resourceRules = [], nonResourceRules = [] } = rules
  for (const [i, subject] of (subjects ?? []).entries()) yield* validateSubject(subject, at.subjects[i]!)
  if (!subjects?.length) yield required(at.subjects, 'subjects must contain at least one value')
  if (resourceRules.length + nonResourceRules.length === 0)
    yield required(at, 'at least one of resourceRules and nonResourceRules has to be non-empty')
  for (const [i, rule] of resourceRules.entries()) yield* validateResourceRule(rule, at.resourceRules[i]!)
  for (const [i, rule] of nonResourceRules.entries()) yield* validateNonResourceRule(rule, at.nonResourceRules[i]!)
}

const PARTS = { ServiceAccount: 'serviceAccount', User: 'user', Group: 'group' } as const

/** A subject has exactly the field that its kind names. */
function* validateSubject(subject: Subject, at: Ref<Subject>): Iterable<FieldError> {
  if (!Object.hasOwn(PARTS, subject.kind)) return yield unsupported(at.kind, 'Group', 'ServiceAccount', 'User')
  const own = PARTS[subject.kind as keyof typeof PARTS]
  if (!subject[own]) yield required(at[own], `${own} is required when subject kind is '${subject.kind}'`)
  else if (own === 'serviceAccount') yield* validateServiceAccount(subject.serviceAccount!, at.serviceAccount)
  else if (!subject[own].name) yield required(at[own].name)
  for (const [kind, part] of Object.entries(PARTS))
    if (part !== own && subject[part]) yield forbidden(at[part], `${part} is forbidden when subject kind is not '${kind}'`)
}

function* validateServiceAccount({ name, namespace }: ServiceAccountSubject, at: Ref<ServiceAccountSubject>): Iterable<FieldError> {
  if (!name) yield required(at.name)
  else if (name !== '*') yield* invalidEach(at.name, nameIsDNSSubdomain(name))
  if (namespace) yield* invalidEach(at.namespace, isDNS1123Label(namespace))
  else yield required(at.namespace, 'must specify namespace for service account')
}

type Names = readonly string[] | null
const isAlone = (names: Names) => names?.length === 1
const hasAll = (names: Names) => names?.includes('*') ?? false

function* validateVerbs(verbs: Names, at: Ref<string[]>): Iterable<FieldError> {
  if (!verbs?.length) yield required(at, 'verbs must contain at least one value')
  else if (hasAll(verbs)) {
    if (!isAlone(verbs)) yield invalid(at, "if '*' is present, must not specify other verbs")
  } else if (!verbs.every(verb => VERBS.includes(verb))) yield unsupported(at, ...VERBS)
}

function* validateResourceRule(rule: ResourcePolicyRule, at: Ref<ResourcePolicyRule>): Iterable<FieldError> {
  const { verbs, apiGroups, resources, namespaces, clusterScope } = rule
  yield* validateVerbs(verbs, at.verbs)
  if (!apiGroups?.length) yield required(at.apiGroups, 'resource rules must supply at least one api group')
  else if (hasAll(apiGroups) && !isAlone(apiGroups)) yield invalid(at.apiGroups, "if '*' is present, must not specify other api groups")
  if (!resources?.length) yield required(at.resources, 'resource rules must supply at least one resource')
  else if (hasAll(resources) && !isAlone(resources)) yield invalid(at.resources, "if '*' is present, must not specify other resources")
  if (!namespaces?.length && !clusterScope)
    yield required(at.namespaces, 'resource rules that are not cluster scoped must supply at least one namespace')
  else if (hasAll(namespaces)) {
    if (!isAlone(namespaces)) yield invalid(at.namespaces, "if '*' is present, must not specify other namespaces")
  } else
    for (const [i, namespace] of (namespaces ?? []).entries())
      for (const fault of isDNS1123Label(namespace))
        yield invalid(at.namespaces[i]!, `each member of this list must be '*' or a DNS-1123 label; ${fault}`)
}

function* validateNonResourceRule(
  { verbs, nonResourceURLs: urls }: NonResourcePolicyRule,
  at: Ref<NonResourcePolicyRule>,
): Iterable<FieldError> {
  yield* validateVerbs(verbs, at.verbs)
  if (!urls?.length) yield required(at.nonResourceURLs, 'nonResourceURLs must contain at least one value')
  else if (hasAll(urls)) {
    if (!isAlone(urls)) yield invalid(at.nonResourceURLs, "if '*' is present, must not specify other non-resource URLs")
  } else
    for (const [i, url] of urls.entries()) {
      const fault = pathFault(url)
      if (fault) yield invalid(at.nonResourceURLs[i]!, fault)
    }
}

function pathFault(path: string): string | undefined {
  if (path === '') return 'must not be empty'
  if (path === '/') return undefined
  if (!path.startsWith('/')) return 'must start with slash'
  if (path.includes(' ')) return 'must not contain white-space'
  if (path.includes('//')) return 'must not contain double slash'
  const star = path.indexOf('*')
  return star < 0 || (star === path.length - 1 && path.endsWith('/*')) ? undefined : 'wildcard can only do suffix matching'
}
