/** The bootstrap roles and bindings, as objects. */
import type { PolicyRule } from '../../kinds/rbac/policy-rule.ts'
import type { RoleResource } from '../role-index.ts'
import { CLUSTER_BINDINGS, NAMESPACE_BINDINGS, NAMESPACE_ROLES, type SubjectText } from './bindings.ts'
import { AGGREGATED_PARTS, CLUSTER_ROLES } from './cluster-roles.ts'
import { COMPONENT_ROLES } from './component-roles.ts'
import { CONTROLLER_ROLES } from './controller-roles.ts'
import { addedControllers, addedRules } from './gated-rules.ts'
import { EVENTS, type RuleLine, ruleOf } from './notation.ts'

type Texts = Readonly<Record<string, string>>
type Metadata = { readonly name: string; readonly namespace?: string; readonly labels: Texts; readonly annotations: Texts }
export type Subject = { readonly kind: string; readonly apiGroup?: string; readonly name: string; readonly namespace?: string }

export type BootstrapRole = {
  readonly metadata: Metadata
  /** Null where they are aggregated from other roles. */
  readonly rules: readonly PolicyRule[] | null
  readonly aggregationRule?: { readonly clusterRoleSelectors: readonly object[] }
}
export type BootstrapBinding = {
  readonly metadata: Metadata
  readonly subjects?: readonly Subject[]
  readonly roleRef: { readonly apiGroup: string; readonly kind: string; readonly name: string }
}
export type BootstrapObject =
  | { readonly resource: RoleResource & ('clusterroles' | 'roles'); readonly object: BootstrapRole }
  | { readonly resource: RoleResource & ('clusterrolebindings' | 'rolebindings'); readonly object: BootstrapBinding }

/** The annotation of objects to which servers may add permissions that later versions need. */
export const AUTOUPDATE = 'rbac.authorization.kubernetes.io/autoupdate'
/** Roles for users; each aggregates the roles labelled for it. `into` is the next larger one. */
const AGGREGATED = { admin: {}, edit: { into: 'admin' }, view: { into: 'edit' } } as const

export type PolicyOptions = {
  /** Whether a feature gate is on; some roles belong to features. Default: none is. */
  readonly gate?: (name: string) => boolean
  /** Whether the server has a resource. Default: it has all. */
  readonly isServed?: (group: string, plural: string) => boolean
}

/** Cluster roles and their bindings. */
export function* clusterPolicy(groupDomain: string, options: PolicyOptions = {}): Iterable<BootstrapObject> {
  const { gate = () => false } = options
  const label = (role: string) => ({ [`rbac.authorization.${groupDomain}/aggregate-to-${role}`]: 'true' })
  const roleFrom = (name: string, lines: readonly RuleLine[], labels?: Texts): BootstrapObject => ({
    resource: 'clusterroles',
    object: { metadata: metadataOf(name, labels), rules: [...lines, ...addedRules(name, gate)].map(line => ruleOf(line, groupDomain)) },
  })
  for (const [name, into] of Object.entries(AGGREGATED) as [string, { into?: string }][]) {
    const clusterRoleSelectors = [{ matchLabels: label(name) }]
    const metadata = metadataOf(name, into.into === undefined ? {} : label(into.into))
    yield { resource: 'clusterroles', object: { metadata, rules: null, aggregationRule: { clusterRoleSelectors } } }
    const part = `system:aggregate-to-${name}`
    yield roleFrom(part, AGGREGATED_PARTS[part]!, label(name))
  }
  const left = new Set<string>()
  for (const [name, lines] of Object.entries({ ...CLUSTER_ROLES, ...COMPONENT_ROLES }))
    if (isOfUse(lines, groupDomain, options)) yield roleFrom(name.replace('{group_domain}', groupDomain), lines)
    else left.add(name)
  for (const [name, subjects] of Object.entries(CLUSTER_BINDINGS)) if (!left.has(name)) yield clusterBinding(name, subjects, groupDomain)
  for (const [name, lines] of Object.entries({ ...CONTROLLER_ROLES, ...addedControllers(gate) })) {
    if (!isOfUse(lines, groupDomain, options)) continue
    yield roleFrom(`system:controller:${name}`, lines)
    yield clusterBinding(`system:controller:${name}`, [`ServiceAccount kube-system/${name}`], groupDomain)
  }
}

/** Roles and bindings of namespaces, which exist before them. */
export function* namespacePolicy(groupDomain: string, options: PolicyOptions = {}): Iterable<BootstrapObject> {
  const left = new Set<string>()
  for (const [namespace, roles] of Object.entries(NAMESPACE_ROLES))
    for (const [name, lines] of Object.entries(roles)) {
      if (!isOfUse(lines, groupDomain, options)) {
        left.add(`${namespace}/${name}`)
        continue
      }
      const metadata = { ...metadataOf(name), namespace }
      yield { resource: 'roles', object: { metadata, rules: lines.map(line => ruleOf(line, groupDomain)) } }
    }
  for (const [namespace, bindings] of Object.entries(NAMESPACE_BINDINGS))
    for (const [name, { role = name, subjects }] of Object.entries(bindings)) {
      if (left.has(`${namespace}/${role}`)) continue
      const metadata = { ...metadataOf(name), namespace }
      yield { resource: 'rolebindings', object: bindingOf(metadata, { role: ['Role', role], subjects, groupDomain }) }
    }
}

/**
 * Whether a role permits anything that the server has: a server of few kinds has no use for the roles of the others' components. Events and
 * rules for all resources do not count where a role has others.
 */
function isOfUse(lines: readonly RuleLine[], groupDomain: string, { isServed }: PolicyOptions): boolean {
  if (!isServed) return true
  const rules = lines.filter(line => line !== EVENTS).map(line => ruleOf(line, groupDomain))
  const particular = rules.filter(({ resources = [] }) => !resources.some(resource => resource.startsWith('*')))
  return (
    particular.length === 0 ||
    particular.some(
      ({ apiGroups, resources }) =>
        !apiGroups || apiGroups.some(group => resources?.some(resource => isServed(group, resource.split('/')[0]!))),
    )
  )
}

const clusterBinding = (name: string, subjects: readonly SubjectText[], groupDomain: string): BootstrapObject => ({
  resource: 'clusterrolebindings',
  object: bindingOf(metadataOf(name), { role: ['ClusterRole', name], subjects, groupDomain }),
})

const metadataOf = (name: string, labels: Texts = {}): Metadata => ({
  name,
  labels: { 'kubernetes.io/bootstrapping': 'rbac-defaults', ...labels },
  annotations: { [AUTOUPDATE]: 'true' },
})

type Bound = {
  readonly role: readonly [kind: string, name: string]
  readonly subjects: readonly SubjectText[]
  readonly groupDomain: string
}

function bindingOf(metadata: Metadata, { role: [kind, name], subjects, groupDomain }: Bound): BootstrapBinding {
  const apiGroup = `rbac.authorization.${groupDomain}`
  const subjectOf = (text: SubjectText): Subject => {
    const [kind, subject] = text.split(' ') as [string, string]
    if (kind !== 'ServiceAccount') return { kind, apiGroup, name: subject }
    const [namespace, name] = subject.split('/') as [string, string]
    return { kind, name, namespace }
  }
  return { metadata, ...(subjects.length > 0 && { subjects: subjects.map(subjectOf) }), roleRef: { apiGroup, kind, name } }
}
