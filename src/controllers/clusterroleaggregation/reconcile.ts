/** The rules of a cluster role that gathers them from others. */
import type { ClusterRole } from '../../kinds/rbac/clusterrole.ts'
import { labelTermsOf } from '../../kinds/shapes/meta.ts'
import { deepEqual } from '../../lib/json-value.ts'
import type { ObjectOf } from '../../schema/kind.ts'
import { matchesLabelTerms } from '../../schema/selectors.ts'

export type Role = ObjectOf<typeof ClusterRole>
type Rules = NonNullable<Role['rules']>

/** The rules that a role should have, of all that there are; undefined when it has them, or gathers none. */
export function gatheredRules(role: Role, roles: readonly Role[]): Rules | undefined {
  if (!role.aggregationRule) return undefined
  const rules = new Map<string, Rules[number]>()
  for (const selector of role.aggregationRule.clusterRoleSelectors ?? []) {
    const terms = labelTermsOf(selector)
    // A selector that cannot be read is no reason to take away what the role has.
    if (!terms) return undefined
    const matching = roles.filter(({ metadata }) => metadata.name !== role.metadata.name && matchesLabelTerms(terms, metadata.labels))
    for (const { rules: theirs } of matching.sort(byName))
      for (const rule of theirs ?? []) {
        const key = textOf(rule)
        if (!rules.has(key)) rules.set(key, rule)
      }
  }
  const gathered = [...rules.values()]
  return deepEqual(gathered, role.rules ?? []) ? undefined : gathered
}

/** The same text for the same rule, so that thousands of them are told apart in one go. */
const textOf = ({ verbs, apiGroups, resources, resourceNames, nonResourceURLs }: Rules[number]): string =>
  JSON.stringify([verbs, apiGroups ?? [], resources ?? [], resourceNames ?? [], nonResourceURLs ?? []])

const byName = (a: Role, b: Role) => (a.metadata.name! < b.metadata.name! ? -1 : 1)
