/** The rules of a cluster role that aggregates those of others. */
import type { ClusterRole } from '../../kinds/rbac/clusterrole.ts'
import { labelTermsOf } from '../../kinds/rules/meta.ts'
import { deepEqual } from '../../lib/json-value.ts'
import type { Step } from '../../lib/step.ts'
import { matchesLabelTerms } from '../../schema/selectors.ts'

export type Role = ClusterRole
type Rules = NonNullable<Role['rules']>

/** The rules that a role should have, given all roles; undefined when it has them, or aggregates none. Yields between selectors. */
export function* aggregatedRules(role: Role, roles: readonly Role[]): Step<Rules | undefined> {
  if (!role.aggregationRule) return undefined
  const rules = new Map<string, Rules[number]>()
  // A role that one selector has matched adds nothing by matching another.
  let left = roles.filter(({ metadata }) => metadata.name !== role.metadata.name).sort(byName)
  for (const selector of role.aggregationRule.clusterRoleSelectors ?? []) {
    const terms = labelTermsOf(selector)
    // A selector that cannot be read is no reason to take away what the role has.
    if (!terms) return undefined
    const matching = left.filter(({ metadata }) => matchesLabelTerms(terms, metadata.labels))
    if (matching.length > 0) {
      const taken = new Set(matching)
      left = left.filter(each => !taken.has(each))
    }
    for (const { rules: theirs } of matching)
      for (const rule of theirs ?? []) {
        const key = textOf(rule)
        if (!rules.has(key)) rules.set(key, rule)
      }
    yield
  }
  const aggregated = [...rules.values()]
  return deepEqual(aggregated, role.rules ?? []) ? undefined : aggregated
}

/** Equal texts for equal rules, so that thousands of them are compared at once. */
const textOf = ({ verbs, apiGroups, resources, resourceNames, nonResourceURLs }: Rules[number]): string =>
  JSON.stringify([verbs, apiGroups ?? [], resources ?? [], resourceNames ?? [], nonResourceURLs ?? []])

const byName = (a: Role, b: Role) => (a.metadata.name! < b.metadata.name! ? -1 : 1)
