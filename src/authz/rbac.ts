/** RBAC: allows requests that a role of the user permits, and otherwise has no opinion. */
import type { PolicyRule } from '../kinds/rbac/policy-rule.ts'
import { nextIteration } from '../lib/environment.ts'
import { goQuote } from '../lib/go-text.ts'
import type { Attributes, Decision, RulesFound } from '../schema/access.ts'
import type { User } from '../schema/user.ts'
import type { NamedAuthorizer } from './modes.ts'
import { type Binding, type RoleIndex, type RoleRef, subjectOf } from './role-index.ts'
import type { Rules } from './rules.ts'

/** `groupDomain` is only used in messages. */
export function rbacAuthorizer(index: RoleIndex, groupDomain: string): NamedAuthorizer {
  const complaint = ({ kind, name }: RoleRef) =>
    kind === 'Role' || kind === 'ClusterRole'
      ? `${kind.toLowerCase()}.rbac.authorization.${groupDomain} ${goQuote(name)} not found`
      : `unsupported role reference kind: ${goQuote(kind)}`
  return {
    name: 'rbac',
    authorize(user, attributes): Decision {
      let missing: RoleRef[] | undefined
      const found = firstOf(index, { user, namespace: attributes.resource?.namespace ?? '' }, binding => {
        const rules = rulesOf(index, binding)
        if (!rules) (missing ??= []).push(binding.roleRef)
        return rules?.permit(attributes) ?? false
      })
      if (found) return new Allowed(user, found)
      return missing ? { verdict: 'no-opinion', reason: `RBAC: ${aggregate(missing.map(complaint))}` } : NO_OPINION
    },
    rulesFor(user, namespace): RulesFound {
      const { rules, missing } = rulesOfUser(index, user, namespace)
      return {
        resourceRules: rules
          .filter(({ resources = [] }) => resources.length > 0)
          .map(({ verbs, apiGroups, resources, resourceNames }) => ({
            verbs: [...verbs],
            ...(apiGroups && { apiGroups }),
            ...(resources && { resources }),
            ...(resourceNames && { resourceNames }),
          })),
        nonResourceRules: rules
          .filter(({ nonResourceURLs = [] }) => nonResourceURLs.length > 0)
          .map(({ verbs, nonResourceURLs }) => ({ verbs: [...verbs], ...(nonResourceURLs && { nonResourceURLs }) })),
        incomplete: false,
        ...(missing.length > 0 && { problem: aggregate(missing.map(complaint)) }),
      }
    },
  }
}

/** All rules that apply to a user in a namespace, and errors about missing roles. */
export function rulesOfUser(index: RoleIndex, user: User, namespace: string): { rules: PolicyRule[]; missing: RoleRef[] } {
  const bindings = new Set<Binding>()
  firstOf(index, { user, namespace }, binding => {
    bindings.add(binding)
    return false
  })
  const rules: PolicyRule[] = []
  const missing: RoleRef[] = []
  for (const binding of bindings) {
    const found = rulesOf(index, binding)
    if (found) for (const rule of found.all) rules.push(rule)
    else missing.push(binding.roleRef)
  }
  return { rules, missing }
}

/** The rules of the role that a binding in a namespace refers to; the namespace is empty for bindings of the cluster. */
export function rulesOf(
  index: RoleIndex,
  { roleRef: { kind, name }, namespace }: Pick<Binding, 'roleRef' | 'namespace'>,
): Rules | undefined {
  if (kind === 'ClusterRole') return index.role('', name)
  return kind === 'Role' && namespace !== '' ? index.role(namespace, name) : undefined
}

/** Every binding whose role permits a request: those of the cluster, then those of the namespace, each by name. */
export async function bindingsThatPermit(index: RoleIndex, attributes: Attributes): Promise<Binding[]> {
  const namespace = attributes.resource?.namespace ?? ''
  const found: Binding[] = []
  let seen = 0
  for (const each of namespace === '' ? [''] : ['', namespace]) {
    const permitting: Binding[] = []
    for (const binding of [...index.bindingsIn(each)]) {
      if (rulesOf(index, binding)?.permit(attributes)) permitting.push(binding)
      // There may be very many of them, and other requests are waiting.
      if (++seen % MAX_BATCH === 0) await new Promise<void>(nextIteration)
    }
    found.push(...permitting.sort((a, b) => (a.name < b.name ? -1 : 1)))
  }
  return found
}

const MAX_BATCH = 500

/** Cluster role bindings come before those of the namespace. */
function firstOf(index: RoleIndex, { user, namespace }: { user: User; namespace: string }, test: (binding: Binding) => boolean) {
  return index.find(user, '', test) ?? (namespace === '' ? undefined : index.find(user, namespace, test))
}

const NO_OPINION: Decision = { verdict: 'no-opinion' }

/** Computes the reason only when it is read. */
class Allowed {
  readonly verdict = 'allow'
  readonly #user: User
  readonly #binding: Binding

  constructor(user: User, binding: Binding) {
    this.#user = user
    this.#binding = binding
  }

  get reason(): string {
    const { namespace, name, roleRef } = this.#binding
    const subject = subjectOf(this.#user, this.#binding)
    const whom = subject?.kind === 'ServiceAccount' ? `${subject.name}/${subject.namespace || namespace}` : (subject?.name ?? '')
    const [kind, title] = namespace === '' ? ['ClusterRoleBinding', name] : ['RoleBinding', `${name}/${namespace}`]
    const role = `${roleRef.kind} ${goQuote(roleRef.name)}`
    return `RBAC: allowed by ${kind} ${goQuote(title)} of ${role} to ${subject?.kind} ${goQuote(whom)}`
  }
}

/** Several errors as one message, without duplicates. */
function aggregate(problems: Iterable<string>): string {
  const texts = [...new Set(problems)]
  return texts.length === 1 ? texts[0]! : `[${texts.join(', ')}]`
}
