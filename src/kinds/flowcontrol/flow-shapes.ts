/** What flow schemas are made of: who asks, and for what. */
import { atomic, bool, int32, message, type Static, set, string } from '../../schema/types.ts'

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
export type ServiceAccountSubject = Static<typeof ServiceAccountSubject>

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
export type Subject = Static<typeof Subject>

const ResourcePolicyRule = message('ResourcePolicyRule', {
  verbs: [1, set(string).always(), 'What is asked for; * for everything.'],
  apiGroups: [2, set(string).always(), 'API groups; * for all.'],
  resources: [3, set(string).always(), 'Resources, also as resource/subresource; * for all.'],
  clusterScope: [4, bool, 'Whether requests that name no namespace match.'],
  namespaces: [5, set(string).always().omittable(), 'Namespaces whose requests match; * for all.'],
})
export type ResourcePolicyRule = Static<typeof ResourcePolicyRule>

const NonResourcePolicyRule = message('NonResourcePolicyRule', {
  verbs: [1, set(string).always(), 'What is asked for; * for everything.'],
  nonResourceURLs: [6, set(string).always(), 'Paths that are no resources, such as /healthz or /healthz/*; * for all.'],
})
export type NonResourcePolicyRule = Static<typeof NonResourcePolicyRule>

const PolicyRulesWithSubjects = message('PolicyRulesWithSubjects', {
  subjects: [1, atomic(Subject).always(), 'Who asks; one match is enough.'],
  resourceRules: [2, atomic(ResourcePolicyRule), 'Requests for resources that match.'],
  nonResourceRules: [3, atomic(NonResourcePolicyRule), 'Requests for other paths that match.'],
})
export type PolicyRules = Static<typeof PolicyRulesWithSubjects>

const PriorityLevelConfigurationReference = message('PriorityLevelConfigurationReference', {
  name: [1, string.always(), 'Name of the priority level.'],
})

const FlowDistinguisherMethod = message('FlowDistinguisherMethod', {
  type: [1, string.always(), 'ByUser or ByNamespace.'],
})

export const FlowSchemaSpec = message('FlowSchemaSpec', {
  priorityLevelConfiguration: [1, PriorityLevelConfigurationReference.orEmpty().expected(), 'The priority level of the requests.'],
  matchingPrecedence: [2, int32.default(1000).telling(0), 'Schemas with a lower number are tried first.'],
  distinguisherMethod: [3, FlowDistinguisherMethod, 'How requests are told apart into flows; all are one when absent.'],
  rules: [4, atomic(PolicyRulesWithSubjects), 'Which requests match; one rule is enough.'],
})
export type FlowSchemaSpec = Static<typeof FlowSchemaSpec>
