/** ClusterRole grants permissions in the whole cluster, or in a namespace when bound there. */
import { nameIsPathSegment } from '../../lib/names.ts'
import { defineKind, type ObjectOf } from '../../schema/kind.ts'
import { type FieldError, hasErrors, invalid, type Ref, refTo, required, withValue } from '../../schema/refs.ts'
import { atomic, message, type Static } from '../../schema/types.ts'
import { LabelSelector, labelTermsOf, validateLabelSelector } from '../rules/meta.ts'
import { PolicyRule, validatePolicyRules, validateVerbs } from './policy-rule.ts'

const AggregationRule = message('AggregationRule', {
  clusterRoleSelectors: [1, atomic(LabelSelector), 'Cluster roles whose rules are aggregated here; one match is enough.'],
})
type AggregationRule = Static<typeof AggregationRule>

export const ClusterRole = defineKind({
  group: 'rbac.authorization.{group_domain}',
  version: 'v1',
  kind: 'ClusterRole',
  scope: 'Cluster',
  names: { plural: 'clusterroles' },
  doc: 'A set of permissions in the whole cluster.',
  fields: {
    rules: [2, atomic(PolicyRule).always().omittable(), 'The permissions.'],
    aggregationRule: [
      3,
      AggregationRule,
      'Which other cluster roles the rules are gathered from; the rules are then written by the server.',
    ],
  },
  name: nameIsPathSegment,
  allowCreateOnUpdate: true,

  *validate({ rules, aggregationRule }, at, { old }) {
    yield* validatePolicyRules(rules, at.rules, 'Cluster')
    if (aggregationRule) yield* validateAggregation(aggregationRule, at.aggregationRule, old?.aggregationRule)
    yield* validateVerbs(rules, at.rules)
  },
})

/** An object of the kind ClusterRole. */
export type ClusterRole = ObjectOf<typeof ClusterRole>

function* validateAggregation(
  { clusterRoleSelectors: selectors = [] }: AggregationRule,
  at: Ref<AggregationRule>,
  old: AggregationRule | undefined,
): Iterable<FieldError> {
  if (selectors.length === 0)
    yield required(at.clusterRoleSelectors, 'at least one clusterRoleSelector required if aggregationRule is non-nil')
  const allowInvalidValues = (old?.clusterRoleSelectors ?? []).some(selector => hasErrors(validateLabelSelector(selector, refTo(selector))))
  for (const [i, selector] of selectors.entries()) {
    const here = at.clusterRoleSelectors[i]!
    yield* validateLabelSelector(selector, here, { allowInvalidValues })
    if (labelTermsOf(selector) === undefined) yield invalid(withValue(here, null), 'invalid label selector.')
  }
}
