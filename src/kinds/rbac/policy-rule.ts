/** Policy rules: verbs on resources, or on non-resource paths. */
import { type FieldError, invalid, type Ref, required } from '../../schema/refs.ts'
import { atomic, message, type Static, string } from '../../schema/types.ts'

export const PolicyRule = message('PolicyRule', {
  verbs: [1, atomic(string).always(), 'The permitted verbs; * for all.'],
  apiGroups: [2, atomic(string), 'API groups of the resources; empty text for the core group, * for all.'],
  resources: [3, atomic(string), 'Resources, also as resource/subresource; * for all.'],
  resourceNames: [4, atomic(string), 'Names that the rule is limited to; all when empty.'],
  nonResourceURLs: [5, atomic(string), 'Paths that are no resources, such as /healthz; only in roles of the cluster.'],
})
export type PolicyRule = Static<typeof PolicyRule>

type Rules = readonly PolicyRule[] | null

/** Rules for the policy rules of a role, except for their verbs. Non-resource URLs are not namespaced. */
export function* validatePolicyRules(rules: Rules, at: Ref<PolicyRule[]>, scope: 'Namespaced' | 'Cluster'): Iterable<FieldError> {
  for (const [i, rule] of (rules ?? []).entries()) yield* validatePolicyRule(rule, at[i]!, scope)
}

/** Every rule has verbs. Reported after everything else. */
export function* validateVerbs(rules: Rules, at: Ref<PolicyRule[]>): Iterable<FieldError> {
  for (const [i, { verbs }] of (rules ?? []).entries()) if (!verbs?.length) yield required(at[i]!.verbs)
}

function* validatePolicyRule(rule: PolicyRule, at: Ref<PolicyRule>, scope: 'Namespaced' | 'Cluster'): Iterable<FieldError> {
  const { apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [] } = rule
  if (nonResourceURLs.length > 0) {
    if (scope === 'Namespaced') yield invalid(at.nonResourceURLs, 'namespaced rules cannot apply to non-resource URLs')
    if (apiGroups.length + resources.length + resourceNames.length > 0)
      yield invalid(at.nonResourceURLs, 'rules cannot apply to both regular resources and non-resource URLs')
    return
  }
  if (apiGroups.length === 0) yield required(at.apiGroups, 'resource rules must supply at least one api group')
  if (resources.length === 0) yield required(at.resources, 'resource rules must supply at least one resource')
}
