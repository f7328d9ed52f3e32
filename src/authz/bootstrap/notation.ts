/** The notation of bootstrap roles: a rule is a line of words. */
import type { PolicyRule } from '../../kinds/rbac/policy-rule.ts'

/**
 * Verbs, API groups, resources and resource names of a rule, each as words separated by spaces. `read` and `write` stand for several verbs,
 * `core` for the group without a name; a group that ends in a dot is completed with the group domain. In a rule for paths the second
 * element is `paths` and the third lists them.
 */
export type RuleLine = readonly [verbs: string, groups: string, resources: string, names?: string]
export type RoleTable = Readonly<Record<string, readonly RuleLine[]>>

/** Nearly all components write events. */
export const EVENTS: RuleLine = ['create patch update', 'core events.', 'events']

const VERBS: Readonly<Record<string, readonly string[]>> = {
  read: ['get', 'list', 'watch'],
  write: ['create', 'delete', 'deletecollection', 'patch', 'update'],
}

/** The rule of a line; its lists are sorted. */
export function ruleOf([verbs, groups, resources, names]: RuleLine, groupDomain: string): PolicyRule {
  if (groups === 'paths') return { verbs: verbsOf(verbs), nonResourceURLs: words(resources) }
  const apiGroups = words(groups).map(group => (group === 'core' ? '' : group.endsWith('.') ? group + groupDomain : group))
  const rule = { verbs: verbsOf(verbs), apiGroups, resources: words(resources) }
  return names === undefined ? rule : { ...rule, resourceNames: words(names) }
}

function verbsOf(text: string): string[] {
  const verbs = words(text).flatMap(verb => VERBS[verb] ?? verb)
  return verbs.length === 1 ? verbs : verbs.sort()
}

const words = (text: string) => text.split(' ')
