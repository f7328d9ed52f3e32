/** Types for matching in admission registrations: rules for operations and resources, and conditions. */
import { atomic, inlined, keyed, message, type Static, string } from '../../schema/types.ts'
import { LabelSelector } from '../rules/meta.ts'

const rule = {
  apiGroups: [1, atomic(string), 'API groups; `*` for all.'],
  apiVersions: [2, atomic(string), 'API versions; `*` for all.'],
  resources: [3, atomic(string), 'Resources and subresources, such as pods, pods/status, pods/* or */scale.'],
  scope: [4, string.listed('*', 'Cluster', 'Namespaced').optional().default('*'), 'Cluster, Namespaced, or `*` for both.'],
} as const

const ruleWithOperations = {
  operations: [1, atomic(string.listed('*', 'CONNECT', 'CREATE', 'DELETE', 'UPDATE')), 'CREATE, UPDATE, DELETE, CONNECT, or `*` for all.'],
  ...inlined(2, rule),
} as const

export const RuleWithOperations = message('RuleWithOperations', ruleWithOperations)
export type RuleWithOperations = Static<typeof RuleWithOperations>

const NamedRuleWithOperations = message('NamedRuleWithOperations', {
  resourceNames: [1, atomic(string), 'Names of objects; any when empty.'],
  ...inlined(2, ruleWithOperations),
}).atomic()
export type NamedRuleWithOperations = Static<typeof NamedRuleWithOperations>

export const MatchCondition = message('MatchCondition', {
  name: [1, string.always(), 'Name of the condition, for messages and merging.'],
  expression: [2, string.always(), 'A CEL expression that must be true.'],
})
export type MatchCondition = Static<typeof MatchCondition>
export const matchConditions = keyed(MatchCondition, 'name').mergedBy('name')

export const MatchResources = message('MatchResources', {
  namespaceSelector: [1, LabelSelector.default({}), 'Which namespaces, by their labels; all when empty.'],
  objectSelector: [2, LabelSelector.default({}), 'Which objects, by their labels; all when empty.'],
  resourceRules: [3, atomic(NamedRuleWithOperations), 'The resources and operations that match.'],
  excludeResourceRules: [
    4,
    atomic(NamedRuleWithOperations),
    'The resources and operations that are excluded, even if another rule matches.',
  ],
  matchPolicy: [
    7,
    string.listed('Equivalent', 'Exact').optional().default('Equivalent'),
    'Exact, or Equivalent to match the same resource in other versions too.',
  ],
}).atomic()
export type MatchResources = Static<typeof MatchResources>
