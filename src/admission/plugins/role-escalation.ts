/**
 * Users grant only permissions that they hold. Roles may be written by those who hold all their rules, or may `escalate`; a role may
 * be bound by those who hold all its rules, or may `bind` it. It cannot be turned off, and is asked before the object is validated.
 */

import { describeRules, quoteList, uncovered } from '../../kinds/rbac/coverage.ts'
import type { PolicyRule } from '../../kinds/rbac/policy-rule.ts'
import { goQuote } from '../../lib/go-text.ts'
import type { Step } from '../../lib/step.ts'
import { forbiddenRequest, notFound } from '../../schema/status-error.ts'
import type { User } from '../../schema/user.ts'
import type { Attributes } from '../attributes.ts'
import { onlyChangesOwnership } from '../only-ownership.ts'
import type { May, RoleRef, Roles } from '../permission.ts'
import type { Plugin } from '../plugin.ts'

export type EscalationParts = { readonly may: May; readonly roles: Roles; readonly groupDomain: string }

const EVERYTHING: readonly PolicyRule[] = [
  { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
  { verbs: ['*'], nonResourceURLs: ['*'] },
]
const PLURALS: Readonly<Record<string, string>> = { Role: 'roles', ClusterRole: 'clusterroles' }

export function roleEscalation(parts: EscalationParts): Plugin {
  const group = `rbac.authorization.${parts.groupDomain}`
  return {
    name: 'RoleEscalation',
    plurals: ['roles', 'clusterroles', 'rolebindings', 'clusterrolebindings'],
    mutate(attributes) {
      const { operation, resource, subresource, object, oldObject, ctx } = attributes
      if (resource.group !== group || subresource !== '' || !object || (operation !== 'CREATE' && operation !== 'UPDATE')) return
      if (ctx.user.groups.includes('system:masters') || (oldObject && onlyChangesOwnership(object, oldObject))) return
      if (resource.plural === 'roles' || resource.plural === 'clusterroles') return checkRole(attributes, parts)
      if (resource.plural === 'rolebindings' || resource.plural === 'clusterrolebindings') return checkBinding(attributes, parts)
    },
  }
}

type Role = {
  readonly rules?: readonly PolicyRule[] | null
  readonly aggregationRule?: { readonly clusterRoleSelectors?: readonly object[] }
}

function* checkRole(attributes: Attributes, parts: EscalationParts): Step<void> {
  const { operation, resource, object, oldObject, ctx } = attributes
  const { group, plural } = resource
  const namespace = resource.namespaced ? attributes.namespace : ''
  const name = operation === 'CREATE' ? attributes.requestName : attributes.name
  const escalating = { verb: 'escalate', path: '', resource: { group, version: '*', plural, subresource: '', namespace, name } }
  if (yield* parts.may(ctx.user, escalating)) return
  const role = object as unknown as Role
  const problem = escalation(role.rules ?? [], { ...parts, user: ctx.user, namespace })
  if (problem) throw refusal(attributes, problem)
  // A role that aggregates rules can aggregate any.
  const gathers = (each: Role | undefined) => (each?.aggregationRule?.clusterRoleSelectors?.length ?? 0) > 0
  if (!gathers(role) && !gathers(oldObject as unknown as Role | undefined)) return
  if (escalation(EVERYTHING, { ...parts, user: ctx.user, namespace }))
    throw refusal(attributes, 'must have cluster-admin privileges to use the aggregationRule')
}

function* checkBinding(attributes: Attributes, parts: EscalationParts): Step<void> {
  const { resource, object, ctx } = attributes
  const namespace = resource.namespaced ? attributes.namespace : ''
  const { apiGroup: group, kind, name } = object!['roleRef'] as RoleRef & { apiGroup: string }
  const plural = Object.hasOwn(PLURALS, kind) ? PLURALS[kind]! : undefined
  // No binding can refer to anything else; the rules of the kind say so.
  if (plural === undefined || name === '' || (plural === 'roles' && namespace === '')) return
  const binding = { verb: 'bind', path: '', resource: { group, version: '*', plural, subresource: '', namespace, name } }
  if (yield* parts.may(ctx.user, binding)) return
  const rules = parts.roles.referred({ kind, name }, namespace)
  if (!rules) throw notFound({ group: resource.group, plural, kind }, name)
  const problem = escalation(rules, { ...parts, user: ctx.user, namespace })
  if (problem) throw refusal(attributes, problem)
}

type Granting = EscalationParts & { readonly user: User; readonly namespace: string }

/** Why rules may not be granted; undefined where all of them are held. */
function escalation(rules: readonly PolicyRule[], { user, namespace, roles, groupDomain }: Granting): string | undefined {
  const { rules: held, missing } = roles.ofUser(user, namespace)
  const lacking = uncovered(held, rules)
  if (lacking.length === 0) return undefined
  const who = `user ${goQuote(user.name)} (groups=${quoteList(user.groups)})`
  const problems = [...new Set(missing.map(({ kind, name }) => problemOf(kind, name, groupDomain)))]
  const list = problems.length > 1 ? `[${problems.join(', ')}]` : problems[0]
  const unresolved = list === undefined ? '' : `; resolution errors: [${list}]`
  return `${who} is attempting to grant RBAC permissions not currently held:\n${describeRules(lacking)}${unresolved}`
}

const problemOf = (kind: string, name: string, groupDomain: string) =>
  `${PLURALS[kind] ?? kind}.rbac.authorization.${groupDomain} ${goQuote(name)} not found`

const refusal = ({ resource, name }: Attributes, why: string) => forbiddenRequest(resource, name, why)
