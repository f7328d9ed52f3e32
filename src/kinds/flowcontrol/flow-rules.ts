/** Rules on who asks and for what, in flow schemas. */
import { isDNS1123Label, nameIsDNSSubdomain } from '../../lib/names.ts'
import { type FieldError, forbidden, invalid, invalidEach, type Ref, required, unsupported, withValue } from '../../schema/refs.ts'
import type {
  FlowSchemaSpec,
  NonResourcePolicyRule,
  PolicyRules,
  ResourcePolicyRule,
  ServiceAccountSubject,
  Subject,
} from './flow-shapes.ts'

const LAST_PRECEDENCE = 10_000
const VERBS = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'proxy', 'update', 'watch']

/** Rules on a schema of that name. */
export function* validateFlowSchemaSpec(spec: FlowSchemaSpec, at: Ref<FlowSchemaSpec>, name: string): Iterable<FieldError> {
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

/** A subject has the part that its kind names, and no other. */
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
